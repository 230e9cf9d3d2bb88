"""Several processes where there is one: what is refused, and the parts that need no MPI."""

import sys
from collections.abc import Callable
from ctypes import c_int
from types import SimpleNamespace
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minispore as ms
from minispore import _array, communication, nn
from minispore.communication import _exchange, _mpi, _world
from minispore.communication._mpi import Communicator, Mpi
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.train import Model
from tests.parallel.learning import Case

Array = npt.NDArray[np.generic]
LAUNCHED = {"PMI_RANK": "0", "PMI_SIZE": "3"}


class Echo:
    """A communicator of processes that all say what this one says."""

    def __init__(self, size: int = 3) -> None:
        self.size = size
        self.messages: list[int] = []

    def Get_size(self) -> int:
        return self.size

    def allgather(self, value: object) -> list[object]:
        return [value] * self.size

    def Allreduce(self, sendbuf: object, recvbuf: Array, op: object) -> None:
        assert sendbuf == "in place"
        self.messages.append(recvbuf.nbytes)
        if op == "sum":
            np.multiply(recvbuf, self.size, out=recvbuf, casting="unsafe")

    def Bcast(self, buf: "list[object]", root: int) -> None:
        assert (buf[1], root) == ("byte", 0)


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Echo:
    made = Echo()
    monkeypatch.setattr(_world, "_world", [world_of(made)])
    monkeypatch.setattr(communication.GlobalComm, "INITED", True)
    return made


def world_of(echo: Echo) -> _world.World:
    class Still:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    mpi = cast("Mpi", SimpleNamespace(IN_PLACE="in place", SUM="sum", MAX="max", BYTE="byte"))
    everyone = cast("Communicator", echo)
    return _world.World(mpi, everyone, everyone, 0, echo.size, Still())  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _reset() -> object:
    yield
    ms.reset_auto_parallel_context()


def test_a_script_started_by_itself_is_told_how_to_start_it() -> None:
    with pytest.raises(RuntimeError, match=r"started by itself.*mpiexec -n 2 python train\.py"):
        _mpi.load("init", {})


def test_a_script_without_mpi4py_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", None)
    with pytest.raises(RuntimeError, match="mpi4py and an MPI are needed.*the extra 'mpi'"):
        _mpi.load("init", LAUNCHED)


def test_a_launcher_of_another_mpi_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    module = SimpleNamespace(COMM_WORLD=Echo(1))
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=module))
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
    with pytest.raises(RuntimeError, match="started 3 processes, but the MPI of mpi4py sees 1"):
        _mpi.load("init", LAUNCHED)
    assert _mpi.load("init", {"PMI_RANK": "0", "PMI_SIZE": "1"}).COMM_WORLD.Get_size() == 1


class Pointer(Protocol):
    """What `byref` makes."""

    _obj: c_int


def mpich(result: int, answer: int) -> Callable[[int, Pointer], int]:
    """Its function that asks for a kind of GPU."""

    def query(kind: int, found: Pointer) -> int:
        assert kind == 0
        found._obj.value = answer
        return result

    return query


def ends_the_program() -> int:
    raise AssertionError


@pytest.mark.parametrize(
    ("symbols", "environment", "expected"),
    [
        ({}, {}, False),
        ({"MPIX_Query_cuda_support": lambda: 1}, {}, True),
        ({"MPIX_Query_cuda_support": lambda: 0}, {}, False),
        ({"MPIX_GPU_query_support": mpich(0, 1)}, {}, True),
        ({"MPIX_GPU_query_support": mpich(0, 0)}, {}, False),
        ({"MPIX_GPU_query_support": mpich(16, 1)}, {}, False),
        (
            {
                "MPIX_GPU_query_support": mpich(16, 0),
                "MPIX_Query_cuda_support": ends_the_program,
            },
            {},
            False,
        ),
        ({}, {"MINISPORE_MPI_CUDA": "1"}, True),
        ({"MPIX_Query_cuda_support": lambda: 1}, {"MINISPORE_MPI_CUDA": "0"}, False),
    ],
)
def test_an_mpi_takes_a_card_s_arrays_if_it_or_the_user_says_so(
    symbols: dict[str, object], environment: dict[str, str], expected: bool
) -> None:
    assert _mpi.takes_cuda(SimpleNamespace(**symbols), environment) is expected


