"""Mixed precision, and scalers of the loss for training loops of one's own."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from minispore.common.dtype import float32, int32
from minispore.nn.optim._rates import host_parameter, scalar_value
from minispore.nn.wrap.cell_wrapper import in_float32
from minispore.nn.wrap.loss_scale import all_finite, check_loss_scale, next_loss_scale
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.train.amp import (
    auto_mixed_precision,
    build_train_network,
    custom_mixed_precision,
    get_black_list,
    get_white_list,
)
from minispore.train.loss_scale_manager import (
    DynamicLossScaleManager,
    FixedLossScaleManager,
    LossScaleManager,
)
from minispore.utils.checks import as_items, check_int

__all__ = [
    "DynamicLossScaleManager",
    "DynamicLossScaler",
    "FixedLossScaleManager",
    "LossScaleManager",
    "LossScaler",
    "StaticLossScaler",
    "all_finite",
    "auto_mixed_precision",
    "build_train_network",
    "custom_mixed_precision",
    "get_black_list",
    "get_white_list",
]

Tensors = TypeVar("Tensors", bound=Tensor | Sequence[Tensor])


class LossScaler(ABC):
    """Base class of loss scalers.

    Args:
        scale_value: The loss scale, a number of at least 1.

    Attributes:
        scale_value: The loss scale, a Parameter.

    Raises:
        TypeError: `scale_value` is not a number.
        ValueError: It is below 1.

    Source: MindSpore's `mindspore.amp.LossScaler`.
    """

    def __init__(self, scale_value: float) -> None:
        value = check_loss_scale(scale_value, "scale_value")
        self.scale_value: Parameter = host_parameter(value, float32, "scale_value")

    def scale(self, inputs: Tensors) -> Tensors:
        """Return a loss, or several, times the loss scale."""
        factor = scalar_value(self.scale_value)
        return _mapped(lambda x: x * factor, inputs)

    def unscale(self, inputs: Tensors) -> Tensors:
        """Return gradients divided by the loss scale."""
        factor = scalar_value(self.scale_value)
        return _mapped(lambda x: x / factor, inputs)

    @abstractmethod
    def adjust(self, grads_finite: Tensor) -> bool:
        """Adjust the loss scale after a step, and return whether it can change.

        Args:
            grads_finite: Whether all gradients are finite; see `all_finite`.
        """


class StaticLossScaler(LossScaler):
    """A loss scale that does not change.

    Args:
        scale_value: The loss scale, a number of at least 1.

    Examples:
        >>> from minispore import Tensor, amp
        >>> scaler = amp.StaticLossScaler(8)
        >>> scaler.scale(Tensor(2.0)).item(), scaler.unscale(Tensor(16.0)).item()
        (16.0, 2.0)

    Source: MindSpore's `mindspore.amp.StaticLossScaler`.
    """

    def adjust(self, grads_finite: Tensor) -> bool:
        """Return False: the loss scale does not change."""
        return False


class DynamicLossScaler(LossScaler):
    """A loss scale that is divided after an overflow, and multiplied after a number of good steps.

    Args:
        scale_value: The loss scale to begin with, a number of at least 1.
        scale_factor: The divisor and factor, an int of at least 1.
        scale_window: The number of consecutive steps without overflow after which it grows.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> from minispore import Tensor, amp
        >>> scaler = amp.DynamicLossScaler(scale_value=16, scale_factor=2, scale_window=1)
        >>> for finite in (False, False, True):
        ...     adjusted = scaler.adjust(Tensor(finite))
        ...     print(scaler.scale_value.item())
        8.0
        4.0
        8.0

    Source: MindSpore's `mindspore.amp.DynamicLossScaler`.
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__(scale_value)
        self.scale_factor: int = check_int(scale_factor, "scale_factor", low=1)
        self.scale_window: int = check_int(scale_window, "scale_window", low=1)
        self.counter: Parameter = host_parameter(0, int32, "counter")

    def adjust(self, grads_finite: Tensor) -> bool:
        """Adjust the loss scale after a step, and return True.

        Args:
            grads_finite: Whether all gradients are finite; see `all_finite`.
        """
        scale, good_steps = next_loss_scale(
            scalar_value(self.scale_value),
            self.scale_factor,
            self.scale_window,
            int(scalar_value(self.counter)),
            overflow=not grads_finite,
        )
        self.scale_value.set_data(scale)
        self.counter.set_data(good_steps)
        return True


def _mapped(function: Callable[[Tensor], Tensor], inputs: Tensors) -> Tensors:
    items = as_items(inputs)
    if items is None:
        return cast("Tensors", in_float32(function, cast("Tensor", inputs)))
    return cast("Tensors", tuple(in_float32(function, cast("Tensor", item)) for item in items))
