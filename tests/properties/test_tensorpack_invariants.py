"""All tensorpack callbacks satisfy the invariants of callbacks in all kinds of runs."""

import logging
from collections.abc import Callable, Collection
from threading import Event, Thread
from typing import Literal

import numpy as np
import numpy.typing as npt
import pytest

from minispore import tensorpack as tp
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.tensorpack import logger
from minispore.tensorpack.protocol import Number
from minispore.testing import INVARIANTS, check_callback
from minispore.train import Callback, LossMonitor
from minispore.train.resume import StatefulMixin


def data() -> Dataset:
    columns = {"x": np.eye(5, 2, dtype=np.float32), "label": np.arange(5, dtype=np.int32) % 3}
    return NumpySlicesDataset(columns, shuffle=False).batch(2)


class Halve(tp.HyperParamSetter):
    def _get_value_to_set(self) -> float:
        return self.get_current_value() / 2


class Names(tp.MonitorBase):
    def process_scalar(self, name: str, val: float) -> None:
        print(name)


class Waiting(Thread):
    """A thread that waits until it is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self.event = Event()

    def run(self) -> None:
        self.event.wait(10)

    def stop(self) -> None:
        self.event.set()


class Starts(tp.StartProcOrThread):
    """A callback that starts a new thread in each run."""

    def __init__(self) -> None:
        super().__init__(Waiting())

    def _setup_graph(self) -> None:
        self._startables = [Waiting()]


def lowers(epoch: int, value: float) -> float:
    return value * 0.75


def as_pixel(loss: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return loss.reshape(1, 1)


def no_shell(callback: object) -> None:
    pass


NOTE = ["sh", "-c", "echo $0 >> notes", "{loss}"]
# A test fails if a new callback is missing here.
OURS: dict[str, Callable[[], Callback]] = {
    "Callback": tp.Callback,
    "CallbackFactory": lambda: tp.CallbackFactory(trigger=lambda cb: print(cb.epoch_num)),
    "CheckNumerics": lambda: tp.CheckNumerics(run_step=True),
    "DumpTensorAsImage": lambda: tp.DumpTensorAsImage("loss", map_func=as_pixel),
    "DumpTensors": lambda: tp.DumpTensors("loss"),
    "EnableCallbackIf": lambda: tp.EnableCallbackIf(LossMonitor(), lambda cb: cb.epoch_num > 1),
    "EstimatedTimeLeft": tp.EstimatedTimeLeft,
    "GPUUtilizationTracker": tp.GPUUtilizationTracker,
    "GraphProfiler": tp.GraphProfiler,
    "HostMemoryTracker": tp.HostMemoryTracker,
    "HumanHyperParamSetter": lambda: tp.HumanHyperParamSetter("learning_rate"),
    "HyperParamSetter": lambda: Halve("learning_rate"),
    "HyperParamSetterWithFunc": lambda: tp.HyperParamSetterWithFunc("learning_rate", lowers),
    "InferenceRunner": lambda: tp.InferenceRunner(data(), tp.ClassificationError()),
    "InjectShell": lambda: tp.InjectShell(enter=no_shell),
    "JSONLWriter": tp.JSONLWriter,
    "JSONWriter": tp.JSONWriter,
    "MaxSaver": lambda: tp.MaxSaver("loss"),
    "MergeAllSummaries": lambda: tp.MergeAllSummaries(2),
    "MinSaver": lambda: tp.MinSaver("loss"),
    "ModelSaver": lambda: tp.ModelSaver(2),
    "MonitorBase": Names,
    "MovingAverageSummary": tp.MovingAverageSummary,
    "PeakMemoryTracker": tp.PeakMemoryTracker,
    "PeriodicCallback": lambda: tp.PeriodicCallback(LossMonitor(), every_k_steps=3),
    "PeriodicTrigger": lambda: tp.PeriodicTrigger(tp.ModelSaver(), every_k_steps=3),
    "ProcessTensors": lambda: tp.ProcessTensors(["loss"], print),
    "ProgressBar": lambda: tp.ProgressBar(["loss"]),
    "ProxyCallback": lambda: tp.ProxyCallback(tp.ScalarPrinter()),
    "RunOp": lambda: tp.RunOp(lambda: print("run"), run_step=True),
    "RunUpdateOps": tp.RunUpdateOps,
    "ScalarHistory": tp.ScalarHistory,
    "ScalarPrinter": lambda: tp.ScalarPrinter(enable_step=True),
    "ScheduledHyperParamSetter": lambda: tp.ScheduledHyperParamSetter(
        "learning_rate", [(0, 1.0), (4, 0.5)], interp="linear"
    ),
    "SendMonitorData": lambda: tp.SendMonitorData(NOTE, ["loss", "learning_rate"]),
    "SendStat": lambda: tp.SendStat(NOTE, "loss"),
    "SimpleMovingAverage": lambda: tp.SimpleMovingAverage("loss", 3),
    "StartProcOrThread": Starts,
    "StatMonitorParamSetter": lambda: tp.StatMonitorParamSetter(
        "learning_rate", "loss", lambda rate: rate / 2, 0.1, 2
    ),
    "TFEventWriter": tp.TFEventWriter,
    "TensorPrinter": lambda: tp.TensorPrinter("loss"),
    "ThroughputTracker": tp.ThroughputTracker,
}


def test_table_contains_every_public_callback() -> None:
    public = {name: getattr(tp, name) for name in tp.__all__}
    classes = [value for value in public.values() if isinstance(value, type)]
    assert {cls.__name__ for cls in classes if issubclass(cls, Callback)} == OURS.keys()


@pytest.fixture(autouse=True)
def everything_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print log messages and logged numbers, so that the checks compare them."""

    def log(level: int, message: str, cause: BaseException | None = None) -> None:
        if level == logging.INFO:
            print(message)

    def put(monitors: tp.Monitors, name: str, val: Number) -> None:
        print(name, val)
        put_scalar(monitors, name, val)

    put_scalar = tp.Monitors.put_scalar
    monkeypatch.setattr(logger, "_log_message", log)
    monkeypatch.setattr(tp.Monitors, "put_scalar", put)


def check(name: str, modes: Collection[Literal["train", "fit", "eval"]], *invariants: str) -> None:
    """Check a callback; only the given invariants if there are some."""

    def make() -> Callback:
        logger.set_logger_dir(".")
        return OURS[name]()

    ignore = INVARIANTS.keys() - {"parameters", *invariants} if invariants else ()
    check_callback(make, modes=modes, ignore=ignore)


# Stateful callbacks are checked in fast tests as well.
STATEFUL = [name for name in OURS if issubclass(getattr(tp, name), StatefulMixin)]
# The check of all of them takes seconds.
QUICK = ["StatMonitorParamSetter"]


@pytest.mark.parametrize("name", QUICK)
def test_stateful_callbacks_resume_exactly_and_can_be_used_again(name: str) -> None:
    check(name, ["train"], "resume", "reuse")


@pytest.mark.full
@pytest.mark.parametrize("name", STATEFUL)
def test_stateful_callbacks_satisfy_all_invariants_in_training(name: str) -> None:
    check(name, ["train"])


# A resumed run has no times of the steps before it, and logs none where there is no step after it.
MEASURES = {"EstimatedTimeLeft", "ThroughputTracker"}


@pytest.mark.slow
@pytest.mark.parametrize("name", OURS)
def test_all_callbacks_satisfy_all_invariants(name: str) -> None:
    invariants = INVARIANTS.keys() - {"resume"} if name in MEASURES else ()
    check(name, ["train", "fit", "eval"], *invariants)
