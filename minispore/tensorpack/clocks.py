"""How fast a training goes, and how long it will still take."""

from collections import deque
from collections.abc import Collection, Mapping
from statistics import fmean, median
from time import perf_counter

from minispore._checks import check_int
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.train.callback._states import entry, numbers


class ThroughputTracker(Callback):
    """Put in how many steps, or samples, are done in a second; only the steps' time counts.

    The name is "Throughput (steps/sec)" or "Throughput (samples/sec)".

    Source: tensorpack.callbacks.ThroughputTracker.

    Args:
        samples_per_step: The size of a batch, to count samples.
    """

    chief_only = False

    def __init__(self, samples_per_step: int | None = None) -> None:
        if samples_per_step is not None:
            check_int(samples_per_step, "samples_per_step", "ThroughputTracker", low=1)
        self._samples = samples_per_step
        self._seconds, self._last_step = 0.0, 0
        self._started: float | None = None

    def produces(self) -> Collection[str]:
        """Return the name."""
        return (f"Throughput ({'steps' if self._samples is None else 'samples'}/sec)",)

    def _before_train(self) -> None:
        self._seconds, self._last_step, self._started = 0.0, self.global_step, None

    def _before_epoch(self) -> None:
        self._started = perf_counter()

    def _after_epoch(self) -> None:
        self._seconds, self._started = self._elapsed(), None

    def _elapsed(self) -> float:
        now = perf_counter()
        return self._seconds + (0.0 if self._started is None else now - self._started)

    def _trigger(self) -> None:
        seconds, steps = self._elapsed(), self.global_step - self._last_step
        if steps and seconds:
            (name,) = self.produces()
            self.trainer.monitors.put_scalar(name, steps * (self._samples or 1) / seconds)
        self._seconds, self._last_step = 0.0, self.global_step
        if self._started is not None:
            self._started = perf_counter()

    def state_dict(self) -> dict[str, object]:
        """Return the steps and seconds since the last time."""
        return {"step": self._last_step, "seconds": self._elapsed()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with them.

        Raises:
            ValueError: It is no such state.
        """
        step = entry(state, "step", int, "ThroughputTracker")
        self._seconds = entry(state, "seconds", float, "ThroughputTracker")
        self._last_step = step


class EstimatedTimeLeft(Callback):
    """Tell how long the training will still take, and put the seconds in as "time/eta".

    Source: tensorpack.callbacks.EstimatedTimeLeft.

    Args:
        last_k_epochs: Of how many epochs the time is looked at.
        median: Whether their median counts rather than their mean.
    """

    def __init__(self, last_k_epochs: int = 5, median: bool = True) -> None:
        check_int(last_k_epochs, "last_k_epochs", "EstimatedTimeLeft", low=1)
        self._median = median
        self._seconds: deque[float] = deque(maxlen=last_k_epochs)

    def produces(self) -> Collection[str]:
        """Return the name."""
        return ("time/eta",)

    def _before_train(self) -> None:
        self._seconds.clear()
        self._last, self._last_epoch = perf_counter(), self.epoch_num

    def _trigger(self) -> None:
        now, epochs = perf_counter(), self.epoch_num - self._last_epoch
        if epochs > 0:
            self._seconds.append((now - self._last) / epochs)
            self._last, self._last_epoch = now, self.epoch_num
        if self._seconds:
            each = median(self._seconds) if self._median else fmean(self._seconds)
            left = each * (self.trainer.max_epoch - self.epoch_num)
            self.trainer.monitors.put_scalar("time/eta", left)
            logger.info(f"Estimated time left: {_told(left)}.")

    def state_dict(self) -> dict[str, object]:
        """Return the epochs' times, and how long the present one has taken."""
        elapsed = perf_counter() - self._last
        return {"seconds": list(self._seconds), "elapsed": elapsed, "epoch": self._last_epoch}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with them.

        Raises:
            ValueError: It is no such state.
        """
        owner = "EstimatedTimeLeft"
        seconds = numbers(state, "seconds", float, owner)
        elapsed = entry(state, "elapsed", float, owner)
        self._last_epoch = entry(state, "epoch", int, owner)
        self._last = perf_counter() - elapsed
        self._seconds = deque(seconds, maxlen=self._seconds.maxlen)


def _told(seconds: float) -> str:
    """Return a duration in words of at most two units.

    >>> _told(59.6), _told(3661)
    ('1 min 0 s', '1 h 1 min')
    """
    total = round(seconds)
    hours, minutes = divmod(total // 60, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {total % 60} s" if minutes else f"{total} s"
