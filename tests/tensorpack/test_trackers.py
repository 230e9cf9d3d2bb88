"""Progress bars, throughput, remaining time, memory, the use of GPUs, and the profiler."""

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor, nn, ops
from minispore import tensorpack as tp
from minispore.tensorpack import trackers
from minispore.tensorpack.protocol import declared_names
from minispore.train import CheckpointConfig, Model, ModelCheckpoint
from tests.helpers.stub_models import Rows, make
from tests.tensorpack.small_trainings import Clock, Passing, train_counting


@pytest.mark.parametrize(
    "kind",
    [
        *(
            tp.EstimatedTimeLeft,
            tp.HostMemoryTracker,
            tp.MovingAverageSummary,
            tp.PeakMemoryTracker,
        ),
        tp.ThroughputTracker,
    ],
)
def test_callbacks_log_the_names_that_they_declare(kind: Callable[[], tp.Callback]) -> None:
    def logged(*callbacks: tp.Callback) -> set[str]:
        history = tp.ScalarHistory()
        make().train(2, Rows(), [*callbacks, history])
        return {*history.names()}

    callback = kind()
    assert logged(callback) - logged() == {*declared_names(callback, "produces")}


def test_graph_profiler_writes_a_chrome_trace(folder: Path) -> None:
    before = time.perf_counter()
    make().train(1, Rows(), [tp.Every(steps=2)(tp.GraphProfiler())])
    (path,) = folder.iterdir()
    assert path.name == "chrome-trace-2.json"
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    assert {"forward", "backward", "update"} == {event["cat"] for event in events}
    assert any("dense" in event["name"] or "matmul" in event["name"] for event in events)
    thread = {"ph": "X", "pid": os.getpid(), "tid": threading.get_native_id()}
    for event in events:
        assert event == {**event, **thread}
        assert event.keys() == {*thread, "name", "cat", "ts", "dur"}
    # Calls of a function are written when they end, in microseconds.
    ends = [event["ts"] + event["dur"] for event in events]
    assert ends == pytest.approx(sorted(ends), abs=1.0)
    seconds = [before, *(ends[0] / 1e6, ends[-1] / 1e6), time.perf_counter()]
    assert seconds == sorted(seconds)
    assert sys.getprofile() is None


