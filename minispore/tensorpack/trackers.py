"""Callbacks that track progress, speed, operations, and the use of memory and GPUs."""

import json
import os
import statistics
import sys
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Event, Thread
from time import perf_counter, perf_counter_ns
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from minispore.engine import rules
from minispore.nn import Optimizer
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.protocol import RunValues, as_float, name_list
from minispore.train.callback import RunContext
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import check_arguments, check_int
from minispore.utils.progress import progress_bar

if TYPE_CHECKING:
    from tqdm import tqdm

_BAR = "{l_bar}{bar}|{n_fmt}/{total_fmt}[{elapsed}<{remaining},{rate_noinv_fmt}{postfix}]"


@check_arguments
class ProgressBar(Callback):
    r"""Draw a progress bar for each epoch on standard output, with numbers of the current step.

    The bar is refreshed twice a second in a terminal, otherwise every three minutes. The
    environment variable TENSORPACK_PROGRESS_REFRESH sets another interval in seconds.

    Args:
        names: Arrays of one element, see `Trainer.array`, or numbers logged to the monitors.

    Examples:
        >>> from contextlib import redirect_stdout
        >>> from io import StringIO
        >>> from minispore.tensorpack.example_training import train
        >>> with redirect_stdout(StringIO()) as drawn:
        ...     train(ProgressBar(["loss"]), epochs=1)
        >>> drawn.getvalue().split("\r")[-1]
        'epoch 1: 100%|...|3/3[...it/s, loss=...]\n'

    Source: tensorpack's `callbacks.ProgressBar`.
    """

    chief_only = False

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = name_list(names)
        self.wants_summaries: bool = bool(self._names)
        self._bar: tqdm[NoReturn] | None = None

    def _before_epoch(self) -> None:
        refresh = os.environ.get("TENSORPACK_PROGRESS_REFRESH")
        terminal = sys.stdout is not None and sys.stdout.isatty()
        self._bar = progress_bar(
            total=self.trainer.steps_per_epoch,
            initial=(self.local_step + 1) % self.trainer.steps_per_epoch,
            desc=f"epoch {self.epoch_num}",
            file=sys.stdout,
            mininterval=float(refresh) if refresh else 0.5 if terminal else 180,
            bar_format=_BAR,
            dynamic_ncols=True,
            disable=sys.stdout is None,
        )

    def _trigger_step(self) -> None:
        if self._bar is not None:
            if self._names:
                numbers = ", ".join(f"{name}={self._format(name)}" for name in self._names)
                self._bar.set_postfix_str(numbers, refresh=False)
            self._bar.update()

    def _format(self, name: str) -> str:
        try:
            value = as_float(self.trainer.array(name))
        except ValueError:
            value = next((v for _, v in self.trainer.monitors.get_history(name)[-1:]), None)
        return "?" if value is None else f"{value:.4g}"

    def _after_epoch(self) -> None:
        self._after_train()

    def _after_train(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


@check_arguments
class ThroughputTracker(Callback):
    """Log the steps or samples per second; only the time of the steps counts.

    The name is "Throughput (steps/sec)" or "Throughput (samples/sec)". A resumed run measures its
    own steps.

    Args:
        samples_per_step: The batch size, to count samples; None to count steps.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(ThroughputTracker(), ScalarPrinter(whitelist=["Through"]), epochs=1)
        Throughput (steps/sec): ...

    Source: tensorpack's `callbacks.ThroughputTracker`.
    """

    chief_only = False

    def __init__(self, samples_per_step: int | None = None) -> None:
        self._samples, self._unit = 1, "steps"
        if samples_per_step is not None:
            self._samples = check_int(samples_per_step, "samples_per_step", low=1)
            self._unit = "samples"
        self._begin: tuple[int, float] | None = None  # the step and the time

    def produces(self) -> Collection[str]:
        """Return the name of the number."""
        return (f"Throughput ({self._unit}/sec)",)

    def _before_train(self) -> None:
        self._steps, self._seconds, self._begin = 0, 0.0, None

    def _before_epoch(self) -> None:
        self._begin = self.global_step, perf_counter()

    def _after_epoch(self) -> None:
        self._count()
        self._begin = None

    def _count(self) -> None:
        if self._begin is not None:
            step, time = self._begin
            self._begin = self.global_step, perf_counter()
            self._steps += self._begin[0] - step
            self._seconds += self._begin[1] - time

    def _trigger(self) -> None:
        self._count()
        if self._steps and self._seconds:
            speed = self._steps * self._samples / self._seconds
            self.trainer.monitors.put_scalar(f"Throughput ({self._unit}/sec)", speed)
        self._steps, self._seconds = 0, 0.0


@check_arguments
class EstimatedTimeLeft(Callback):
    """Estimate the remaining time of the training, print it, and log the seconds as "time/eta".

    A resumed run measures its own epochs, from the first complete one.

    Args:
        last_k_epochs: The number of last epochs whose times are averaged.
        median: Whether to use their median instead of their mean.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(EstimatedTimeLeft())
        Estimated time left: 0 s.
        Estimated time left: 0 s.

    Source: tensorpack's `callbacks.EstimatedTimeLeft`.
    """

    def __init__(self, last_k_epochs: int = 5, median: bool = True) -> None:
        self._last = check_int(last_k_epochs, "last_k_epochs", low=1)
        self._average = statistics.median if median else statistics.fmean

    def produces(self) -> Collection[str]:
        """Return the name of the number."""
        return ("time/eta",)

    def _before_train(self) -> None:
        self._seconds: list[float] = []  # of the last epochs
        self._begin: tuple[int, float] | None = None  # the number of epochs done, and the time

    def _before_epoch(self) -> None:
        if self._begin is None and self.global_step % self.trainer.steps_per_epoch == 0:
            self._begin = self.epoch_num - 1, perf_counter()

    def _trigger(self) -> None:
        if self._begin is not None and self.epoch_num > self._begin[0]:
            epoch, time = self._begin
            self._begin = self.epoch_num, perf_counter()
            elapsed = (self._begin[1] - time) / (self.epoch_num - epoch)
            self._seconds = [*self._seconds, elapsed][-self._last :]
        if self._seconds:
            remaining = self._average(self._seconds) * (self.trainer.max_epoch - self.epoch_num)
            self.trainer.monitors.put_scalar("time/eta", remaining)
            logger.info(f"Estimated time left: {_format_duration(remaining)}.")


def _format_duration(seconds: float) -> str:
    """Return a duration as text with at most two units.

    >>> _format_duration(59.6), _format_duration(3661)
    ('1 min 0 s', '1 h 1 min')
    """
    minutes, remainder = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {remainder} s" if minutes else f"{remainder} s"


class HostMemoryTracker(Callback):
    """Log the machine's available memory as "HostFreeMemory (GB)", on Linux only.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(HostMemoryTracker(), ScalarPrinter(whitelist=["Memory"]), epochs=1)
        HostFreeMemory (GB): ...

    Source: tensorpack's `callbacks.HostMemoryTracker`.
    """

    chief_only = False

    def produces(self) -> Collection[str]:
        """Return the name of the number."""
        return ("HostFreeMemory (GB)",)

    def _trigger(self) -> None:
        try:
            with open("/proc/meminfo", encoding="ascii") as file:
                lines = dict(line.split(":", 1) for line in file)
            gigabytes = int(lines["MemAvailable"].split()[0]) / 2**20
        except (OSError, KeyError, ValueError) as error:
            logger.warn(f"HostMemoryTracker: the memory is unknown: {error!r}")
            return
        self.trainer.monitors.put_scalar("HostFreeMemory (GB)", gigabytes)


@check_arguments
@dataclass(eq=False)
class PeakMemoryTracker(Callback):
    """Log the peak memory of the process as "PeakMemory(MB)/host", after each epoch.

    tensorpack's callback of this name logs the memory of GPUs.

    Args:
        devices: Has no effect: the memory of a GPU is not measured.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(PeakMemoryTracker((0,)), ScalarPrinter(whitelist=["Memory"]), epochs=1)
        PeakMemory(MB)/host: ...

    Source: tensorpack's `callbacks.PeakMemoryTracker`.
    """

    devices: Sequence[int] | Sequence[str] = (0,)
    chief_only = False

    def produces(self) -> Collection[str]:
        """Return the name of the number."""
        return ("PeakMemory(MB)/host",)

    def _trigger(self) -> None:
        try:
            import resource
        except ImportError:  # on Windows
            logger.warn("PeakMemoryTracker: the memory is unknown on this system.")
            return
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        unit = 1 if sys.platform == "darwin" else 1024
        self.trainer.monitors.put_scalar("PeakMemory(MB)/host", peak * unit / 2**20)


@check_arguments
class GPUUtilizationTracker(Callback):
    """Log the mean utilization of GPUs during an epoch's steps, as "GPUUtil/0" in percent.

    A thread samples it once a second. Without NVIDIA's library (`pip install "minispore[nvml]"`) or
    without a GPU, one warning is logged and no numbers.

    Args:
        devices: The indices of the GPUs; by default those in CUDA_VISIBLE_DEVICES, or all.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(GPUUtilizationTracker())  # on a machine without a GPU
        GPUUtilizationTracker has nothing to track: ...

    Source: tensorpack's `callbacks.GPUUtilizationTracker`.
    """

    chief_only = False
    interval: float = 1.0

    def __init__(self, devices: Sequence[int] | None = None) -> None:
        self._requested = devices
        self._devices: list[int] = []
        self._thread: Thread | None = None

    def produces(self) -> Collection[str]:
        """Return the names of the numbers."""
        return [f"GPUUtil/{device}" for device in self._devices]

    def _setup_graph(self) -> None:
        self._devices = []
        try:
            self._nvml = import_module("pynvml")
            self._nvml.nvmlInit()
            devices = list(self._select_devices(self._nvml.nvmlDeviceGetCount()))
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(i) for i in devices]
            self._devices = devices
        except Exception as error:
            logger.warn(f"GPUUtilizationTracker has nothing to track: {error}")

    def _select_devices(self, count: int) -> Iterable[int]:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        if self._requested is not None:
            return self._requested
        return map(int, visible) if all(map(str.isdigit, visible)) else range(count)

    def _before_epoch(self) -> None:
        self._samples: list[list[float]] = []
        self._stop = Event()
        if self._devices:
            self._thread = Thread(target=self._sample, daemon=True)
            self._thread.start()

    def _sample(self) -> None:
        try:
            while not self._stop.wait(self.interval):
                rates = [self._nvml.nvmlDeviceGetUtilizationRates(gpu) for gpu in self._handles]
                self._samples.append([float(rate.gpu) for rate in rates])
        except Exception as error:  # missing numbers must not end the training
            logger.warn(f"GPUUtilizationTracker has stopped: {error}")

    def _after_epoch(self) -> None:
        self._after_train()

    def _trigger(self) -> None:
        # The last sample may have been taken while the epoch was ending.
        columns = zip(*self._samples[:-1], strict=True)
        for name, column in zip(self.produces(), columns, strict=False):
            self.trainer.monitors.put_scalar(name, statistics.fmean(column))

    def _after_train(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None


_RULES = os.path.dirname(os.path.abspath(rules.__file__))
_PULLBACK = ".<locals>."


@check_arguments
class GraphProfiler(Callback):
    """Write a trace of each step, for chrome://tracing or Perfetto.

    `chrome-trace-{global_step}.json` in the logger's folder contains the engine's operations, named
    after their derivative rules: the forward calls, the pullbacks, and the optimizer's update.
    Profiling makes a step slower. To profile some steps only, wrap it in `EnableCallbackIf` or
    `Every`.

    Args:
        dump_metadata: If True, a warning is logged: there are no TensorFlow metadata.
        dump_tracing: Whether to write the traces.
        dump_event: As `dump_metadata`.

    Examples:
        >>> from minispore.tensorpack import Every
        >>> from minispore.tensorpack.example_training import train
        >>> train(Every(steps=5)(GraphProfiler()))
        ['chrome-trace-5.json']

    Source: tensorpack's `callbacks.GraphProfiler`.
    """

    def __init__(
        self, dump_metadata: bool = False, dump_tracing: bool = True, dump_event: bool = False
    ) -> None:
        if dump_metadata or dump_event:
            logger.warn("GraphProfiler writes traces only: there are no TensorFlow metadata.")
        self._writes_traces = dump_tracing
        self._open: list[tuple[FrameType, str, int]] = []
        self._events: list[dict[str, object]] = []
        self._profiling = False

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(None, self)

    def _before_run(self, run_context: RunContext) -> None:
        self._open, self._events, self._profiling = [], [], True
        self._previous_profiler = sys.getprofile()
        sys.setprofile(self._profile)

    # Python disables tracing, and so the measurement of coverage, in a profile function.
    def _profile(self, frame: FrameType, event: str, arg: object) -> None:  # pragma: no cover
        if event == "call":
            code = frame.f_code
            # A function within a rule that is called before the rule has returned is a part of it.
            outer = code.co_qualname.rpartition(_PULLBACK)[0]
            is_part = any(name == outer for _, name, _ in self._open)
            is_rule = code.co_filename.startswith(_RULES) and not is_part
            is_update = code.co_name == "construct" and isinstance(
                frame.f_locals.get("self"), Optimizer
            )
            if is_rule or is_update:
                self._open.append((frame, code.co_qualname, perf_counter_ns()))
        elif event == "return" and self._open and self._open[-1][0] is frame:
            _, name, start = self._open.pop()
            rule, pullback, _ = name.partition(_PULLBACK)
            kind = "backward" if pullback else "update" if "." in rule else "forward"
            duration = (perf_counter_ns() - start) / 1000
            thread = {"pid": os.getpid(), "tid": threading.get_native_id()}
            times = {"ph": "X", "ts": start / 1000, "dur": duration}
            self._events.append({"name": rule, "cat": kind, **times, **thread})

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self._after_train()
        if self._writes_traces:
            path = os.path.join(self._folder, f"chrome-trace-{self.global_step}.json")
            with atomic_write(path) as file:
                file.write(json.dumps({"traceEvents": self._events}).encode())

    def _after_train(self) -> None:
        if self._profiling:
            sys.setprofile(self._previous_profiler)
            self._profiling = False
