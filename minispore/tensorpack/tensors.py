"""Callbacks that process, save, check or average arrays of a step."""

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minispore.common import Tensor
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.protocol import Array, RunValues, as_float, name_list
from minispore.train.callback import RunContext
from minispore.train.protocol import PendingDeviceValues, is_on_device
from minispore.train.resume import StateField, StatefulMixin
from minispore.train.summary.image import as_bytes, png
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import check_arguments, check_int, check_number


@dataclass(eq=False)
class TensorCallback(Callback):
    """Base class of callbacks that receive some arrays in `_after_run`.

    Args:
        names: The arrays' names, or one name; see `Trainer.array`.
    """

    names: str | Sequence[str]
    wants_summaries = True

    def _before_run(self, run_context: RunContext) -> Sequence[str]:
        return name_list(self.names)


@check_arguments
@dataclass(eq=False)
class ProcessTensors(TensorCallback):
    """Call a function with arrays of each step; see `Trainer.array` for their names.

    Args:
        names: The arrays' names, or one name.
        fn: The function, which receives each array as an argument.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(ProcessTensors(["x", "loss"], lambda x, loss: print(x.shape, loss)), epochs=1)
        (2, 3) 1.09...
        (2, 3) 1.07...
        (2, 3) 1.00...

    Source: tensorpack's `callbacks.ProcessTensors`.
    """

    fn: Callable[..., object]

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self.fn(*run_values.results)


@check_arguments
class DumpTensors(TensorCallback):
    """Save arrays of each step as `DumpTensor-{global_step}.npz` in the logger's folder.

    In the file each array has its name, with "-" in place of "/". To save some steps only, wrap it
    in `EnableCallbackIf` or `Every`.

    Args:
        names: The arrays' names, or one name.

    Examples:
        >>> from minispore.tensorpack import Every
        >>> from minispore.tensorpack.example_training import train
        >>> train(Every(steps=3)(DumpTensors(["loss", "weight"])))
        ['DumpTensor-3.npz', 'DumpTensor-6.npz']

    Source: tensorpack's `callbacks.DumpTensors`.
    """

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(None, self)

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        names = [name.replace("/", "-") for name in name_list(self.names)]
        named = dict(zip(names, run_values.results, strict=True))
        with atomic_write(os.path.join(self._folder, f"DumpTensor-{self.global_step}.npz")) as file:
            np.savez(file, allow_pickle=False, **named)


DumpTensor = DumpTensors


@check_arguments
@dataclass(eq=False)
class DumpTensorAsImage(Callback):
    """Save an array as PNG files in the logger's folder, and log it as images, when triggered.

    The files are `{prefix}-ep{epoch_num:03d}.png`; of several images, all but the first have their
    index at the end, as in `{prefix}-ep001-1.png`.

    Args:
        tensor_name: The array's name; see `Trainer.array`.
        prefix: The beginning of the files' names; by default the array's name, with "-" in place
            of "/".
        map_func: A function of the array that returns an image of shape (h, w) or (h, w, c), with
            1 or 3 channels in the order RGB, or several of these, stacked or in a list.
        scale: A factor of the pixels, which are then clipped to 0 … 255; NaN is black.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(DumpTensorAsImage("weight"))
        ['weight-ep001.png', 'weight-ep002.png']

    Source: tensorpack's `callbacks.DumpTensorAsImage`.
    """

    tensor_name: str
    prefix: str | None = None
    map_func: Callable[[Array], Array | list[Array]] | None = None
    scale: float = 255
    wants_summaries = True

    def _setup_graph(self) -> None:
        self._folder = logger.folder_for(None, self)

    def _trigger(self) -> None:
        array = self.trainer.array(self.tensor_name)
        images = array if self.map_func is None else self.map_func(array)
        if not isinstance(images, list):
            images = list(images) if images.ndim == 4 else [images]
        prefix = self.tensor_name.replace("/", "-") if self.prefix is None else self.prefix
        for i, image in enumerate(images):
            numbers = np.nan_to_num(image.astype(np.float64) * self.scale)
            pixels = np.clip(numbers, 0, 255).astype(np.uint8)
            number = f"-{i}" if i else ""
            self.trainer.monitors.put_image(prefix + number, pixels)
            name = f"{prefix}-ep{self.epoch_num:03d}{number}.png"
            with atomic_write(os.path.join(self._folder, name)) as file:
                file.write(png(pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels))


