"""Training steps with a scaled loss, for gradients in float16.

Numbers below 6e-8 are 0 in float16, and numbers above 65504 infinite. The loss is multiplied by a
*loss scale*, so that small gradients do not vanish, and the gradients are divided by it in float32.
If a gradient has overflowed, the step is not made.
"""

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from minispore import ops
from minispore.common.dtype import float32, int32
from minispore.nn.cell import Cell
from minispore.nn.optim._rates import host_parameter, scalar_value
from minispore.nn.optim.optimizer import Optimizer
from minispore.nn.wrap.cell_wrapper import TrainOneStepCell, in_float32
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_int, check_number, check_type, value_error
from minispore.utils.warn import warn_at_caller

__all__ = [
    "DynamicLossScaleUpdateCell",
    "FixedLossScaleUpdateCell",
    "TrainOneStepWithLossScaleCell",
    "all_finite",
]

# Loss scales are stored in float32.
_LARGEST: Final = float(np.finfo(np.float32).max)


def all_finite(inputs: Sequence[Tensor]) -> Tensor:
    """Return whether no tensor has an infinite element or NaN, as a tensor of one bool.

    Args:
        inputs: Tensors, such as gradients.

    Returns:
        A bool tensor of shape ().

    Raises:
        TypeError: `inputs` is not a tuple or list.

    Examples:
        >>> from minispore import Tensor, amp
        >>> amp.all_finite((Tensor([1.0]), Tensor([float("inf")]))).item()
        False

    Source: MindSpore's `mindspore.amp.all_finite`.
    """
    check_type(inputs, (tuple, list), "inputs")
    return Tensor(all(bool(ops.isfinite(tensor).all()) for tensor in inputs))


def next_loss_scale(
    scale: float, factor: float, window: int, good_steps: int, *, overflow: bool
) -> tuple[float, int]:
    """Return the loss scale of the next step, and the number of good steps since it changed.

    Args:
        scale: The loss scale.
        factor: By which it is divided after an overflow, and multiplied after `window` good steps.
        window: The number of steps without overflow after which the scale grows, unless it would
            not be finite in float32.
        good_steps: The number of steps without overflow since the scale has changed.
        overflow: Whether a gradient of this step has overflowed.
    """
    if overflow:
        return max(scale / factor, 1.0), 0
    if good_steps + 1 < window:
        return scale, good_steps + 1
    return scale * factor if scale * factor <= _LARGEST else scale, 0


def check_loss_scale(value: object, name: str) -> float:
    """Check that `value` is a number of at least 1 that is finite in float32, and return it."""
    scale = check_number(value, name, low=1)
    if scale > _LARGEST:
        raise value_error(value, name, "be finite in float32")
    return scale


