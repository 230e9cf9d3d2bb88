"""Callbacks that only observe leave the training as it is, also when it has ended."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn, ops, set_seed, train
from minispore.common.seed import get_rng_state
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.tensorpack import callbacks as tp
from minispore.tensorpack import logger
from minispore.train import callback as cb
from tests.helpers.public_calls import make_call

LANDSCAPE: dict[str, object] = {"landscape_size": 4, "create_landscape": {"result": True}}

Observer = Callable[[str], train.Callback]

# With other arguments than valid_arguments.py has.
OBSERVERS: dict[str, Observer] = {
    "BackupAndRestore": lambda folder: cb.BackupAndRestore(f"{folder}/backup"),
    "BestCheckpoint": lambda folder: cb.BestCheckpoint("loss", directory=folder),
    "CSVLogger": lambda folder: cb.CSVLogger(f"{folder}/run.csv"),
    "EarlyStopping": lambda _: cb.EarlyStopping(patience=9),
    "FlopsUtilizationCollector": lambda _: cb.FlopsUtilizationCollector(2),
    "LambdaCallback": lambda _: cb.LambdaCallback(on_train_step_end=lambda _: None),
    "LossMonitor": lambda _: cb.LossMonitor(),
    "ModelCheckpoint": lambda folder: cb.ModelCheckpoint("net", folder),
    "OnRequestExit": lambda folder: cb.OnRequestExit(directory=folder),
    "ProgressBar": lambda _: cb.ProgressBar(),
    "SummaryCollector": lambda folder: cb.SummaryCollector(
        folder, 1, collect_specified_data={"collect_landscape": LANDSCAPE}
    ),
}
TENSORPACK: dict[str, Observer] = {
    "CheckNumerics": lambda _: tp.CheckNumerics(run_step=True),
    "DumpTensorAsImage": lambda _: tp.DumpTensorAsImage("layers.0.weight"),
    "DumpTensors": lambda _: tp.DumpTensors(["layers.0.weight", "loss"]),
    "EstimatedTimeLeft": lambda _: tp.EstimatedTimeLeft(),
    "GraphProfiler": lambda _: tp.GraphProfiler(dump_metadata=True, dump_event=True),
    "InferenceRunner": lambda _: tp.InferenceRunner(data(), [tp.ScalarStats("loss"), train.MAE()]),
    "JSONLWriter": lambda _: tp.JSONLWriter(),
    "JSONWriter": lambda _: tp.JSONWriter(),
    "MaxSaver": lambda folder: tp.MaxSaver("loss", checkpoint_dir=folder),
    "MergeAllSummaries": lambda _: tp.MergeAllSummaries(1),
    "MergeAllSummaries alone": lambda _: tp.MergeAllSummaries(1, run_alone=True),
    "MinSaver": lambda folder: tp.MinSaver("loss", checkpoint_dir=folder),
    "ModelSaver": lambda folder: tp.ModelSaver(checkpoint_dir=folder),
    "MovingAverageSummary": lambda _: tp.MovingAverageSummary(),
    "PeriodicTrigger": lambda folder: tp.PeriodicTrigger(tp.ModelSaver(checkpoint_dir=folder), 2),
    "ScalarHistory": lambda _: tp.ScalarHistory(),
    "ScalarPrinter": lambda _: tp.ScalarPrinter(enable_step=True),
    "SimpleMovingAverage": lambda _: tp.SimpleMovingAverage("loss", 2),
    "TFEventWriter": lambda _: tp.TFEventWriter(split_files=True),
    "TensorPrinter": lambda _: tp.TensorPrinter(["layers.0.weight"]),
    "ThroughputTracker": lambda _: tp.ThroughputTracker(3),
    "ProgressBar": lambda _: tp.ProgressBar(["loss"]),
}
# These change the training on purpose.
CHANGES = {"LearningRateScheduler", "ReduceLROnPlateau", "WeightAveraging"}


def classes() -> dict[str, type[train.Callback]]:
    """Return the callbacks of `train`, by name."""
    found = {name: getattr(cb, name) for name in dir(cb) if not name.startswith("_")}
    kinds = {
        name: c for name, c in found.items() if isinstance(c, type) and c is not train.Callback
    }
    return {name: c for name, c in kinds.items() if issubclass(c, train.Callback)}


def with_valid_arguments(make: type[train.Callback], folder: str) -> train.Callback:
    """Return a callback that writes nothing into the folder."""
    del folder
    return make(**make_call(make.__name__, make).arguments)


OBSERVERS.update(
    (name, partial(with_valid_arguments, make))
    for name, make in classes().items()
    if name not in OBSERVERS.keys() | CHANGES
)


class Summarizes(nn.Cell):
    """A network with moving statistics, random numbers and summaries."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(2, 4), nn.BatchNorm1d(4), nn.Dropout(p=0.3), nn.Dense(4, 1)
        )
        self.scalar, self.histogram = ops.ScalarSummary(), ops.HistogramSummary()

    def construct(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        self.scalar("mean", y.mean())
        self.histogram("outputs", y)
        return y


def data(*, shuffle: bool = False) -> Dataset:
    x = np.sin(np.arange(24.0, dtype=np.float32)).reshape(12, 2)
    return NumpySlicesDataset({"x": x, "y": x[:, :1]}, shuffle=shuffle).batch(4)


def trained(folder: str, *observers: train.Callback) -> tuple[train.Model, nn.Cell, nn.Optimizer]:
    set_seed(3)
    net = Summarizes()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    model = train.Model(net, nn.MSELoss(), optimizer, {"loss": train.Loss()})
    logger.set_logger_dir(folder, action="k")
    model.fit(2, data(shuffle=True), data(shuffle=True), callbacks=list(observers))
    return model, net, optimizer


def state(net: nn.Cell, optimizer: nn.Optimizer) -> dict[str, object]:
    """Return the parameters, moving statistics and the optimizer's state, and the random states."""
    parameters = [*net.get_parameters(), *optimizer.get_parameters()]
    values: dict[str, object] = {p.name: p.asnumpy().tobytes() for p in parameters}
    return values | {"random": repr(get_rng_state())}


@pytest.fixture(scope="module")
def unobserved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return state(*trained(str(tmp_path_factory.mktemp("unobserved")))[1:])


def test_table_contains_every_callback() -> None:
    assert OBSERVERS.keys() | CHANGES == classes().keys()


@pytest.mark.parametrize("name", [*OBSERVERS, *(f"tensorpack {name}" for name in TENSORPACK)])
def test_observer_leaves_the_training_as_it_is(
    name: str, tmp_path: Path, unobserved: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where its methods without arguments are called after the training."""
    _, _, ours = name.rpartition("tensorpack ")
    observer = (TENSORPACK if ours != name else OBSERVERS)[ours](str(tmp_path))
    _, net, optimizer = trained(str(tmp_path), observer)
    assert state(net, optimizer) == unobserved
    with observer:
        for method in ("state_dict", "__repr__", "_repr_html_"):
            getattr(observer, method, str)()
    assert state(net, optimizer) == unobserved


class Fails(train.Loss):
    """A metric that fails in an evaluation after the first."""

    evaluations = 0

    def eval(self) -> float:
        self.evaluations += 1
        return super().eval() / (self.evaluations < 9)


@pytest.mark.parametrize("fails", [False, True])
def test_landscape_leaves_the_network_as_it_is(
    fails: bool, tmp_path: Path, unobserved: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if it fails; the rows of a shuffled dataset are not those of the next training."""
    _, net, optimizer = trained(str(tmp_path), OBSERVERS["SummaryCollector"](str(tmp_path)))
    metrics: dict[str, train.Metric] = {"loss": Fails() if fails else train.Loss()}
    model = train.Model(net, nn.MSELoss(), metrics=metrics)

    def parts() -> object:
        return model, net, data(shuffle=True), metrics

    make = train.SummaryLandscape(str(tmp_path)).gen_landscapes_with_multi_process
    with pytest.raises(ZeroDivisionError) if fails else nullcontext():
        make(parts)
    assert state(net, optimizer) == unobserved