def test_profiled_pullbacks_follow_the_loss(folder: Path) -> None:
    """Also if rules contain functions that they call themselves."""

    class Network(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.pool = nn.Conv2d(1, 3, 2), nn.MaxPool2d(2)

        def construct(self, x: Tensor) -> Tensor:
            x = self.pool(self.conv(ops.stack([x, x]).reshape(-1, 1, 2, 4)))
            return ops.concat([x, x]).transpose(0, 2, 1, 3).sum(axis=(1, 3))[:4]

    network = Network()
    optimizer = nn.SGD(network.trainable_params(), 0.1)
    Model(network, nn.CrossEntropyLoss(), optimizer).train(1, Rows(4), [tp.GraphProfiler()])
    (path,) = folder.iterdir()
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    loss = next(event for event in events if event["name"] == "cross_entropy")
    pullbacks = [event for event in events if event["cat"] == "backward"]
    assert {"cross_entropy", "max_over_window", "permute"} <= {e["name"] for e in pullbacks}
    assert all(event["ts"] >= loss["ts"] + loss["dur"] for event in pullbacks)


@pytest.mark.parametrize("switch", ["dump_metadata", "dump_event", ""])
def test_graph_profiler_warns_that_there_are_no_metadata(
    switch: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make().train(
        1, Rows(), [tp.GraphProfiler(**{switch: True} if switch else {}, dump_tracing=False)]
    )
    assert ("there are no TensorFlow metadata" in caplog.text) == bool(switch)
    assert not list(folder.iterdir())


durations = st.lists(st.integers(1, 9), min_size=3, max_size=3)


@given(
    samples=st.none() | st.integers(1, 32),
    period=st.none() | st.integers(1, 5),
    epochs=st.lists(durations, min_size=1, max_size=3),
    trainings=st.integers(1, 2),
)
@example(samples=None, period=2, epochs=[[1, 2, 4], [1, 2, 4]], trainings=2)
def test_throughput_counts_only_the_time_of_steps(
    samples: int | None, period: int | None, epochs: list[list[int]], trainings: int
) -> None:
    """It is the number of steps since the last trigger, divided by their time."""
    clock, tracker = Clock(), tp.ThroughputTracker(samples)
    (name,) = tracker.produces()
    assert name == f"Throughput ({'samples' if samples else 'steps'}/sec)"
    seconds = [duration for steps in epochs for duration in steps]
    triggers = [n for n in range(1, len(seconds) + 1) if n % (period or 3) == 0]
    expected = [
        ((last - first) * (samples or 1)) / sum(seconds[first:last])
        for first, last in pairwise([0, *triggers])
    ]
    callback = tp.PeriodicTrigger(tracker, every_k_steps=period) if period else tracker
    for _ in range(trainings):
        passing = Passing(clock, seconds, [100] * len(epochs))
        with clock.replaces_perf_counter(trackers):
            history = train_counting(passing, callback, epochs=len(epochs))
        assert [step for step, _ in history.get_history(name)] == triggers
        assert [value for _, value in history.get_history(name)] == pytest.approx(expected)


@given(
    epochs=st.lists(st.integers(0, 300), min_size=1, max_size=5),
    last=st.integers(1, 4),
    median=st.booleans(),
    period=st.integers(1, 2),
    trainings=st.integers(1, 2),
)
@example(epochs=[10, 20, 300, 0], last=5, median=True, period=1, trainings=1)
@example(epochs=[10, 20, 300, 0], last=3, median=False, period=2, trainings=2)
def test_estimated_time_left_averages_the_last_epochs(
    epochs: list[int], last: int, median: bool, period: int, trainings: int
) -> None:
    clock = Clock()
    callback: tp.Callback = tp.EstimatedTimeLeft(last, median)
    if period > 1:
        callback = tp.PeriodicTrigger(callback, every_k_epochs=period)
    average = statistics.median if median else statistics.fmean
    due = range(period, len(epochs) + 1, period)
    times = [sum(epochs[i - period : i]) / period for i in due]
    expected = [
        average(times[: i + 1][-last:]) * (len(epochs) - epoch) for i, epoch in enumerate(due)
    ]
    for _ in range(trainings):
        with clock.replaces_perf_counter(trackers):
            history = train_counting(Passing(clock, (), epochs), callback, epochs=len(epochs))
        values = [value for _, value in history.get_history("time/eta")]
        assert values == pytest.approx(expected)


def test_resumed_run_measures_complete_epochs_and_shows_all_steps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORPACK_PROGRESS_REFRESH", "0")
    config = CheckpointConfig(1, None, 20, append_info=["training_state"])

    def train(resume: Path | None = None) -> tp.ScalarHistory:
        history = tp.ScalarHistory()
        saver = ModelCheckpoint("net", str(tmp_path), config)
        callbacks = [saver, tp.ProgressBar(), tp.EstimatedTimeLeft(), history]
        make().train(3, Rows(), callbacks, resume=resume)
        return history

    train()
    capsys.readouterr()
    history = train(tmp_path / "net-1_2.ckpt")
    first = capsys.readouterr().out.replace("\r", "\n").split("epoch 2")[0]
    assert "2/3" in first
    assert "0/3" not in first
    # Those of the uninterrupted run's first epoch are not in the state at its second step.
    assert [step for step, _ in history.get_history("time/eta")] == [6, 9]


def test_estimated_time_left_can_be_triggered_each_step() -> None:
    history = train_counting(
        tp.PeriodicTrigger(tp.EstimatedTimeLeft(), every_k_steps=1, before_train=True)
    )
    assert [step for step, _ in history.get_history("time/eta")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "content", ["", "MemTotal: 3 kB\n", "MemAvailable: a lot\n", "no colon\n", "é", None]
)
def test_unknown_memory_is_logged(
    content: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    meminfo = tmp_path / "meminfo"
    if content is not None:
        meminfo.write_text(content, "utf-8")
    monkeypatch.setattr(
        trackers, "open", lambda _, encoding: meminfo.open(encoding=encoding), raising=False
    )
    monkeypatch.setitem(sys.modules, "resource", None)
    history = train_counting(tp.HostMemoryTracker(), tp.PeakMemoryTracker(), epochs=1)
    assert set(history.names()) == {"loss"}
    assert len(caplog.messages) == 2
    assert all("memory is unknown" in message for message in caplog.messages)


@pytest.mark.parametrize(("platform", "unit"), [("linux", 2**10), ("darwin", 1)])
def test_memory_is_logged_in_its_unit(
    platform: str, unit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux counts kilobytes, and macOS bytes."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 9 kB\nMemAvailable: {3 * 2**20} kB\n", "utf-8")
    monkeypatch.setattr(
        trackers, "open", lambda _, encoding: meminfo.open(encoding=encoding), raising=False
    )
    usage = SimpleNamespace(ru_maxrss=5 * 2**20 // unit)
    resource = SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda who: usage)
    monkeypatch.setitem(sys.modules, "resource", resource)
    monkeypatch.setattr(sys, "platform", platform)
    history = train_counting(tp.HostMemoryTracker(), tp.PeakMemoryTracker(), epochs=1)
    assert history.get_latest("HostFreeMemory (GB)") == 3
    assert history.get_latest("PeakMemory(MB)/host") == 5


def test_memory_trackers_log_plausible_values() -> None:
    history = train_counting(tp.HostMemoryTracker(), tp.PeakMemoryTracker())
    if sys.platform == "linux":
        assert 0 < history.get_latest("HostFreeMemory (GB)") < 100_000
    assert 10 < history.get_latest("PeakMemory(MB)/host") < 1_000_000


class Nvml(SimpleNamespace):
    """A stub of NVIDIA's library: GPU 0 is busy, the others are not."""

    def __init__(self, gpus: int, broken: bool = False) -> None:
        super().__init__()
        self.gpus, self.broken = gpus, broken

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetCount(self) -> int:
        return self.gpus

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        if self.broken:
            raise RuntimeError("GPU is lost")
        return SimpleNamespace(gpu=80 if handle == 0 else 20)


class Slow(tp.Callback):
    def _after_run(self, run_context: object, run_values: object) -> None:
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("devices", "visible", "tracked"),
    [(None, "", {0: 80, 1: 20}), (None, "1", {1: 20}), ([0], "1", {0: 80})],
)
def test_gpu_tracker_logs_the_visible_devices(
    devices: list[int] | None,
    visible: str,
    tracked: dict[int, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Nvml(2))
    monkeypatch.setattr(tp.GPUUtilizationTracker, "interval", 0.01)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    history = train_counting(Slow(), tp.GPUUtilizationTracker(devices))
    values = {name: history.get_latest(name) for name in history.names() if "GPU" in name}
    assert values == {f"GPUUtil/{device}": value for device, value in tracked.items()}


@pytest.mark.parametrize("nvml", [None, Nvml(1, broken=True)])
def test_training_continues_without_gpus(
    nvml: Nvml | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(tp.GPUUtilizationTracker, "interval", 0.01)
    history = train_counting(Slow(), tp.GPUUtilizationTracker(), epochs=1)
    assert "GPUUtil/0" not in history.names()
    assert "GPUUtilizationTracker has" in caplog.text


@pytest.mark.parametrize(("seconds", "shown"), [("0", "0123"), ("99", "03"), ("", "03")])
def test_progress_bar_shows_metrics(
    seconds: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At intervals of some seconds, by default a long one if the output is no terminal."""
    monkeypatch.setenv("TENSORPACK_PROGRESS_REFRESH", seconds)
    train_counting(
        tp.MovingAverageSummary(decay=0.0), tp.ProgressBar(["loss", "half", "loss/EMA", "none"])
    )
    lines = capsys.readouterr().out.replace("\r", "\n").splitlines()
    steps = [line.partition("/3")[0][-1] for line in lines if line.startswith("epoch 2")]
    assert "".join(dict.fromkeys(steps)) == shown
    last = lines[-1]
    assert last.startswith("epoch 2: 100%")
    assert "loss=6, half=3, loss/EMA=3, none=?" in last


def test_progress_bar_is_hidden_without_standard_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    train_counting(tp.ProgressBar(["loss"]))
    assert capsys.readouterr() == ("", "")


def test_progress_bar_can_be_enabled_by_epoch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    train_counting(tp.EnableCallbackIf(tp.ProgressBar(), lambda cb: cb.global_step > 0))
    out = capsys.readouterr().out
    assert "epoch 1" not in out
    assert "epoch 2: 100%" in out
