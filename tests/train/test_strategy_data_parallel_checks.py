"""Comparisons between data-parallel processes: differences raise an error in all of them."""

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import nn, train
from minispore.communication import get_rank
from minispore.dataset import Dataset, GeneratorDataset, NumpySlicesDataset, sharding
from minispore.nn.wrap import grad_reducer
from minispore.train import data_parallel as strategy
from tests.distributed.small_training import CLASSES, FEATURES, Case, network, weights
from tests.distributed.threaded_communicator import run_in_threads

CASE = Case(12, 4)


def shard(rank: int, *, drop: bool = False, num_shards: int = 3, shuffle: bool = True) -> Dataset:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((12, FEATURES)).astype(np.float32)
    columns = {"x": x, "y": rng.integers(CLASSES, size=12).astype(np.int32)}
    data = NumpySlicesDataset(columns, shuffle=shuffle, num_shards=num_shards, shard_id=rank)
    return data.batch(2, drop_remainder=drop)


def momentum(net: nn.Cell, **settings: object) -> nn.Optimizer:
    values: dict[str, object] = {"learning_rate": 0.1, "momentum": 0.9, **settings}
    return nn.Momentum(net.trainable_params(), **values)  # type: ignore[arg-type]


def grouped(net: nn.Cell, decay: float) -> nn.Optimizer:
    first, *others = net.trainable_params()
    groups = [{"params": [first], "weight_decay": decay}, {"params": others, "lr": 0.2}]
    return nn.Momentum(groups, 0.1, 0.9)


def optimizer(make: Callable[[nn.Cell], nn.Optimizer]) -> Callable[[], train.Model]:
    def model() -> train.Model:
        net = network()
        return train.Model(net, nn.CrossEntropyLoss(), make(net), {"accuracy", "loss"})

    return model


def of_network(net: nn.Cell) -> train.Model:
    return train.Model(net, nn.CrossEntropyLoss(), momentum(net), {"accuracy"})


def frozen() -> train.Model:
    net = network()
    net.trainable_params()[0].requires_grad = False
    return of_network(net)


def everywhere(callback: train.Callback) -> train.Callback:
    callback.chief_only = False
    return callback


plain = optimizer(momentum)
# What may differ: the name that the error has, and two ways to make a model, or two arguments.
MODELS: dict[str, tuple[Callable[[], train.Model], Callable[[], train.Model]]] = {
    "optimizer.weight_decay": (plain, optimizer(lambda net: momentum(net, weight_decay=0.1))),
    "optimizer": (plain, optimizer(lambda net: nn.Adam(net.trainable_params()))),
    "optimizer.weight_decay of a group": (
        optimizer(lambda net: grouped(net, 0.1)),
        optimizer(lambda net: grouped(net, 0.2)),
    ),
    "optimizer.learning_rate of a list": (
        optimizer(lambda net: momentum(net, learning_rate=[0.1] * 99)),
        optimizer(lambda net: momentum(net, learning_rate=[0.1] * 98 + [0.2])),
    ),
    "optimizer.learning_rate.decay_steps": (
        optimizer(lambda net: momentum(net, learning_rate=nn.ExponentialDecayLR(0.1, 0.5, 3))),
        optimizer(lambda net: momentum(net, learning_rate=nn.ExponentialDecayLR(0.1, 0.5, 4))),
    ),
    "parameter weight": (
        lambda: of_network(nn.Dense(FEATURES, CLASSES)),
        lambda: of_network(nn.Dense(FEATURES, CLASSES + 1)),
    ),
    "parameter bias": (
        lambda: of_network(nn.Dense(FEATURES, CLASSES)),
        lambda: of_network(nn.Dense(FEATURES, CLASSES, has_bias=False)),
    ),
    "parameter 0.weight": (lambda: of_network(network()), frozen),
}
ARGUMENTS: dict[str, tuple[object, object]] = {
    "epoch": (2, 3),
    "initial_epoch": (0, 1),
    "dataset_sink_mode": (False, True),
    "sink_size": (-1, 5),
    "valid_frequency": (1, [1, 2]),
    "valid_dataset": (None, shard(0)),
    "resume": (None, "there.ckpt"),
    "callbacks[0]": (
        [train.LossMonitor(), train.TimeMonitor()],
        [train.TimeMonitor(), train.LossMonitor()],
    ),
    "callbacks[1]": ([train.LossMonitor()], [train.LossMonitor(), train.EarlyStopping("loss")]),
    "callbacks[0] of one class": ([train.LossMonitor()], [everywhere(train.LossMonitor())]),
    "train_dataset": (shard(0, drop=True), shard(0)),
    "train_dataset of shards": (shard(0), shard(0, num_shards=4)),
}


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(ValueError, match="settings must be the same in all processes") as raised:
        work()
    return str(raised.value)


def fit(model: train.Model, **arguments: object) -> None:
    values: dict[str, object] = {"epoch": 2, "train_dataset": shard(0), **arguments}
    model.fit(**values)  # type: ignore[arg-type]