DumpParamAsImage = DumpTensorAsImage


@check_arguments
@dataclass(eq=False)
class TensorPrinter(TensorCallback):
    """Log arrays of each step.

    Args:
        names: The arrays' names, or one name; see `Trainer.array`.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(TensorPrinter(["x", "loss"]), epochs=1)
        x: [[1. 0. 0.]
         [0. 1. 0.]]
        loss: 1.09...
        x: ...
        loss: 1.00...

    Source: tensorpack's `callbacks.TensorPrinter`.
    """

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        for name, array in zip(name_list(self.names), run_values.results, strict=True):
            logger.info(f"{name}: {array}")


@check_arguments
@dataclass(eq=False)
class CheckNumerics(Callback):
    """Raise an error if a trainable parameter contains NaN or infinity.

    Args:
        run_as_trigger: Whether to check when triggered.
        run_step: Whether to check after each step. It always checks before training.

    Raises:
        FloatingPointError: In training, if the check fails; the message names the parameter.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack.example_training import train
        >>> def spoil(callback):
        ...     weight = callback.trainer.params.network.weight
        ...     weight.set_data(weight * float("nan"))
        >>> train(CallbackFactory(trigger=spoil), CheckNumerics())
        Traceback (most recent call last):
        FloatingPointError: After 3 steps, the parameter 'weight' has 9 NaN and 0 infinite of 9 ...

    Source: tensorpack's `callbacks.CheckNumerics`.
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


class _MeanCallback(StatefulMixin, Callback):
    """Base class of callbacks that average some arrays of each step.

    Tensors on a device are transferred together, by `_update_means`, before the means are needed.
    """

    suffix: ClassVar[str]
    wants_summaries = True

    def __init__(self, names: str | Sequence[str]) -> None:
        self._names = name_list(names)
        self._pending: PendingDeviceValues[str] = PendingDeviceValues()

    def produces(self) -> Collection[str]:
        """Return the names of the averages."""
        return [f"{name}/{self.suffix}" for name in self._names]

    def _before_train(self) -> None:
        self._pending.clear()

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        for name in self._names:
            value = self.trainer.value(name)
            if isinstance(value, Tensor) and is_on_device(value):
                self._pending.add(name, value)
            else:
                self._add(name, value.asnumpy() if isinstance(value, Tensor) else value)
        if self._pending.full:
            self._update_means()

    def _update_means(self) -> None:
        for name, array in self._pending.fetch():
            self._add(name, array)

    @abstractmethod
    def _add(self, name: str, array: Array) -> None:
        """Add the array of a step to the mean of `name`."""

    def _log_means(self, means: Mapping[str, float]) -> None:
        for name, mean in means.items():
            self.trainer.monitors.put_scalar(f"{name}/{self.suffix}", mean)

    def state_dict(self) -> dict[str, object]:
        """Return the state, with the values that were still on the device."""
        self._update_means()
        return super().state_dict()


@check_arguments
class MovingAverageSummary(_MeanCallback):
    """Log exponential moving averages of scalars as `{name}/EMA`, after each epoch.

    Each value has the weight `decay` relative to the next one. An array counts with its mean. The
    names take the place of tensorpack's `add_moving_summary`.

    Args:
        names: The arrays' names, or one name; see `Trainer.array`.
        decay: The decay, from 0 to 1.
        collection: Has no effect: there are no collections of operations.
        train_op: Has no effect: the averages are updated in each step.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(MovingAverageSummary(decay=0.5), ScalarPrinter(whitelist=["EMA"]), epochs=1)
        loss/EMA: 1.03...

    Source: tensorpack's `callbacks.MovingAverageSummary`.
    """

    suffix = "EMA"
    _sums = StateField(dict[str, float])  # the weighted sums
    _weights = StateField(dict[str, float])  # the sums of the weights

    def __init__(
        self,
        names: str | Sequence[str] = ("loss",),
        decay: float = 0.95,
        collection: str | None = None,
        train_op: object = None,
    ) -> None:
        super().__init__(names)
        self._decay = check_number(decay, "decay", low=0, high=1)

    def _add(self, name: str, array: Array) -> None:
        self._sums[name] = self._decay * self._sums.get(name, 0.0) + float(array.mean())
        self._weights[name] = self._decay * self._weights.get(name, 0.0) + 1

    def _trigger(self) -> None:
        self._update_means()
        self._log_means({name: self._sums[name] / self._weights[name] for name in self._sums})


@check_arguments
class SimpleMovingAverage(_MeanCallback):
    """Log the mean of the last values of scalars as `{name}/SMA`, every `window_size` steps.

    Args:
        tensors: The arrays' names, or one name; see `Trainer.array`.
        window_size: The number of values, and of steps from one mean to the next.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(SimpleMovingAverage("loss", 6), ScalarPrinter(whitelist=["SMA"]))
        loss/SMA: 0.91...

    Source: tensorpack's `callbacks.SimpleMovingAverage`.
    """

    suffix = "SMA"
    _values = StateField(dict[str, list[float]])

    def __init__(self, tensors: str | Sequence[str], window_size: int) -> None:
        super().__init__(tensors)
        self._window = check_int(window_size, "window_size", low=1)

    def _add(self, name: str, array: Array) -> None:
        values = [*self._values.get(name, ()), float(array.mean())]
        self._values[name] = values[-self._window :]

    def _trigger_step(self) -> None:
        if self.global_step % self._window == 0:
            self._update_means()
            self._log_means({name: sum(xs) / len(xs) for name, xs in self._values.items()})


@check_arguments
@dataclass(eq=False)
class MergeAllSummaries(Callback):
    """Log what `ops`' summaries emit in the network, in the last step of each epoch.

    Args:
        period: Also log in each step that is a multiple of it, together with loss and learning
            rate; 0 for the last steps only.
        run_alone: Has no effect.
        key: A regular expression; only summaries whose names match are logged.
        names: The names of the scalar summaries that other callbacks read.

    Examples:
        >>> from minispore.tensorpack import ScalarPrinter
        >>> from minispore.tensorpack.example_training import train
        >>> train(MergeAllSummaries(2), ScalarPrinter(True, whitelist=["rate"]), epochs=1)
        learning_rate: 0.5
        learning_rate: 0.5

    Source: tensorpack's `callbacks.MergeAllSummaries`.
    """

    period: int = 0
    run_alone: bool = False
    key: str | None = None
    names: Sequence[str] = ()
    wants_summaries = True
    chief_only = False

    def __post_init__(self) -> None:
        check_int(self.period, "period", low=0)

    def produces(self) -> Collection[str]:
        """Return the argument `names`."""
        return self.names

    def _trigger_step(self) -> None:
        if self.trainer.is_last_step:
            self._merge()
        elif self.period and self.global_step % self.period == 0:
            self.trainer.log_loop_metrics()
            self._merge()

    def _merge(self) -> None:
        monitors = self.trainer.monitors
        for (kind, name), array in self.trainer.summaries.items():
            if not re.search(self.key or "", name):
                continue
            if kind == "scalar" and as_float(array) is not None:
                monitors.put_scalar(name, array)
            elif kind == "image":
                monitors.put_image(name, as_bytes(array).transpose(0, 2, 3, 1))
            else:
                monitors.put_histogram(name, array)
