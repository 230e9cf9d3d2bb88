"""How far and how fast a training goes, and what it takes of its machine."""

import os
import statistics
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import import_module
from threading import Event, Thread
from time import perf_counter
from typing import Protocol

from tqdm import tqdm

from minispore._checks import check_int
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.channel import as_float, name_list
from minispore.tensorpack.checked import checked

_BAR = "{l_bar}{bar}|{n_fmt}/{total_fmt}[{elapsed}<{remaining},{rate_noinv_fmt}{postfix}]"


class _Bar(Protocol):
    """What is used of a bar."""

    def set_postfix(self, ordered_dict: Mapping[str, object], refresh: bool) -> None: ...

    def update(self) -> object: ...

    def close(self) -> None: ...


@checked
class ProgressBar(Callback):
    r"""Draw a bar for each epoch on standard output, with numbers of the current step.

    It is drawn anew twice a second in a terminal, else every three minutes, or as the environment's
    TENSORPACK_PROGRESS_REFRESH says in seconds.

    Source: tensorpack.callbacks.ProgressBar.

    Args:
        names: Arrays of one element, see `Trainer.array`, or numbers in the channel.

    Examples:
        >>> from contextlib import redirect_stdout
        >>> from io import StringIO
        >>> from minispore.tensorpack._examples import train
        >>> with redirect_stdout(StringIO()) as drawn:
        ...     train(ProgressBar(["loss"]), epochs=1)
        >>> drawn.getvalue().split("\r")[-1]
        'epoch 1: 100%|...|3/3[...it/s, loss=...]\n'
    """

    chief_only = False

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = name_list(names)
        self.hears: bool = bool(self._names)
        self._bar: _Bar | None = None

    def _before_epoch(self) -> None:
        refresh = os.environ.get("TENSORPACK_PROGRESS_REFRESH")
        self._bar = tqdm(
            total=self.trainer.steps_per_epoch,
            initial=(self.local_step + 1) % self.trainer.steps_per_epoch,
            desc=f"epoch {self.epoch_num}",
            file=sys.stdout,
            mininterval=float(refresh) if refresh else 0.5 if sys.stdout.isatty() else 180,
            bar_format=_BAR,
            dynamic_ncols=True,
        )

    def _trigger_step(self) -> None:
        if self._bar is not None:
            if self._names:
                shown = {name: self._shown(name) for name in self._names}
                self._bar.set_postfix(shown, False)
            self._bar.update()

    def _shown(self, name: str) -> str:
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


@checked
class ThroughputTracker(Callback):
    """Put in how many steps, or samples, are done in a second; only the steps' time counts.

    A resumed run measures its own steps.

    The name is "Throughput (steps/sec)" or "Throughput (samples/sec)".

    Source: tensorpack.callbacks.ThroughputTracker.

    Args:
        samples_per_step: The size of a batch, to count samples.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> train(ThroughputTracker(), ScalarPrinter(whitelist=["Through"]), epochs=1)
        Throughput (steps/sec): ...
    """

    chief_only = False

    def __init__(self, samples_per_step: int | None = None) -> None:
        self._samples, self._unit = 1, "steps"
        if samples_per_step is not None:
            owner = "ThroughputTracker"
            self._samples = check_int(samples_per_step, "samples_per_step", owner, low=1)
            self._unit = "samples"
        self._begun: tuple[int, float] | None = None  # the step and the time

    def produces(self) -> Collection[str]:
        """Return the name."""
        return (f"Throughput ({self._unit}/sec)",)

    def _before_train(self) -> None:
        self._steps, self._seconds, self._begun = 0, 0.0, None

    def _before_epoch(self) -> None:
        self._begun = self.global_step, perf_counter()

    def _after_epoch(self) -> None:
        self._count()
        self._begun = None

    def _count(self) -> None:
        if self._begun is not None:
            step, time = self._begun
            self._begun = self.global_step, perf_counter()
            self._steps += self._begun[0] - step
            self._seconds += self._begun[1] - time

    def _trigger(self) -> None:
        self._count()
        if self._steps and self._seconds:
            speed = self._steps * self._samples / self._seconds
            self.trainer.monitors.put_scalar(f"Throughput ({self._unit}/sec)", speed)
        self._steps, self._seconds = 0, 0.0