def check_named(message: list[str], caller: str, name: str) -> None:
    """Check that all messages are equal and name the difference of process 1."""
    assert len(message) == 3
    assert len(set(message)) == 1
    assert message[0].startswith(
        f"For '{caller}', settings must be the same in all processes, but "
    )
    assert f"'{name.partition(' of ')[0]}' is " in message[0]
    assert " in processes 0, 2 and " in message[0]
    assert " in process 1" in message[0]


@pytest.mark.parametrize("name", MODELS)
def test_differing_setting_is_named_in_all_processes(name: str) -> None:
    first, second = MODELS[name]
    models = [first, second, first]
    check_named(run_in_threads(3, lambda rank: refused(models[rank])), "TrainOneStepCell", name)


def test_settings_are_compared_before_each_training() -> None:
    def program(rank: int) -> str:
        model = plain()
        model.train(1, shard(rank))
        assert isinstance(model.train_network, nn.TrainOneStepCell)
        model.train_network.optimizer.loss_scale += rank % 2
        return refused(lambda: model.train(1, shard(rank)))

    check_named(run_in_threads(3, program), "TrainOneStepCell", "optimizer.loss_scale")


@pytest.mark.parametrize("name", ARGUMENTS)
def test_differing_argument_is_named_in_all_processes(name: str) -> None:
    argument = name.partition(" ")[0].partition("[")[0]

    def program(rank: int) -> str:
        model = plain()
        before = weights(model).tobytes()
        message = refused(lambda: fit(model, **{argument: ARGUMENTS[name][rank % 2]}))
        assert weights(model).tobytes() == before
        return message

    check_named(run_in_threads(3, program), "Model.fit", name)


@pytest.mark.parametrize("shuffle", [False, True])
def test_shards_of_other_permutations_are_refused(
    monkeypatch: pytest.MonkeyPatch, shuffle: bool
) -> None:
    monkeypatch.setattr(sharding, "seed_of_order", get_rank)

    def program(rank: int) -> str:
        data = shard(rank, shuffle=shuffle, num_shards=2)
        if shuffle:
            return refused(lambda: plain().train(1, data))
        plain().train(1, data)
        return ""

    messages = run_in_threads(2, program)
    different = "num_shards=2, seed=0) in process 0 and Dataset("
    assert all((different in message) == shuffle for message in messages)


COLUMNS = {"x": np.ones((6, FEATURES), np.float32), "y": np.arange(6, dtype=np.int32) % CLASSES}
ROWS = list(zip(COLUMNS["x"], COLUMNS["y"], strict=True))
# The data of three processes, and the processes whose data are the same.
ROWS_OF_PROCESSES: dict[str, tuple[Callable[[int], object], str]] = {
    "shards": (shard, ""),
    "other rows": (lambda rank: NumpySlicesDataset(COLUMNS).skip(rank).batch(2).take(2), ""),
    "all rows": (lambda _: NumpySlicesDataset(COLUMNS).batch(2), "0, 1, 2"),
    "all rows of a list": (lambda _: GeneratorDataset(ROWS, ["x", "y"]).batch(2), "0, 1, 2"),
    "one shard": (lambda _: shard(0), "0, 1, 2"),
    "one shard of two": (lambda rank: shard(rank % 2), "0, 2"),
    "a generator": (lambda _: GeneratorDataset(lambda: iter(ROWS), ["x", "y"]).batch(2), "warning"),
    "batches": (lambda _: [(ms.Tensor(COLUMNS["x"]), ms.Tensor(COLUMNS["y"]))], "warning"),
    "other batches": (lambda rank: [(COLUMNS["x"] * rank, COLUMNS["y"])], ""),
}


@pytest.mark.parametrize("evaluates", [False, True])
@pytest.mark.parametrize("name", ROWS_OF_PROCESSES)
def test_processes_that_use_the_same_rows_are_refused(name: str, evaluates: bool) -> None:
    data, same = ROWS_OF_PROCESSES[name]
    what, argument = ("evaluate", "valid") if evaluates else ("train on", "train")
    text = f"each process must {what} other rows, but '{argument}_dataset' is the same in process"

    def program(rank: int) -> None:
        model = plain()
        if evaluates:
            model.eval(cast("Dataset", data(rank)))
            return
        model.fit(1, cast("Dataset", data(rank)), shard(rank))

    if same == "warning":
        with pytest.warns(UserWarning, match=f"{text}es 0, 1, 2, unless its code"):
            run_in_threads(3, program)
    elif same:
        with pytest.raises(ValueError, match=f"{text}es {same}. Give"):
            run_in_threads(3, program)
    else:
        run_in_threads(3, program)


def test_differing_metrics_are_named() -> None:
    def program(rank: int) -> str:
        model = of_network(network()) if rank % 2 else plain()
        return refused(lambda: fit(model))

    check_named(run_in_threads(3, program), "Model.fit", "metrics")


