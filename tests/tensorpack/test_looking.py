"""Looking at a training: arrays, averages, clocks, memory, bars, shells and traces."""

import json
import math
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from minispore import Tensor, nn, ops
from minispore.ops._summary import listeners
from minispore.tensorpack import (
    DEFAULT_CALLBACKS,
    DEFAULT_MONITORS,
    Callback,
    CheckNumerics,
    DumpTensors,
    EnableCallbackIf,
    EstimatedTimeLeft,
    Every,
    GPUUtilizationTracker,
    GraphProfiler,
    HostMemoryTracker,
    InjectShell,
    MergeAllSummaries,
    MonitorBase,
    MovingAverageSummary,
    PeakMemoryTracker,
    PeriodicTrigger,
    ProcessTensors,
    ProgressBar,
    ScalarHistory,
    SimpleMovingAverage,
    ThroughputTracker,
    trackers,
)
from minispore.tensorpack.channel import Array
from minispore.train import Callback as TrainCallback
from minispore.train import Model

from ..train.standins import Batches, ConstantLoss, Rows, make


class Counting(nn.Cell):
    """The loss is the number of the call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = count(1)
        self.scalar = ops.ScalarSummary()
        self.image = ops.ImageSummary()
        self.histogram = ops.HistogramSummary()

    def construct(self, *inputs: Tensor) -> Tensor:
        number = Tensor(float(next(self.calls)))
        self.scalar("half", number / 2)
        self.image("picture", Tensor(np.ones((1, 1, 2, 3), np.float32)))
        self.histogram("all", Tensor([1.0, 2.0]))
        return number


def run(*callbacks: TrainCallback, epochs: int = 2, steps: int = 3) -> ScalarHistory:
    history = ScalarHistory()
    Model(Counting()).train(epochs, Batches(steps), [*callbacks, history])
    return history


# Arrays.


def test_process_tensors() -> None:
    seen: list[tuple[float, ...]] = []
    names = ["loss", "half", "input0", "weight", "global_step"]

    def look(*arrays: Array) -> None:
        seen.append(tuple(float(array.ravel()[0]) for array in arrays[:2]))

    run(ProcessTensors(names[:2], look), epochs=1)
    assert seen == [(1, 0.5), (2, 1), (3, 1.5)]
    shapes: list[list[tuple[int, ...]]] = []

    def measure(*arrays: Array) -> None:
        shapes.append([array.shape for array in arrays])

    make().train(1, Rows(), [ProcessTensors(["input1", *names[2:]], measure)])
    assert shapes[0] == [(4,), (4, 4), (3, 4), (1,)]


def test_the_columns_of_a_dataset_have_its_names() -> None:
    from minispore.dataset import NumpySlicesDataset

    data = NumpySlicesDataset({"x": np.ones((4, 2), np.float32), "y": np.zeros(4)}).batch(2)
    shapes: list[tuple[int, ...]] = []

    def measure(x: Array, y: Array) -> None:
        shapes.append((*x.shape, *y.shape))

    look = ProcessTensors(["x", "y"], measure)
    Model(ConstantLoss()).train(1, data, [look])
    assert shapes == [(2, 2, 2)] * 2


def test_an_array_that_is_not_there() -> None:
    before = list(listeners())
    with pytest.raises(ValueError, match="no array 'los'; did you mean 'loss'"):
        run(ProcessTensors("los", print))
    assert listeners() == before


def test_dump_tensors(folder: Path) -> None:
    run(Every(steps=2)(DumpTensors(["loss", "all"])), epochs=1, steps=4)
    assert sorted(path.name for path in folder.iterdir()) == [
        "DumpTensor-2.npz",
        "DumpTensor-4.npz",
    ]
    with np.load(folder / "DumpTensor-4.npz", allow_pickle=False) as arrays:
        assert set(arrays) == {"loss", "all"}
        assert arrays["loss"] == 4


@pytest.mark.parametrize(
    ("each_epoch", "each_step", "where"),
    [(False, False, None), (True, False, "After 3 steps"), (True, True, "After 2 steps")],
)
def test_check_numerics(each_epoch: bool, each_step: bool, where: str | None) -> None:
    class Spoil(Callback):
        def _before_run(self, run_context: object) -> None:
            if self.global_step == 1:
                parameter = self.trainer.params.train_network.trainable_params()[0]
                value = parameter.asnumpy().copy()
                value.ravel()[:2] = math.nan, math.inf
                parameter.set_data(Tensor(value))

    told = f"{where}, the parameter 'weight' has"
    with pytest.raises(FloatingPointError, match=told) if where else nullcontext():
        make().train(1, Rows(), [Spoil(), CheckNumerics(each_epoch, each_step)])


# Averages.


def test_moving_average_is_that_of_all_values() -> None:
    average = MovingAverageSummary(decay=0.5)
    history = run(average)
    weights = np.array([0.25, 0.5, 1])
    expected = float((weights * [1, 2, 3]).sum() / weights.sum())
    step, value = history.get_history("loss/EMA")[0]
    assert step == 3
    assert math.isclose(value, expected)
    again = MovingAverageSummary(decay=0.5)
    again.load_state_dict(average.state_dict())
    assert again.state_dict() == average.state_dict()


def test_simple_moving_average() -> None:
    average = SimpleMovingAverage(["loss", "half"], 4)
    history = run(average, steps=5)
    assert history.get_history("loss/SMA") == [(4, 2.5), (8, 6.5)]
    assert history.get_history("half/SMA") == [(4, 1.25), (8, 3.25)]
    again = SimpleMovingAverage(["loss", "half"], 4)
    again.load_state_dict(average.state_dict())
    assert again.state_dict() == average.state_dict()


class Kinds(MonitorBase):
    def __init__(self) -> None:
        self.seen: list[tuple[str, int, tuple[int, ...]]] = []

    def process_image(self, name: str, val: Array) -> None:
        self.seen.append((name, self.global_step, val.shape))

    def process_histogram(self, name: str, val: Array) -> None:
        self.seen.append((name, self.global_step, val.shape))


def test_merge_all_summaries() -> None:
    kinds = Kinds()
    history = run(MergeAllSummaries(), kinds)
    assert history.get_history("half") == [(3, 1.5), (6, 3.0)]
    assert kinds.seen == [
        ("picture", 3, (1, 2, 3, 1)),
        ("all", 3, (2,)),
        ("picture", 6, (1, 2, 3, 1)),
        ("all", 6, (2,)),
    ]


def test_merge_summaries_of_a_period_and_a_name() -> None:
    kinds = Kinds()
    history = run(MergeAllSummaries(2, key="^h"), kinds)
    assert [step for step, _ in history.get_history("half")] == [2, 3, 4, 6]
    assert history.get_history("loss") == [(2, 2), (3, 3), (4, 4), (6, 6)]
    assert not kinds.seen


# Clocks and memory.


@pytest.mark.parametrize("samples", [None, 32])
def test_throughput(samples: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(trackers, "perf_counter", lambda: now[0])

    class Passing(Callback):
        def _before_run(self, run_context: object) -> None:
            now[0] += 0.5

        def _trigger_epoch(self) -> None:
            now[0] += 100  # not the training's

    (name,) = ThroughputTracker(samples).produces()
    history = run(Passing(), ThroughputTracker(samples))
    assert [value for _, value in history.get_history(name)] == [2 * (samples or 1)] * 2
    assert name == f"Throughput ({'samples' if samples else 'steps'}/sec)"


@pytest.mark.parametrize("wrap", [lambda cb: cb, lambda cb: PeriodicTrigger(cb, every_k_epochs=1)])
def test_estimated_time_left(
    wrap: Callable[[Callback], Callback],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "minispore.tensorpack")
    now = [0.0]
    monkeypatch.setattr(trackers, "perf_counter", lambda: now[0])

    class Passing(Callback):
        def _trigger_epoch(self) -> None:
            now[0] += [10, 20, 300, 0][self.epoch_num - 1]

    history = run(Passing(), wrap(EstimatedTimeLeft()), epochs=4)
    assert [value for _, value in history.get_history("time/eta")] == [30, 30, 20, 0]
    assert caplog.messages[0] == "Estimated time left: 30 s."


def test_the_time_left_is_told_as_soon_as_it_is_known_and_as_often_as_wanted() -> None:
    history = run(PeriodicTrigger(EstimatedTimeLeft(), every_k_steps=1, before_train=True))
    assert [step for step, _ in history.get_history("time/eta")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "content", ["", "MemTotal: 3 kB\n", "MemAvailable: a lot\n", "no colon\n", "é", None]
)
def test_memory_that_is_not_known_is_told(
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
    history = run(HostMemoryTracker(), PeakMemoryTracker(), epochs=1)
    assert set(history.names()) == {"loss"}
    assert len(caplog.messages) == 2
    assert all("memory is not known" in message for message in caplog.messages)


def test_memory() -> None:
    history = run(HostMemoryTracker(), PeakMemoryTracker())
    if sys.platform == "linux":
        assert 0 < history.get_latest("HostFreeMemory (GB)") < 100_000
    assert 10 < history.get_latest("PeakMemory(MB)/host") < 1_000_000


class Nvml(SimpleNamespace):
    """NVIDIA's library, with as many GPUs, of which number 0 is busy."""

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


