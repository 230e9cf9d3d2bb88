"""Looking at the arrays of a step: checking, dumping, averaging, or anything else."""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minispore._atomic import replacing
from minispore._checks import check_int, check_number
from minispore.common import Tensor
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.channel import Array, as_float, name_list
from minispore.tensorpack.checked import checked
from minispore.tensorpack.protocol import RunValues
from minispore.tensorpack.states import Kept, Remembering
from minispore.train.callback import RunContext
from minispore.train.callback._deferred import Deferred, is_far
from minispore.train.summary._image import as_bytes


@dataclass(eq=False)
class OfArrays(Callback):
    """Base class of what gets some arrays after each step.

    Args:
        names: The arrays' names, or one name; see `Trainer.array`.
    """

    names: str | Sequence[str]
    hears = True

    def _before_run(self, run_context: RunContext) -> Sequence[str]:
        return name_list(self.names)

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self._take(dict(zip(name_list(self.names), run_values.results, strict=True)))

    def _take(self, arrays: Mapping[str, Array]) -> None:
        """Take the arrays of a step, by name."""


@checked
@dataclass(eq=False)
class ProcessTensors(OfArrays):
    """Call a function with arrays of each step; see `Trainer.array` for their names.

    Source: tensorpack.callbacks.ProcessTensors.

    Args:
        names: The arrays' names, or one name.
        fn: Gets the arrays, one argument each.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(ProcessTensors(["x", "loss"], lambda x, loss: print(x.shape, loss)), epochs=1)
        (2, 3) 1.09...
        (2, 3) 1.07...
        (2, 3) 1.00...
    """

    fn: Callable[..., object]

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self.fn(*run_values.results)


@checked
class DumpTensors(OfArrays):
    """Save arrays of each step as `DumpTensor-{global_step}.npz` in the logger's folder.

    In the file they have their names, with "/" as "-". To save only now and then, put it into
    `EnableCallbackIf` or `Every`.

    Source: tensorpack.callbacks.DumpTensors.

    Args:
        names: The arrays' names, or one name.

    Examples:
        >>> from minispore.tensorpack import Every
        >>> from minispore.tensorpack._examples import train
        >>> train(Every(steps=3)(DumpTensors(["loss", "weight"])))
        ['DumpTensor-3.npz', 'DumpTensor-6.npz']
    """

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(None, self)

    def _take(self, arrays: Mapping[str, Array]) -> None:
        named = {name.replace("/", "-"): array for name, array in arrays.items()}
        with replacing(os.path.join(self._folder, f"DumpTensor-{self.global_step}.npz")) as file:
            np.savez(file, allow_pickle=False, **named)


@checked
@dataclass(eq=False)
class CheckNumerics(Callback):
    """End the training if a trainable parameter is NaN or infinite.

    Source: tensorpack.callbacks.CheckNumerics.

    Args:
        run_as_trigger: Whether to look when triggered,
        run_step: and after each step; before training it always does.

    Raises:
        FloatingPointError: In training, if one is; the message names it.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack._examples import train
        >>> def spoil(callback):
        ...     weight = callback.trainer.params.network.weight
        ...     weight.set_data(weight * float("nan"))
        >>> train(CallbackFactory(trigger=spoil), CheckNumerics())
        Traceback (most recent call last):
        FloatingPointError: After 3 steps, the parameter 'weight' has 9 NaN and 0 infinite of 9 ...
    """

    run_as_trigger: bool = True
    run_step: bool = False
    chief_only = False

    def _check(self) -> None:
        for parameter in self.trainer.params.train_network.trainable_params():
            array = parameter.asnumpy()
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise FloatingPointError(
                    f"After {self.global_step} steps, the parameter '{parameter.name}' has "
                    f"{int(np.isnan(array).sum())} NaN and {int(np.isinf(array).sum())} infinite "
                    f"of {array.size} elements."
                )

    def _before_train(self) -> None:
        self._check()

    def _trigger(self) -> None:
        if self.run_as_trigger:
            self._check()

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        if self.run_step:
            self._check()


class _Means(Remembering, OfArrays):
    """Base class of what takes the means of some arrays of each step.

    Those on a device are looked at together, by `_settle`, before the means are needed.
    """

    def __init__(self, names: str | Sequence[str]) -> None:
        super().__init__(names)
        self._unseen: Deferred[str] = Deferred()

    def _before_run(self, run_context: RunContext) -> Sequence[str]:
        return ()

    def _before_train(self) -> None:
        self._unseen.clear()

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        for name in name_list(self.names):
            value = self.trainer.value(name)
            if isinstance(value, Tensor) and is_far(value):
                self._unseen.add(name, value)
            else:
                array = value.asnumpy() if isinstance(value, Tensor) else value
                self._take({name: array})
        if self._unseen.full:
            self._settle()

    def _settle(self) -> None:
        for name, array in self._unseen.fetch():
            self._take({name: array})

    def state_dict(self) -> dict[str, object]:
        """Return the means, of all that there is."""
        self._settle()
        return super().state_dict()


