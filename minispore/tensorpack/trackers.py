"""What a training takes of its machine: memory, and the GPUs' time."""

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from importlib import import_module
from statistics import fmean
from threading import Event, Thread
from typing import Protocol, cast

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback


class HostMemoryTracker(Callback):
    """Put the machine's available memory in as "HostFreeMemory (GB)"; on Linux only.

    Source: tensorpack.callbacks.HostMemoryTracker.
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


class _Rates(Protocol):
    """How busy a GPU was, in percent."""

    gpu: int


class _Nvml(Protocol):
    """What is used of NVIDIA's library."""

    def nvmlInit(self) -> None: ...  # noqa: N802

    def nvmlDeviceGetCount(self) -> int: ...  # noqa: N802

    def nvmlDeviceGetHandleByIndex(self, index: int) -> object: ...  # noqa: N802

    def nvmlDeviceGetUtilizationRates(self, handle: object) -> _Rates: ...  # noqa: N802


class GPUUtilizationTracker(Callback):
    """Put the mean utilisation of GPUs during an epoch's steps in, as "GPUUtil/0" in percent.

    A thread looks once a second. Without NVIDIA's library (`pip install "minispore[nvml]"`) or
    without a GPU that is told once, and there are no numbers.

    Source: tensorpack.callbacks.GPUUtilizationTracker.

    Args:
        devices: The GPUs' numbers; by default those in CUDA_VISIBLE_DEVICES, or all.
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
            self._nvml = cast("_Nvml", import_module("pynvml"))
            self._nvml.nvmlInit()
            self._devices = list(self._wanted(self._nvml.nvmlDeviceGetCount()))
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(i) for i in self._devices]
        except Exception as error:
            self._devices = []
            logger.warn(f"GPUUtilizationTracker has nothing to track: {error}")

    def _wanted(self, count: int) -> Iterator[int]:
        if self._given is not None:
            yield from self._given
            return
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
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

    def _join(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    def _after_epoch(self) -> None:
        self._join()

    def _trigger(self) -> None:
        # The last sample may have been taken while the epoch was ending.
        samples = self._samples[:-1]
        for i, device in enumerate(self._devices):
            if samples:
                mean = fmean(each[i] for each in samples)
                self.trainer.monitors.put_scalar(f"GPUUtil/{device}", mean)

    def _after_train(self) -> None:
        self._join()