def test_a_setting_that_is_neither_yes_nor_no_is_refused() -> None:
    with pytest.raises(ValueError, match="MINISPORE_MPI_CUDA must be 0 or 1, but got 'yes'"):
        _mpi.takes_cuda(SimpleNamespace(), {"MINISPORE_MPI_CUDA": "yes"})


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [(3, TypeError, "must be a string"), ("hccl", RuntimeError, "must be one of 'mpi'")],
)
def test_a_backend_that_is_not_there_is_refused(
    name: object, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        communication.init(cast("str", name))


@pytest.mark.parametrize("limit", ["0", "soon", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINISPORE_MPI_TIMEOUT", limit)
    with pytest.raises(ValueError, match="MINISPORE_MPI_TIMEOUT must be a number"):
        communication.init()


def test_a_process_alone_is_the_first_of_one() -> None:
    assert (communication.get_rank(), communication.get_group_size()) == (0, 1)
    assert (communication.get_local_rank(), communication.get_local_rank_size()) == (0, 1)
    communication.release()
    with pytest.raises(RuntimeError, match=r"call 'minispore\.communication\.init\(\)'"):
        communication.get_process_group_ranks()


def test_who_has_joined_the_others_has(echo: Echo) -> None:
    joined = _world.the_world("test")
    communication.init()
    assert _world.the_world("test") is joined
    assert communication.get_process_group_ranks() == [0, 1, 2]


def test_scripts_that_import_from_management_find_the_same() -> None:
    from minispore.communication import management

    for name in communication.__all__:
        assert getattr(management, name) is getattr(communication, name)


def test_groups_of_some_processes_are_refused() -> None:
    assert communication.get_rank("nccl_world_group") == 0
    with pytest.raises(ValueError, match="the group of all processes, but got 'some'"):
        communication.get_rank("some")
    with pytest.raises(TypeError, match="'group' must be type of string"):
        communication.get_group_size(3)  # type: ignore[arg-type]
    with pytest.raises(ImportError, match="There is one group"):
        communication.create_group  # type: ignore[attr-defined]  # noqa: B018


def test_data_parallel_training_without_the_others_is_refused() -> None:
    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    net = nn.Dense(2, 1)
    with pytest.raises(RuntimeError, match=r"minispore\.communication\.init\(\)"):
        Model(net, nn.MSELoss(), nn.SGD(net.trainable_params()))


@pytest.mark.parametrize(
    ("option", "value", "error", "said"),
    [
        ("parallel_mode", "foo", ValueError, "only support 'stand_alone'"),
        ("parallel_mode", "auto_parallel", ValueError, "not covered"),
        ("parallel_mode", 3, TypeError, "must be <class 'str'>"),
        ("gradients_mean", 1, TypeError, "must be <class 'bool'>"),
        ("device_num", 0, ValueError, r"in \[1, 4096\]"),
        ("device_num", True, TypeError, "must be <class 'int'>"),
        ("global_rank", -1, ValueError, r"in \[0, 4095\]"),
        ("full_batch", True, ValueError, "can only be False"),
        ("nothing", 1, ValueError, "Set context keyword nothing is not recognized"),
    ],
)
def test_an_option_that_cannot_be_is_refused_and_none_is_set(
    option: str, value: object, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        ms.set_auto_parallel_context(**{"gradients_mean": True, option: value})
    assert ms.get_auto_parallel_context("gradients_mean") is False


def test_options_are_set_read_and_reset() -> None:
    ms.set_auto_parallel_context(device_num=2, global_rank=1, full_batch=False)
    assert ms.get_auto_parallel_context("device_num") == 2
    assert ms.context.get_auto_parallel_context("global_rank") == 1
    assert ms.get_auto_parallel_context("full_batch") is False
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("device_num") == 1
    with pytest.raises(ValueError, match="Get context keyword nothing is not recognized"):
        ms.get_auto_parallel_context("nothing")


def test_options_cannot_contradict_the_launcher() -> None:
    from minispore.common.parallel import know_world

    ms.set_auto_parallel_context(device_num=2)
    with pytest.raises(ValueError, match="'device_num' is 3 in this process"):
        know_world(0, 3)
    know_world(1, 2)
    try:
        assert ms.get_auto_parallel_context("global_rank") == 1
        with pytest.raises(ValueError, match="'global_rank' is 1 in this process"):
            ms.set_auto_parallel_context(global_rank=0)
    finally:
        know_world(None, None)


ARRAYS = st.lists(
    st.sampled_from([np.float32, np.float64, np.float16, np.int32]).flatmap(
        lambda kind: hnp.arrays(
            kind, hnp.array_shapes(min_dims=0, max_dims=3), elements=st.integers(-9, 9)
        )
    ),
    max_size=7,
)


@given(ARRAYS, st.integers(1, 200))
def test_arrays_travel_together_and_come_back_as_themselves(
    arrays: list[Array], buffer: int
) -> None:
    echo = Echo()
    _world._world.append(world_of(echo))
    try:
        given_ = [array.copy() for array in arrays]
        found, spread = (
            cast("list[Array]", each)
            for each in (
                _exchange.sums(cast("list[_array.Array]", arrays), buffer=buffer),
                _exchange.spread(cast("list[_array.Array]", arrays)),
            )
        )
    finally:
        _world._world.clear()
    for array, before, total, same in zip(arrays, given_, found, spread, strict=True):
        np.testing.assert_array_equal(array, before)
        halves = array.dtype == np.float16
        assert total.dtype == (np.float32 if halves else array.dtype)
        assert total.shape == array.shape
        np.testing.assert_array_equal(total, np.asarray(array, np.float64) * 3)
        np.testing.assert_array_equal(same, array, strict=True)
        assert not np.shares_memory(total, array)
    # No two messages of one type that would have fitted in one.
    assert len(echo.messages) <= len(arrays)
    kinds = {a.dtype for a in arrays}
    if buffer == 200 and len(kinds) == 1 and sum(a.nbytes for a in arrays) < 50:
        assert len(echo.messages) == 1


def test_the_gradients_of_a_step_and_its_loss_are_one_message(echo: Echo) -> None:
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params()))
    step = model.train_network
    assert isinstance(step, nn.TrainOneStepCell)
    assert step.reducer_flag
    step(ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor([0, 1]).astype(ms.int32))
    assert echo.messages == [4 * (2 + 3 * 4 + 4 + 4 * 2 + 2)]


def test_a_network_may_return_more_than_its_loss(echo: Echo) -> None:
    class Both(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Dense(3, 1)

        def construct(self, x: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
            y = self.net(x)
            return y.sum(), y

    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    both = Both()
    step = nn.TrainOneStepCell(both, nn.SGD(both.trainable_params()))
    loss, outputs = cast("tuple[ms.Tensor, ms.Tensor]", step(ms.Tensor([[1.0, 2.0, 3.0]])))
    assert loss.item() == pytest.approx(outputs.item())
    assert echo.messages == [4 * (2 + 3 + 1)]


def test_gradients_that_are_no_floats_stay_what_they_are(echo: Echo) -> None:
    net = nn.Dense(2, 1)
    given = ms.Tensor([[7, -2]]), ms.Tensor([5])
    found = nn.DistributedGradReducer(net.trainable_params(), mean=True, degree=2)(given)
    assert [each.tolist() for each in found] == [[[10, -3]], [7]]
    assert [each.dtype for each in found] == [each.dtype for each in given]


def test_a_reducer_checks_what_it_is_given() -> None:
    net = nn.Dense(2, 1)
    with pytest.raises(ValueError, match="'degree' must be an int above 0"):
        nn.DistributedGradReducer(net.trainable_params(), degree=0)
    with pytest.raises(TypeError, match="'mean' must be one of bool"):
        nn.DistributedGradReducer(net.trainable_params(), mean=cast("bool", "x"))
    with pytest.raises(ValueError, match="each of the 2 parameters, but got 1"):
        nn.DistributedGradReducer(net.trainable_params())([ms.Tensor([1.0])])


@given(st.integers(1, 40), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_shards_share_out_the_rows_of_one_process(
    rows: int, shards: int, batch: int, shuffle: bool
) -> None:
    """As MindSpore's they are of the rows filled up from the first, wherever one sees them."""
    ms.set_seed(3)
    numbers = {"x": np.arange(rows, dtype=np.int32)}

    def order(data: Dataset) -> list[int]:
        found = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
        return [int(x) for (column,) in found for x in column]

    whole = order(NumpySlicesDataset(numbers, shuffle=shuffle).batch(batch))
    share = -(-rows // shards)
    filled = [whole[i % rows] for i in range(share * shards)]
    for i in range(shards):
        part = NumpySlicesDataset(numbers, shuffle=shuffle, num_shards=shards, shard_id=i)
        assert order(part.batch(batch)) == filled[i::shards]
        assert len(part.batch(batch)) == -(-share // batch)


def test_a_position_is_that_of_all_shards() -> None:
    """So a training may go on in another number of processes, but not with other batches."""
    ms.set_seed(3)
    case = Case(rows=24, batch=8)
    half = case.shard(0, 2).create_tuple_iterator(num_epochs=2)
    next(half)
    state = half.state_dict()
    for count in (1, 2, 4):
        parts = [case.shard(i, count).create_tuple_iterator(num_epochs=2) for i in range(count)]
        for part in parts:
            part.load_state_dict(state)
            next(part)
    other = Case(rows=24, batch=4).shard(0, 2).create_tuple_iterator(num_epochs=2)
    with pytest.raises(ValueError, match="that of another dataset"):
        other.load_state_dict(state)