@checked
class MovingAverageSummary(_Means):
    """Keep an average of scalars that forgets, and put it in as `{name}/EMA` after each epoch.

    The average is that of all values so far, each weighing `decay` times as much as the next.

    Source: tensorpack.callbacks.MovingAverageSummary, with `add_moving_summary`.

    Args:
        names: The arrays of a step of which it is; see `Trainer.array`.
        decay: Between 0 and 1.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> train(MovingAverageSummary(decay=0.5), ScalarPrinter(whitelist=["EMA"]), epochs=1)
        loss/EMA: 1.03...
    """

    _sums = Kept(dict[str, float])  # weighted, and the sums of weights
    _weights = Kept(dict[str, float])

    def __init__(self, names: str | Sequence[str] = ("loss",), decay: float = 0.95) -> None:
        super().__init__(names)
        self._decay = check_number(decay, "decay", "MovingAverageSummary", low=0, high=1)

    def produces(self) -> Collection[str]:
        """Return the averages' names."""
        return [f"{name}/EMA" for name in name_list(self.names)]

    def _take(self, arrays: Mapping[str, Array]) -> None:
        for name, array in arrays.items():
            self._sums[name] = self._decay * self._sums.get(name, 0.0) + float(array.mean())
            self._weights[name] = self._decay * self._weights.get(name, 0.0) + 1

    def _trigger(self) -> None:
        self._settle()
        for name, total in self._sums.items():
            self.trainer.monitors.put_scalar(f"{name}/EMA", total / self._weights[name])


@checked
class SimpleMovingAverage(_Means):
    """Put the mean of a scalar's last values in as `{name}/SMA`, once in so many steps.

    Source: tensorpack.callbacks.SimpleMovingAverage.

    Args:
        tensors: The arrays of a step of which it is; see `Trainer.array`.
        window_size: How many values, and how many steps from one time to the next.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> train(SimpleMovingAverage("loss", 6), ScalarPrinter(whitelist=["SMA"]))
        loss/SMA: 0.91...
    """

    _values = Kept(dict[str, list[float]])

    def __init__(self, tensors: str | Sequence[str], window_size: int) -> None:
        super().__init__(tensors)
        self._window = check_int(window_size, "window_size", "SimpleMovingAverage", low=1)

    def produces(self) -> Collection[str]:
        """Return the means' names."""
        return [f"{name}/SMA" for name in name_list(self.names)]

    def _take(self, arrays: Mapping[str, Array]) -> None:
        for name, array in arrays.items():
            values = [*self._values.get(name, ()), float(array.mean())]
            self._values[name] = values[-self._window :]

    def _trigger_step(self) -> None:
        if self.global_step % self._window == 0:
            self._settle()
            for name, values in self._values.items():
                self.trainer.monitors.put_scalar(f"{name}/SMA", sum(values) / len(values))


@checked
@dataclass(eq=False)
class MergeAllSummaries(Callback):
    """Put in what `ops`' summaries hand out in the network, in each epoch's last step.

    Source: tensorpack.callbacks.MergeAllSummaries.

    Args:
        period: In each step that is a multiple of it as well, and then loss and learning rate, too;
            0 for the last only.
        run_alone: Accepted and without effect.
        key: A regular expression: only those in whose names it is found.
        names: The names of the scalars among them that other callbacks read.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack._examples import train
        >>> train(MergeAllSummaries(2), ScalarPrinter(True, whitelist=["rate"]), epochs=1)
        learning_rate: 0.5
        learning_rate: 0.5
    """

    period: int = 0
    run_alone: bool = False
    key: str | None = None
    names: Sequence[str] = ()
    hears = True
    chief_only = False

    def __post_init__(self) -> None:
        check_int(self.period, "period", "MergeAllSummaries", low=0)

    def produces(self) -> Collection[str]:
        """Return what it was told."""
        return self.names

    def _trigger_step(self) -> None:
        if self.trainer.is_last_step:
            self._merge()
        elif self.period and self.global_step % self.period == 0:
            self.trainer.put_loop()
            self._merge()

    def _merge(self) -> None:
        monitors = self.trainer.monitors
        for (kind, name), array in self.trainer.heard.items():
            if not re.search(self.key or "", name):
                continue
            if kind == "scalar" and as_float(array) is not None:
                monitors.put_scalar(name, array)
            elif kind == "image":
                monitors.put_image(name, as_bytes(array).transpose(0, 2, 3, 1))
            else:
                monitors.put_histogram(name, array)
