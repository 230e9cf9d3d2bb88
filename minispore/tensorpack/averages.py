"""Moving averages of a step's scalars, and the numbers that a network hands out."""

import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence

from minispore._checks import check_int, check_number
from minispore.common import Tensor
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.arrays import OfArrays
from minispore.tensorpack.channel import as_float
from minispore.tensorpack.trainer import RunValues
from minispore.train.callback import RunContext
from minispore.train.callback._deferred import Deferred, is_far
from minispore.train.callback._states import entries, numbers
from minispore.train.summary._image import as_bytes


class _OfMeans(OfArrays):
    """Base class of what takes the means of some arrays of each step.

    Those on a device are looked at together, by `_settle`, before the means are needed.
    """

    def __init__(self, names: str | Sequence[str]) -> None:
        super().__init__(names)
        self._unseen: Deferred[int] = Deferred()

    def _before_run(self, run_context: RunContext) -> Sequence[str]:
        return ()

    def _before_train(self) -> None:
        self._unseen.clear()

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        for i, name in enumerate(self._names):
            value = self.trainer.value(name)
            if not isinstance(value, Tensor):
                self._take(i, float(value.mean()))
            elif is_far(value):
                self._unseen.add(i, value)
            else:
                self._take(i, float(value.asnumpy().mean()))
        if self._unseen.full:
            self._settle()

    def _settle(self) -> None:
        for i, array in self._unseen.fetch():
            self._take(i, float(array.mean()))

    def _take(self, i: int, mean: float) -> None:
        """Take the mean of a step's array number `i`."""
        raise NotImplementedError


class MovingAverageSummary(_OfMeans):
    """Keep an average of scalars that forgets, and put it in as `{name}/EMA` after each epoch.

    The average is that of all values so far, each weighing `decay` times as much as the next.

    Source: tensorpack.callbacks.MovingAverageSummary, with `add_moving_summary`.

    Args:
        names: The arrays of a step of which it is; see `Trainer.array`.
        decay: Between 0 and 1.
    """

    def __init__(self, names: str | Sequence[str] = ("loss",), decay: float = 0.95) -> None:
        super().__init__(names)
        self._decay = check_number(decay, "decay", "MovingAverageSummary", low=0, high=1)
        # Weighted sums and sums of weights.
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    def produces(self) -> Collection[str]:
        """Return the averages' names."""
        return [f"{name}/EMA" for name in self._names]

    def _before_train(self) -> None:
        super()._before_train()
        self._sums, self._weights = {}, {}

    def _take(self, i: int, mean: float) -> None:
        name = self._names[i]
        self._sums[name] = self._decay * self._sums.get(name, 0.0) + mean
        self._weights[name] = self._decay * self._weights.get(name, 0.0) + 1

    def _trigger(self) -> None:
        self._settle()
        for name, total in self._sums.items():
            self.trainer.monitors.put_scalar(f"{name}/EMA", total / self._weights[name])

    def state_dict(self) -> dict[str, object]:
        """Return the averages."""
        self._settle()
        return {"sums": self._sums, "weights": self._weights}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with them.

        Raises:
            ValueError: It is no such state.
        """
        sums = entries(state, "sums", float, "MovingAverageSummary")
        self._weights = entries(state, "weights", float, "MovingAverageSummary")
        self._sums = sums


class SimpleMovingAverage(_OfMeans):
    """Put the mean of a scalar's last values in as `{name}/SMA`, once in so many steps.

    Source: tensorpack.callbacks.SimpleMovingAverage.

    Args:
        tensors: The arrays of a step of which it is; see `Trainer.array`.
        window_size: How many values, and how many steps from one time to the next.
    """

    def __init__(self, tensors: str | Sequence[str], window_size: int) -> None:
        super().__init__(tensors)
        self._window = check_int(window_size, "window_size", "SimpleMovingAverage", low=1)
        self._values: list[deque[float]] = [deque(maxlen=window_size) for _ in self._names]

    def produces(self) -> Collection[str]:
        """Return the means' names."""
        return [f"{name}/SMA" for name in self._names]

    def _before_train(self) -> None:
        super()._before_train()
        for values in self._values:
            values.clear()

    def _take(self, i: int, mean: float) -> None:
        self._values[i].append(mean)

    def _trigger_step(self) -> None:
        if self.global_step % self._window == 0:
            self._settle()
            for name, values in zip(self._names, self._values, strict=True):
                self.trainer.monitors.put_scalar(f"{name}/SMA", sum(values) / len(values))

    def state_dict(self) -> dict[str, object]:
        """Return the last values."""
        self._settle()
        return {name: list(v) for name, v in zip(self._names, self._values, strict=True)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with them.

        Raises:
            ValueError: It is no such state.
        """
        lists = [numbers(state, name, float, "SimpleMovingAverage") for name in self._names]
        self._values = [deque(values, maxlen=self._window) for values in lists]


class MergeAllSummaries(Callback):
    """Put in what `ops`' summaries hand out in the network, in each epoch's last step.

    Source: tensorpack.callbacks.MergeAllSummaries.

    Args:
        period: In each step that is a multiple of it as well, and then loss and learning rate, too;
            0 for the last only.
        run_alone: Accepted and without effect.
        key: A regular expression: only those in whose names it is found.
        names: The names of the scalars among them that other callbacks read.
    """

    hears = True
    chief_only = False

    def __init__(
        self,
        period: int = 0,
        run_alone: bool = False,
        key: str | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self._period = check_int(period, "period", "MergeAllSummaries", low=0)
        self._key = re.compile(key or "")
        self._names = tuple(names)

    def produces(self) -> Collection[str]:
        """Return what it was told."""
        return self._names

    def _trigger_step(self) -> None:
        if self.trainer.is_last_step:
            self._merge()
        elif self._period and self.global_step % self._period == 0:
            self.trainer.put_loop()
            self._merge()

    def _merge(self) -> None:
        monitors = self.trainer.monitors
        for (kind, name), array in self.trainer.heard.items():
            if not self._key.search(name):
                continue
            if kind == "scalar" and as_float(array) is not None:
                monitors.put_scalar(name, array)
            elif kind == "image":
                monitors.put_image(name, as_bytes(array).transpose(0, 2, 3, 1))
            else:
                monitors.put_histogram(name, array)