@checked
class EstimatedTimeLeft(Callback):
    """Tell how long the training will still take, and put the seconds in as "time/eta".

    A resumed run measures its own epochs, from the first that it does from the beginning.

    Source: tensorpack.callbacks.EstimatedTimeLeft.

    Args:
        last_k_epochs: Of how many epochs the time is looked at.
        median: Whether their median counts rather than their mean.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(EstimatedTimeLeft())
        Estimated time left: 0 s.
        Estimated time left: 0 s.
    """

    def __init__(self, last_k_epochs: int = 5, median: bool = True) -> None:
        self._last = check_int(last_k_epochs, "last_k_epochs", "EstimatedTimeLeft", low=1)
        self._mean = statistics.median if median else statistics.fmean

    def produces(self) -> Collection[str]:
        """Return the name."""
        return ("time/eta",)

    def _before_train(self) -> None:
        self._seconds: list[float] = []  # of the last epochs
        self._begun: tuple[int, float] | None = None  # how many epochs were done, and the time

    def _before_epoch(self) -> None:
        if self._begun is None and self.global_step % self.trainer.steps_per_epoch == 0:
            self._begun = self.epoch_num - 1, perf_counter()

    def _trigger(self) -> None:
        if self._begun is not None and self.epoch_num > self._begun[0]:
            epoch, time = self._begun
            self._begun = self.epoch_num, perf_counter()
            elapsed = (self._begun[1] - time) / (self.epoch_num - epoch)
            self._seconds = [*self._seconds, elapsed][-self._last :]
        if self._seconds:
            left = self._mean(self._seconds) * (self.trainer.max_epoch - self.epoch_num)
            self.trainer.monitors.put_scalar("time/eta", left)
            logger.info(f"Estimated time left: {_told(left)}.")


def _told(seconds: float) -> str:
    """Return a duration in words of at most two units.

    >>> _told(59.6), _told(3661)
    ('1 min 0 s', '1 h 1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class HostMemoryTracker(Callback):
    """Put the machine's available memory in as "HostFreeMemory (GB)"; on Linux only.

    Source: tensorpack.callbacks.HostMemoryTracker.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> train(HostMemoryTracker(), ScalarPrinter(whitelist=["Memory"]), epochs=1)
        HostFreeMemory (GB): ...
    """

    chief_only = False

    def produces(self) -> Collection[str]:
        """Return the name."""
        return ("HostFreeMemory (GB)",)

    def _trigger(self) -> None:
        try:
            with open("/proc/meminfo", encoding="ascii") as file:
                lines = dict(line.split(":", 1) for line in file)
            gigabytes = int(lines["MemAvailable"].split()[0]) / 2**20
        except (OSError, KeyError, ValueError) as error:
            logger.warn(f"HostMemoryTracker: the memory is not known: {error!r}")
            return
        self.trainer.monitors.put_scalar("HostFreeMemory (GB)", gigabytes)


class PeakMemoryTracker(Callback):
    """Put the most memory that the process has had in as "PeakMemory(MB)/host", after each epoch.

    Source: tensorpack.callbacks.PeakMemoryTracker, which tells of a GPU's.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> train(PeakMemoryTracker(), ScalarPrinter(whitelist=["Memory"]), epochs=1)
        PeakMemory(MB)/host: ...
    """

    chief_only = False

    def produces(self) -> Collection[str]:
        """Return the name."""
        return ("PeakMemory(MB)/host",)

    def _trigger(self) -> None:
        try:
            import resource
        except ImportError:  # on Windows
            logger.warn("PeakMemoryTracker: the memory is not known on this system.")
            return
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        unit = 1 if sys.platform == "darwin" else 1024
        self.trainer.monitors.put_scalar("PeakMemory(MB)/host", most * unit / 2**20)


@checked
class GPUUtilizationTracker(Callback):
    """Put the mean utilisation of GPUs during an epoch's steps in, as "GPUUtil/0" in percent.

    A thread looks once a second. Without NVIDIA's library (`pip install "minispore[nvml]"`) or
    without a GPU that is told once, and there are no numbers.

    Source: tensorpack.callbacks.GPUUtilizationTracker.

    Args:
        devices: The GPUs' numbers; by default those in CUDA_VISIBLE_DEVICES, or all.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(GPUUtilizationTracker())  # where there is no GPU
        GPUUtilizationTracker has nothing to track: ...
    """

    chief_only = False
    interval: float = 1.0

    def __init__(self, devices: Sequence[int] | None = None) -> None:
        self._given = devices
        self._devices: list[int] = []
        self._thread: Thread | None = None

    def produces(self) -> Collection[str]:
        """Return the names."""
        return [f"GPUUtil/{device}" for device in self._devices]

    def _setup_graph(self) -> None:
        self._devices = []
        try:
            self._nvml = import_module("pynvml")
            self._nvml.nvmlInit()
            devices = list(self._wanted(self._nvml.nvmlDeviceGetCount()))
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(i) for i in devices]
            self._devices = devices
        except Exception as error:
            logger.warn(f"GPUUtilizationTracker has nothing to track: {error}")

    def _wanted(self, count: int) -> Iterator[int]:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        if self._given is not None:
            yield from self._given
        else:
            yield from map(int, visible) if all(map(str.isdigit, visible)) else range(count)

    def _before_epoch(self) -> None:
        self._samples: list[list[float]] = []
        self._stop = Event()
        if self._devices:
            self._thread = Thread(target=self._look, daemon=True)
            self._thread.start()

    def _look(self) -> None:
        try:
            while not self._stop.wait(self.interval):
                rates = [self._nvml.nvmlDeviceGetUtilizationRates(each) for each in self._handles]
                self._samples.append([float(rate.gpu) for rate in rates])
        except Exception as error:  # a number that is missing must not end a training
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