class DynamicLossScaleUpdateCell(Cell):
    """Adjust the loss scale: divide it after an overflow, multiply it after a number of good steps.

    Args:
        loss_scale_value: The loss scale to begin with, a number of at least 1.
        scale_factor: The divisor and factor, a number of at least 1.
        scale_window: The number of consecutive steps without overflow after which it grows.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> from minispore import Parameter, Tensor, nn
        >>> update = nn.DynamicLossScaleUpdateCell(16, scale_factor=2, scale_window=2)
        >>> scale = Parameter(Tensor([16.0]))
        >>> for overflow in (True, False, False):
        ...     overflowed = update(scale, Tensor(overflow))
        ...     print(scale.tolist())
        [8.0]
        [8.0]
        [16.0]

    Source: MindSpore's `mindspore.nn.DynamicLossScaleUpdateCell`.
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__()
        check_loss_scale(loss_scale_value, "loss_scale_value")
        self.loss_scale_value = loss_scale_value
        self.scale_factor: float = check_number(scale_factor, "scale_factor", low=1)
        self.scale_window: int = check_int(scale_window, "scale_window", low=1)
        self.good_steps: Parameter = host_parameter(0, int32, "good_steps")

    def get_loss_scale(self) -> float:
        """Return the loss scale to begin with."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        """Write the next loss scale into `loss_scale`, and return `overflow`."""
        scale, good_steps = next_loss_scale(
            scalar_value(loss_scale),
            self.scale_factor,
            self.scale_window,
            int(scalar_value(self.good_steps)),
            overflow=bool(overflow),
        )
        loss_scale.set_data(ops.full_like(loss_scale, scale))
        self.good_steps.set_data(good_steps)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """Keep the loss scale; a step with an overflow is still not made.

    Args:
        loss_scale_value: The loss scale, a number of at least 1.

    Raises:
        TypeError: `loss_scale_value` is not a number.
        ValueError: It is below 1.

    Examples:
        >>> from minispore import nn
        >>> nn.FixedLossScaleUpdateCell(128).get_loss_scale()
        128

    Source: MindSpore's `mindspore.nn.FixedLossScaleUpdateCell`.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        check_loss_scale(loss_scale_value, "loss_scale_value")
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """Return the loss scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        """Return `overflow`."""
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One training step with a scaled loss, which is not made if a gradient has overflowed.

    Args:
        network: A cell that computes the loss from the inputs, such as a `WithLossCell`.
        optimizer: The optimizer of the network's parameters.
        scale_sense: The loss scale, a Tensor of one number; or a cell that adjusts it, such as a
            `DynamicLossScaleUpdateCell`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: The Tensor `scale_sense` is not of shape () or (1,), or is not a finite number
            of at least 1.

    Examples:
        >>> from minispore import Tensor, nn
        >>> net = nn.Dense(1, 1, "ones", "zeros")
        >>> step = nn.TrainOneStepWithLossScaleCell(
        ...     nn.WithLossCell(net, nn.MSELoss()),
        ...     nn.SGD(net.trainable_params(), 0.25),
        ...     nn.DynamicLossScaleUpdateCell(1024, scale_factor=2, scale_window=1000),
        ... )
        >>> loss, overflow, scale = step(Tensor([[1.0]]), Tensor([[2.0]]))
        >>> loss.item(), overflow.item(), scale.tolist()
        (1.0, False, [1024.0])
        >>> net.weight.tolist()
        [[1.5]]

    Source: MindSpore's `mindspore.nn.TrainOneStepWithLossScaleCell`.
    """

    # Whether the second output is that the gradients have overflowed.
    reports_overflow = True

    def __init__(self, network: Cell, optimizer: Optimizer, scale_sense: Cell | Tensor) -> None:
        super().__init__(network, optimizer)
        check_type(scale_sense, (Cell, Tensor), "scale_sense")
        if optimizer.loss_scale != 1:
            warn_at_caller(
                f"For '{caller()}', the step divides the gradients by the loss scale, and then the "
                f"optimizer's 'loss_scale' divides them by {optimizer.loss_scale:g}: leave it 1."
            )
        self.loss_scaling_manager: Cell | None = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            get_loss_scale = cast("FixedLossScaleUpdateCell", scale_sense).get_loss_scale
            values: object = [get_loss_scale()]
        else:
            values = _checked_scale(scale_sense).asnumpy()
        self.scale_sense: Parameter = host_parameter(values, float32, "scale_sense")

    def set_sense_scale(self, sens: Tensor) -> None:
        """Set the loss scale.

        Raises:
            TypeError: `sens` is not a Tensor.
            ValueError: It is not of shape () or (1,), or not a finite number of at least 1.
        """
        self.scale_sense.set_data(_checked_scale(sens))

    def construct(self, *inputs: Tensor) -> Tensor:
        """Make one training step, unless a gradient overflows.

        Returns:
            Despite the annotation, a tuple of the loss, whether a gradient has overflowed, and the
            loss scale of this step.
        """
        return super().construct(*inputs)

    def _step(self, *inputs: Tensor) -> Tensor:
        scale = self.scale_sense.value()
        factor = scalar_value(scale)
        with np.errstate(over="ignore", invalid="ignore"):
            loss, gradients = self._loss_and_gradients(inputs, factor)
        overflow = ops.logical_not(all_finite(gradients))
        if self.loss_scaling_manager is not None:
            self.loss_scaling_manager(self.scale_sense, overflow)
        if not overflow:
            unscaled = (in_float32(lambda g: g / factor, gradient) for gradient in gradients)
            self._update(tuple(unscaled), donates=True)
        return cast("Tensor", (loss, overflow, scale))


def _checked_scale(scale: object) -> Tensor:
    tensor = check_type(scale, Tensor, "scale_sense")
    if tensor.shape not in ((), (1,)):
        raise ValueError(
            f"For '{caller()}', the shape of 'scale_sense' must be () or (1,), "
            f"but got {tensor.shape}."
        )
    check_loss_scale(scalar_value(tensor), "scale_sense")
    return tensor
