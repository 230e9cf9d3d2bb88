"""A callback that raises any exception in any hook of MindSpore or tensorpack, among others."""

import asyncio
import traceback
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import pytest

from minispore import Tensor, nn, set_seed, tensorpack, train
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import Callback as TensorpackCallback
from minispore.testing._leaks import ProcessResources
from minispore.train.protocol.callback import EVENTS
from tests.faults.kill_harness import check_files

MINDSPORE_HOOKS = [*EVENTS, "__enter__", "__exit__"]
TENSORPACK_HOOKS = [
    "_setup_graph", "_before_train", "_before_epoch", "_before_run", "_after_run", "_trigger_step",
    "_after_epoch", "_trigger_epoch",
]  # fmt: skip
ERRORS: list[type[BaseException]] = [
    ZeroDivisionError,
    StopIteration,  # which ends generators
    GeneratorExit,
    KeyboardInterrupt,
    SystemExit,
    asyncio.CancelledError,
    OSError,
]


class Recording(train.Callback):
    """Records how it is entered, notified of exceptions and exited."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def __enter__(self) -> Self:
        self.events.append("entered")
        return self

    def on_exception(self, run_context: train.RunContext, error: BaseException) -> None:
        self.events.append(error)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.events.append(exc_value)


class Trained(TensorpackCallback):
    """Counts the calls of `_before_train` and `_after_train`."""

    def __init__(self) -> None:
        self.begun = self.ended = 0

    def _before_train(self) -> None:
        self.begun += 1

    def _after_train(self) -> None:
        self.ended += 1


def raising(base: type[train.Callback], hook: str, error: BaseException) -> train.Callback:
    """Return a callback whose hook raises, in its second call if there are several."""
    once = hook.startswith(("_set", "_before_train", "__")) or "train_begin" in hook
    calls = iter([True] if once or "train_end" in hook or hook == "on_eval_end" else [False, True])

    def the_hook_that_raises(*_: object) -> object:
        if next(calls, False):
            raise error
        return None

    made: train.Callback = type("Raises", (base,), {hook: the_hook_that_raises})()
    return made


def others(folder: Path) -> list[train.Callback]:
    """Return callbacks that hold resources or change settings during a run."""
    config = train.CheckpointConfig(1, keep_checkpoint_max=2, async_save=True, exception_save=True)
    return [
        train.OnRequestExit(directory=folder),
        train.LossMonitor(0),
        train.TimeMonitor(),
        train.History(),
        train.SummaryCollector(str(folder), 1),
        train.EarlyStopping("accuracy", patience=9),
        train.BestCheckpoint("accuracy", directory=folder),
        train.BackupAndRestore(folder),
        train.ModelCheckpoint("weights", folder, config),
        tensorpack.ModelSaver(2, checkpoint_dir=folder),
        tensorpack.MovingAverageSummary(),
        tensorpack.JSONWriter(folder),
        tensorpack.JSONLWriter(folder),
        tensorpack.TFEventWriter(folder),
        tensorpack.GraphProfiler(),
        tensorpack.ProgressBar(),
        tensorpack.ThroughputTracker(),
        tensorpack.EstimatedTimeLeft(),
    ]


def run(callbacks: list[train.Callback]) -> None:
    """Train for two epochs of two steps, each with a validation of two."""
    set_seed(1)
    x, y = np.eye(8, dtype=np.float32), np.arange(8, dtype=np.int32) % 3
    data = NumpySlicesDataset({"x": x, "y": y}).batch(4)
    net = nn.Dense(8, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"}).fit(
        2, data, data, callbacks=callbacks
    )


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("minispore.tensorpack.logger._folder", {"dir": str(tmp_path)})


CASES = [(train.Callback, hook) for hook in MINDSPORE_HOOKS] + [
    (TensorpackCallback, hook) for hook in TENSORPACK_HOOKS
]


@pytest.mark.parametrize(
    ("base", "hook"), CASES, ids=[f"{base.__module__.split('.')[1]}{hook}" for base, hook in CASES]
)
@pytest.mark.parametrize(
    "kind",
    [pytest.param(e, marks=[] if e is KeyboardInterrupt else pytest.mark.slow) for e in ERRORS],
)
def test_exception_propagates_and_other_callbacks_exit(
    tmp_path: Path,
    base: type[train.Callback],
    hook: str,
    kind: type[BaseException],
) -> None:
    before = ProcessResources.capture()
    if kind is StopIteration and hook.startswith("__"):
        pytest.skip("Python makes it a RuntimeError: context managers are generators")
    error = kind("planned")
    early, late = Recording(), Recording()
    one, other = Trained(), Trained()
    bad = raising(base, hook, error)
    listed = [early, one, *others(tmp_path)]
    listed.insert(9, bad)
    with pytest.raises(kind) as caught:
        run([*listed, other, late])
    assert caught.value is error
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert frames[-1] == "the_hook_that_raises"
    assert "run" in frames
    if hook == "__enter__":
        assert early.events == ["entered", error]
        assert late.events == []
    elif hook == "__exit__":
        assert early.events == ["entered", error]
        assert late.events == ["entered", None]
    else:
        assert early.events == late.events == ["entered", error, error]
    # As in tensorpack, `_after_train` is called even if another `_before_train` has failed.
    assert one.begun <= one.ended <= 1
    assert other.begun <= other.ended <= 1
    assert list(before.leaks()) == []
    assert check_files(tmp_path) == (0, 0)
    # The state of the process is unchanged: the next training runs as usual.
    run([Recording(), Trained(), *others(tmp_path / "next")])
    assert list(before.leaks()) == []


def test_exceptions_in_data_and_network_propagate(tmp_path: Path) -> None:
    class Bad(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            raise error

    before = ProcessResources.capture()
    for kind in ERRORS:
        error = kind("planned")
        recording = Recording()
        data = NumpySlicesDataset({"x": np.eye(4, dtype=np.float32)}).batch(2)
        with pytest.raises(kind) as caught:
            train.Model(Bad()).train(1, data, callbacks=[recording, *others(tmp_path)[:5]])
        assert caught.value is error
        assert recording.events == ["entered", error, error]
        assert list(before.leaks()) == []


def test_exception_in_exit_does_not_hide_the_first() -> None:
    """The exception of `__exit__` has the first one as its context; all callbacks are exited."""
    first, second = ValueError("first"), RuntimeError("second")
    recording = Recording()
    callbacks = [
        recording,
        raising(train.Callback, "__exit__", second),
        raising(train.Callback, "on_train_begin", first),
    ]
    with pytest.raises(RuntimeError) as caught:
        run(callbacks)
    assert caught.value is second
    assert second.__context__ is first
    assert recording.events == ["entered", first, second]
