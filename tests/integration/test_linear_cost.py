"""Cost is linear in the size: twice the size takes twice the function calls, not four times."""

import copy
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn, ops, tensorpack, train, value_and_grad
from minispore import dataset as ds

Action = Callable[[], object]
SIZE = 150


def calls_of(action: Action) -> int:
    """Return the number of function calls of `action`, including C functions."""
    count = 0

    def profile(frame: object, event: str, arg: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def check_linear(prepare: Callable[[int], Action]) -> None:
    """Call it once before counting, which imports modules and fills caches."""
    prepare(1)()
    once, twice = (calls_of(prepare(size)) for size in (SIZE, 2 * SIZE))
    assert twice <= 2.1 * once


def layers(size: int) -> list[nn.Cell]:
    return [nn.ReLU() if i % 2 else nn.Dense(2, 2) for i in range(size)]


def network(size: int) -> nn.SequentialCell:
    return nn.SequentialCell(layers(size))


def model(net: nn.Cell) -> train.Model:
    return train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.0))


def data(steps: int) -> ds.Dataset:
    x = np.ones((steps, 2), np.float32)
    return ds.NumpySlicesDataset({"x": x, "y": x}, shuffle=False).batch(1)


def of_layers(action: Callable[[list[nn.Cell]], object]) -> Callable[[int], Action]:
    return lambda size: partial(action, layers(size))


def of_network(action: Callable[[nn.SequentialCell], object]) -> Callable[[int], Action]:
    return lambda size: partial(action, network(size))


def append(cells: list[nn.Cell]) -> None:
    container = nn.CellList[nn.Cell]()
    for cell in cells:
        container.append(cell)


def insert_at_the_end(cells: list[nn.Cell]) -> None:
    container = nn.SequentialCell()
    for i, cell in enumerate(cells):
        container.insert(i, cell)
        assert len(container) == i + 1


def replace(net: nn.SequentialCell) -> None:
    for i in range(len(net)):
        net[i] = nn.Dense(2, 2)


def differentiate(net: nn.SequentialCell) -> None:
    value_and_grad(net, 0, net.trainable_params())(ops.ones((1, 2)))