def test_differences_are_listed_by_process_and_truncated() -> None:
    message = run_in_threads(3, lambda rank: refused(lambda: fit(plain(), epoch=2 + rank)))
    different = "'epoch' is 2 in process 0 and 3 in process 1 and 4 in process 2."
    assert all(text.endswith(f"processes, but {different}") for text in message)

    def deep(rank: int) -> str:
        return refused(lambda: of_network(nn.SequentialCell(*[nn.Dense(2, 2)] * (20 + 20 * rank))))

    message = run_in_threads(2, deep)
    assert all(text.endswith(" more.") and len(text) < 1500 for text in message)


class Change(train.Callback):
    """Change a parameter at one event, in some of the processes."""

    def __init__(self, event: str, index: int, changes: bool) -> None:
        self._event, self._index, self._changes = event, index, changes

    def _change(self, run_context: train.RunContext) -> None:
        params = run_context.original_args()
        if self._changes and params.cur_epoch_num == 2:
            parameter = list(params.train_network.get_parameters())[self._index]
            parameter.set_data(parameter + 1)

    def on_train_step_begin(self, run_context: train.RunContext) -> None:
        if self._event == "on_train_step_begin":
            self._change(run_context)

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        if self._event == "on_train_epoch_end":
            self._change(run_context)

    def on_train_end(self, run_context: train.RunContext) -> None:
        if self._event == "on_train_end":
            self._change(run_context)


class Chief(Change):
    chief_only = True


EVENTS = ["on_train_step_begin", "on_train_epoch_end", "on_train_end"]


@given(
    st.sampled_from(EVENTS),
    st.integers(0, 9),
    st.lists(st.booleans(), min_size=2, max_size=4),
    st.booleans(),
)
def test_differing_parameter_is_named_in_all_processes(
    event: str, index: int, changes: list[bool], chief: bool
) -> None:
    """The parameter may be the network's or the optimizer's; the epoch's end detects it."""
    nets = [network() for _ in changes]
    name = list(of_network(network()).train_network.get_parameters())[index].name

    def program(rank: int) -> str:
        model = of_network(nets[rank])
        callback = (Chief if chief else Change)(event, index, changes[rank])
        try:
            model.train(2 if event == "on_train_end" else 3, CASE.shard(rank, len(nets)), callback)
        except RuntimeError as error:
            return str(error)
        return ""

    changed = [change and (rank == 0 or not chief) for rank, change in enumerate(changes)]
    unlike = [str(i) for i, change in enumerate(changed) if change != changed[0]]
    message = run_in_threads(len(nets), program)
    assert len(set(message)) == 1
    if not unlike:
        assert message[0] == ""
    else:
        which = f"process{'es' if len(unlike) > 1 else ''} {', '.join(unlike)}"
        assert f"but after epoch 2 these differ from process 0's in {which}: '" in message[0]
        # One that is changed before a step changes others in it.
        assert event == "on_train_step_begin" or f": '{name}'. " in message[0]


class Spoil(train.Callback):
    """Set all weights to NaN, with another sign bit in each process."""

    def __init__(self, rank: int) -> None:
        self._nan = np.copysign(np.float32("nan"), np.float32((-1) ** rank))

    def on_train_epoch_end(self, run_context: train.RunContext) -> None:
        for parameter in run_context.original_args().network.trainable_params():
            parameter.set_data(ms.Tensor(np.full(parameter.shape, self._nan, np.float32)))


MAY_DIFFER: dict[str, Callable[[int], nn.Cell]] = {
    "bits of NaN": lambda rank: network(),
    "parameters without a broadcast": network,
}


@pytest.mark.parametrize("aspect", MAY_DIFFER)
def test_what_is_not_compared_may_differ(aspect: str) -> None:
    nets = [MAY_DIFFER[aspect](rank) for rank in range(2)]

    def program(rank: int) -> list[bytes]:
        ms.set_auto_parallel_context(parameter_broadcast=aspect != "parameters without a broadcast")
        spoil = Spoil(rank) if aspect == "bits of NaN" else None
        of_network(nets[rank]).train(1, CASE.shard(rank, 2), spoil)
        return [p.asnumpy().tobytes() for p in nets[rank].get_parameters()]

    first, second = run_in_threads(2, program)
    assert first != second


@pytest.mark.parametrize("data_parallel", [False, True])
def test_one_process_compares_nothing(monkeypatch: pytest.MonkeyPatch, data_parallel: bool) -> None:
    def fail(*_: object) -> None:
        raise AssertionError

    def gather(value: object) -> list[object]:
        assert not isinstance(value, str | bytes)  # a method's name, or checksums
        return [value]

    monkeypatch.setattr(grad_reducer, "check_alike", fail)
    monkeypatch.setattr(strategy, "check_alike", fail)
    monkeypatch.setattr(strategy, "_checksum", fail)
    monkeypatch.setattr(strategy, "all_gather_object", gather)
    net = network()

    def program(_: int) -> None:
        of_network(net).fit(2, shard(0), shard(0))

    if data_parallel:
        run_in_threads(1, program)
    else:
        program(0)
