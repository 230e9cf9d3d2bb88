"""Gradient descent with momentum."""

from collections.abc import Sequence

from minispore.engine.array import Array, DeviceNamespace
from minispore.engine.dtypes import float32
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim._rates import host_parameter
from minispore.nn.optim.optimizer import LearningRate, Optimizer
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.utils.checks import check_number, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["Momentum"]


class Momentum(Optimizer):
    """Gradient descent with momentum: `v = momentum * v + g`, `w -= lr * v`.

    With `use_nesterov` the update is `w -= lr * (g + momentum * v)` (Sutskever et al., 2013).

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        momentum: The factor of `v`, a float of at least 0.
        weight_decay: The factor by which weights are added to their gradients: a number of at least
            0, or a cell that computes it from the step.
        loss_scale: The factor of the loss, by which the gradients are divided.
        use_nesterov: Whether to use Nesterov momentum.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        >>> optimizer = nn.Momentum([weight], learning_rate=0.5, momentum=0.5)
        >>> for _ in range(2):
        ...     updated = optimizer((ms.Tensor([1.0, -1.0]),))
        >>> weight.tolist()
        [-0.25, 3.25]

    Source: MindSpore's `mindspore.nn.Momentum`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate,
        momentum: float,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_type(momentum, float, "momentum")
        check_number(momentum, "momentum", low=0.0)
        self.use_nesterov: bool = check_type(use_nesterov, bool, "use_nesterov")
        self.momentum: Parameter = host_parameter(momentum, float32, "momentum")
        self._initial_arguments["momentum"] = momentum
        self.moments: ParameterTuple = self._new_state("moments")

    def _momentum_parameter(self) -> Parameter:
        return self.momentum

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, v = arrays
        momentum = self._momentum
        v *= momentum
        v += g
        direction = v
        if self.use_nesterov:
            direction = xp.multiply(v, momentum, out=scratch)
            direction += g
        w -= xp.multiply(direction, rate, out=step)