class Slow(Callback):
    def _after_run(self, run_context: object, run_values: object) -> None:
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("devices", "visible", "tracked"),
    [(None, "", {0: 80, 1: 20}), (None, "1", {1: 20}), ([0], "1", {0: 80})],
)
def test_gpus(
    devices: list[int] | None,
    visible: str,
    tracked: dict[int, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Nvml(2))
    monkeypatch.setattr(GPUUtilizationTracker, "interval", 0.01)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    history = run(Slow(), GPUUtilizationTracker(devices))
    found = {name: history.get_latest(name) for name in history.names() if "GPU" in name}
    assert found == {f"GPUUtil/{device}": value for device, value in tracked.items()}


@pytest.mark.parametrize("nvml", [None, Nvml(1, broken=True)])
def test_without_gpus_training_goes_on(
    nvml: Nvml | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(GPUUtilizationTracker, "interval", 0.01)
    history = run(Slow(), GPUUtilizationTracker(), epochs=1)
    assert "GPUUtil/0" not in history.names()
    assert "GPUUtilizationTracker has" in caplog.text


# Bars, shells and traces.


def test_progress_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPACK_PROGRESS_REFRESH", "0")
    run(MovingAverageSummary(decay=0.0), ProgressBar(["loss", "half", "loss/EMA", "none"]))
    lines = capsys.readouterr().out.replace("\r", "\n").splitlines()
    last = [line for line in lines if line.startswith("epoch 2: 100%")][-1]
    assert "3/3" in last
    assert "loss=6, half=3, loss/EMA=3, none=?" in last


def test_there_is_a_bar_for_the_epochs_from_whose_beginning_it_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(EnableCallbackIf(ProgressBar(), lambda cb: cb.global_step > 0))
    out = capsys.readouterr().out
    assert "epoch 1" not in out
    assert "epoch 2: 100%" in out


def test_a_shell_is_opened_once(folder: Path) -> None:
    (folder / "INJECT_SHELL.tmp").touch()
    epochs: list[int] = []
    run(InjectShell(enter=lambda trainer: epochs.append(trainer.epoch_num)))
    assert epochs == [1]
    (folder / "shell").touch()
    run(InjectShell("shell", enter=lambda trainer: epochs.append(trainer.epoch_num)), epochs=1)
    assert epochs == [1, 1]
    assert not list(folder.iterdir())
    with pytest.raises(ValueError, match="shell"):
        InjectShell(shell="bash")


@pytest.mark.parametrize("shell", ["ipython", "pdb"])
def test_which_shell(shell: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(embed=lambda: opened.append("ipython"))
    )
    monkeypatch.setattr("pdb.set_trace", lambda: opened.append("pdb"))
    (folder / "INJECT_SHELL.tmp").touch()
    run(InjectShell(shell=shell), epochs=1)
    monkeypatch.setitem(sys.modules, "IPython", None)
    (folder / "INJECT_SHELL.tmp").touch()
    run(InjectShell(shell=shell), epochs=1)
    assert opened == [shell, "pdb"]


def test_graph_profiler(folder: Path) -> None:
    make().train(1, Rows(), [Every(steps=2)(GraphProfiler())])
    (path,) = folder.iterdir()
    assert path.name == "chrome-trace-2.json"
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    assert {"forward", "backward", "update"} == {event["cat"] for event in events}
    assert any("dense" in event["name"] or "matmul" in event["name"] for event in events)
    assert all(event["ph"] == "X" and event["dur"] >= 0 for event in events)
    assert sys.getprofile() is None
    with pytest.raises(ValueError, match="GraphProfiler"):
        GraphProfiler(dump_metadata=True)


def test_the_defaults(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(*DEFAULT_CALLBACKS(), *DEFAULT_MONITORS())
    assert {path.name.split(".")[0] for path in folder.iterdir()} == {"events", "stats"}
    rows = json.loads((folder / "stats.json").read_text("utf-8"))
    assert [row["half"] for row in rows] == [1.5, 3]
