"""The strategies: what is drawn is what was asked for, and shrinks to a short program."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from minispore import Tensor, float32, get_seed, nn
from minispore.common.dtype import DType
from minispore.dataset import Dataset
from minispore.testing import EventTrace, Schedule, Trouble, gradcheck
from minispore.testing import strategies as mst
from minispore.testing._schedule import Kind
from minispore.train import Callback, Model


@given(mst.dtypes("int", "bool"), mst.tensors(mst.dtypes("float"), special=True))
def test_types_are_those_asked_for(dtype: DType, x: Tensor) -> None:
    assert dtype.numpy_dtype.kind in "iub"
    assert x.dtype.numpy_dtype.kind == "f"


@given(mst.shapes(1, 2, 3, 5), mst.tensors(float32, (2, 0)), mst.tensors(shape=mst.shapes(2, 2)))
def test_shapes_are_those_asked_for(shape: tuple[int, ...], x: Tensor, y: Tensor) -> None:
    assert len(shape) in {1, 2}
    assert all(3 <= side <= 5 for side in shape)
    assert x.shape == (2, 0)
    assert y.ndim == 2


@given(mst.tensors())
def test_numbers_are_moderate_unless_asked_for(x: Tensor) -> None:
    assert np.all(abs(x.asnumpy().astype(float)) <= 100)


@given(mst.broadcastable_tensors(3, float32))
def test_tensors_broadcast(drawn: tuple[Tensor, ...]) -> None:
    x, y, z = drawn
    assert (x + y + z).shape == np.broadcast_shapes(x.shape, y.shape, z.shape)


@settings(max_examples=10)
@given(mst.cells(inputs=2, outputs=3), st.integers(0, 3))
def test_networks_take_and_give_what_was_asked_for(net: nn.Cell, rows: int) -> None:
    x = Tensor(np.linspace(-1, 1, 2 * rows).reshape(rows, 2))
    assert net(x).shape == (rows, 3)
    # They begin with what hypothesis has seeded.
    assert get_seed() is not None


@settings(max_examples=5)
@given(mst.cells())
def test_a_random_network_has_the_right_gradients(net: nn.Cell) -> None:
    smooth = all(not isinstance(cell, nn.ReLU) for _, cell in net.cells_and_names())
    if smooth:
        features = next(iter(net.get_parameters())).shape[1]
        gradcheck(net, Tensor(np.sin(np.arange(2.0 * features)).reshape(2, features)))


@given(mst.datasets(features=3, classes=4))
def test_pipelines_give_batches_to_train_on(dataset: Dataset) -> None:
    batches = list(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert len(batches) == dataset.get_dataset_size() > 0
    for x, y in batches:
        assert x.dtype == np.float32
        assert x.shape[1:] == (3,)
        assert y.dtype == np.int32
        assert y.shape == x.shape[:1]
        assert set(y.tolist()) <= {0, 1, 2, 3}


@settings(max_examples=20)
@given(schedule=mst.schedules(), data=st.data())
def test_runs_go_with_any_callbacks(
    tmp_path_factory: pytest.TempPathFactory, schedule: Schedule, data: st.DataObject
) -> None:
    validated = schedule.kind != "fit" or (
        schedule.valid_batches is not None and schedule.valid_frequency == 1
    )
    kind = schedule.kind if validated else "train"
    callbacks = data.draw(mst.callback_lists(kind, tmp_path_factory.mktemp("files")))
    trace = schedule.run(callbacks)
    assert trace == EventTrace(trace)
    assert trace.names.count("run") == 1
    planned = schedule.trouble is not None and schedule.trouble.kind != "stop"
    assert not trace[0].raised or planned


@pytest.mark.parametrize(
    ("kind", "files", "names"),
    [
        ("train", False, {"History", "LossMonitor", "TimeMonitor"}),
        ("eval", True, {"History", "LossMonitor", "TimeMonitor"}),
        ("train", True, {"History", "LossMonitor", "ModelCheckpoint", "TimeMonitor"}),
        (
            *("fit", True),
            {"BestCheckpoint", "EarlyStopping", "History", "LossMonitor", "ModelCheckpoint"}
            | {"ReduceLROnPlateau", "TimeMonitor"},
        ),
    ],
)
def test_each_callback_that_goes_with_a_run_is_drawn_and_no_other(
    kind: Kind, files: bool, names: set[str], tmp_path: Path
) -> None:
    seen: set[str] = set()

    @settings(max_examples=100, database=None, derandomize=True)
    @given(mst.callback_lists(kind, tmp_path if files else None))
    def look(callbacks: list[Callback]) -> None:
        seen.update(type(callback).__name__ for callback in callbacks)

    look()
    assert seen == names


@settings(max_examples=10)
@given(mst.cells(2, 3, dropout=True), mst.datasets(), mst.callback_lists())
def test_what_is_drawn_can_be_trained(
    net: nn.Cell, data: Dataset, callbacks: list[Callback]
) -> None:
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    Model(net, nn.CrossEntropyLoss(), optimizer).train(2, data, callbacks)


# A strategy, a condition, and the program that it shrinks to.
SMALLEST: list[tuple[st.SearchStrategy[object], Callable[[object], bool], str]] = [
    (mst.tensors(float32), lambda x: True, "Tensor(array(0., dtype=float32))"),
    (mst.cells(), lambda net: True, "Dense(1, 1)"),
    (
        mst.cells(),
        lambda net: isinstance(net, nn.SequentialCell),
        "SequentialCell([Dense(1, 1), ReLU(), Dense(1, 1)])",
    ),
    (mst.schedules(["train"]), lambda run: True, "Schedule('train', epochs=1, batches=1)"),
    (
        mst.schedules(["eval"]),
        lambda run: isinstance(run, Schedule) and run.trouble is not None,
        "Schedule('eval', valid_batches=1, trouble=Trouble('on_eval_begin', 1, 'stop', False))",
    ),
    (mst.callback_lists("fit"), lambda each: each != [], "[History()]"),
    (
        mst.datasets(),
        lambda each: True,
        "batch(NumpySlicesDataset({'x': array([[0.  , 0.25]], dtype=float32),",
    ),
]


@pytest.mark.parametrize(("strategy", "condition", "program"), SMALLEST)
def test_what_fails_is_shown_as_a_short_program(
    strategy: st.SearchStrategy[object], condition: Callable[[object], bool], program: str
) -> None:
    @settings(database=None, derandomize=True, phases=[Phase.generate, Phase.shrink])
    @given(each=strategy)
    def fails(each: object) -> None:
        assert not condition(each)

    with pytest.raises(AssertionError) as raised:
        fails()
    notes = "".join(" ".join(raised.value.__notes__).split())
    for mark in (" ", ","):  # long programs are printed in several lines
        program, notes = program.replace(mark, ""), notes.replace(mark, "")
    assert f"each={program}" in notes


def test_the_program_s_own_chance_is_put_back() -> None:
    before = get_seed()
    find(mst.cells(), lambda net: True, settings=settings(max_examples=5))
    assert get_seed() == before


def test_a_trouble_is_one_of_an_event_and_of_a_kind() -> None:
    with pytest.raises(ValueError, match="'event' must be one of"):
        Trouble("on_batch_end")
    with pytest.raises(ValueError, match="'kind' must be one of"):
        Trouble("on_train_end", kind="sleep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'times'"):
        Trouble("on_train_end", 0)