class Outer(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net


LAYERS: dict[str, Callable[[int], Action]] = {
    "SequentialCell of arguments": of_layers(lambda cells: nn.SequentialCell(*cells)),
    "SequentialCell of a list": of_layers(nn.SequentialCell),
    "SequentialCell of names": of_layers(
        lambda cells: nn.SequentialCell(OrderedDict((f"a{i}", c) for i, c in enumerate(cells)))
    ),
    "CellList": of_layers(nn.CellList),
    "append": of_layers(append),
    "insert at the end": of_layers(insert_at_the_end),
    "insert at the beginning": of_network(lambda net: net.insert(0, nn.ReLU())),
    "extend": of_network(lambda net: net.extend(layers(len(net)))),
    "slice": of_network(lambda net: net[1:-1]),
    "delete a slice": of_network(lambda net: net.__delitem__(slice(0, len(net) // 2))),
    "each by its index": of_network(lambda net: [net[i] for i in range(len(net))]),
    "replace each": of_network(replace),
    "in another cell": of_network(Outer),
    "names": of_network(lambda net: list(net.parameters_and_names())),
    "parameters": of_network(lambda net: net.trainable_params()),
    "set_train": of_network(lambda net: net.set_train()),
    "apply": of_network(lambda net: net.apply(str)),
    "print": of_network(repr),
    "deepcopy": of_network(copy.deepcopy),
    "pickle": of_network(lambda net: pickle.loads(pickle.dumps(net))),
    "forward": of_network(lambda net: net(ops.ones((1, 2)))),
    "backward": of_network(differentiate),
    "Adam": of_network(lambda net: nn.Adam(net.trainable_params())),
    "train": of_network(lambda net: model(net).train(1, data(1))),
}


@pytest.mark.parametrize("name", LAYERS)
def test_cost_of_layers_is_linear(name: str) -> None:
    check_linear(LAYERS[name])


def test_cost_of_checkpoints_of_layers_is_linear(tmp_path: Path) -> None:
    def through_a_file(net: nn.SequentialCell) -> None:
        train.save_checkpoint(net, tmp_path / "x.ckpt")
        train.load_param_into_net(net, train.load_checkpoint(tmp_path / "x.ckpt"))

    check_linear(of_network(through_a_file))


def test_cost_of_layers_inspected_while_added_is_linear() -> None:
    class Growing(nn.CellList[nn.Cell]):
        def grow(self, cells: list[nn.Cell]) -> None:
            for i, cell in enumerate(cells):
                self.added = i
                self.append(cell)
                assert self[-1] is cell

    check_linear(of_layers(lambda cells: Growing().grow(cells)))


# Training.


def callbacks(size: int) -> list[train.Callback]:
    kinds: list[Callable[[], train.Callback]] = [
        train.Callback,
        train.History,
        partial(train.LossMonitor, 10**9),
        partial(train.TimeMonitor, 10**9),
        partial(train.LambdaCallback, on_train_step_end=id),
    ]
    return [kinds[i % len(kinds)]() for i in range(size)]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cost_of_steps_is_linear() -> None:
    check_linear(lambda size: partial(model(nn.Dense(2, 2)).train, 1, data(size), callbacks(5)))


def test_cost_of_callbacks_is_linear() -> None:
    check_linear(lambda size: partial(model(nn.Dense(2, 2)).train, 1, data(2), callbacks(size)))


class Logs(tensorpack.Callback):
    """Log a number in each step."""

    def _trigger_step(self) -> None:
        self.trainer.monitors.put_scalar("number", 1.0)


# Callbacks that write a row in each step or epoch.
WRITERS: dict[str, Callable[[Path], train.Callback]] = {
    "CSVLogger": lambda folder: train.CSVLogger(folder / "run.csv", 1),
    "JSONLWriter": tensorpack.JSONLWriter,
    "JSONWriter": tensorpack.JSONWriter,
    "TFEventWriter": tensorpack.TFEventWriter,
    "SummaryCollector": lambda folder: train.SummaryCollector(str(folder), 1),
}


@pytest.mark.parametrize("by", ["steps", pytest.param("epochs", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", WRITERS)
def test_cost_of_writing_rows_is_linear(name: str, by: str, tmp_path: Path) -> None:
    def prepare(size: int) -> Action:
        folder = tmp_path / f"of {size}"
        folder.mkdir()
        epochs, steps = (1, size) if by == "steps" else (size, 1)
        writing = [Logs(), WRITERS[name](folder)]
        return partial(model(nn.Dense(2, 2)).train, epochs, data(steps), writing)

    check_linear(prepare)


@pytest.mark.full
@pytest.mark.parametrize("maximum", [5, 10**6])
def test_cost_of_checkpoints_is_linear(tmp_path: Path, maximum: int) -> None:
    config = train.CheckpointConfig(save_checkpoint_steps=1, keep_checkpoint_max=maximum)

    def prepare(size: int) -> Action:
        saving = train.ModelCheckpoint(f"of {size}", tmp_path, config)
        return partial(model(nn.Dense(2, 2)).train, 1, data(size), saving)

    check_linear(prepare)


def test_cost_of_callbacks_in_a_checkpoint_is_linear(tmp_path: Path) -> None:
    config = train.CheckpointConfig(save_checkpoint_steps=1, append_info=["training_state"])

    def prepare(size: int) -> Action:
        def run() -> None:
            for epoch, resume in ((1, None), (2, tmp_path / f"of {size}-1_2.ckpt")):
                saving = train.ModelCheckpoint(f"of {size}", tmp_path, config)
                run_of = [*callbacks(size), saving]
                model(nn.Dense(2, 2)).train(epoch, data(2), run_of, resume=resume)

        return run

    check_linear(prepare)


METRICS: list[train.Metric] = [
    train.Accuracy(),
    train.ConfusionMatrix(2),
    train.CosineSimilarity().set_indexes([0]),
    train.Precision(),
    train.ROC(2),
]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: type(metric).__name__)
def test_cost_of_batches_is_linear(metric: train.Metric) -> None:
    scores, labels = Tensor([[0.0, 1.0], [1.0, 0.0]]), Tensor([0, 1])

    def measure(size: int) -> None:
        metric.clear()
        for _ in range(size):
            metric.update(scores, labels)
        metric.eval()

    check_linear(lambda size: partial(measure, size))
