"""The Momentum optimiser."""

from minispore._array import Array, DeviceNamespace
from minispore._checks import check_number, check_type
from minispore.common.dtype import float32
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.nn.cell import Cell
from minispore.nn.optim._groups import Parameters
from minispore.nn.optim.optimizer import LearningRate, Optimizer, for_host, number


class Momentum(Optimizer):
    """Gradient descent along `v = momentum * v + g`: `w -= lr * v`.

    With `use_nesterov` it is `w -= lr * (g + momentum * v)` (Sutskever et al., 2013).

    Source: MindSpore's `mindspore.nn.Momentum`.

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor with one for each step; or a schedule.
        momentum: The factor of `v`, a float from 0.
        weight_decay: The factor of the weights that is added to their gradients: a number from 0,
            or a cell that computes it from the step.
        loss_scale: What the loss was multiplied by, and the gradients are divided by.
        use_nesterov: Whether to look ahead.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.
    """

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
        check_type(momentum, float, "momentum", "Momentum")
        check_number(momentum, "momentum", "Momentum", low=0.0)
        check_type(use_nesterov, bool, "use_nesterov", "Momentum")
        self.use_nesterov = use_nesterov
        self.momentum: Parameter = for_host(momentum, float32, "momentum")
        self._given["momentum"] = momentum
        self.moments: ParameterTuple = self._state("moments")

    # Of the step that is being done.
    _momentum: float = 0.0

    def _begin_step(self) -> None:
        self._momentum = number(self.momentum)

    def _update(
        self,
        xp: DeviceNamespace[Array],
        i: int,
        data: Array,
        gradient: Array,
        rate: float,
        decay: float,
    ) -> None:
        for first, second, w, g, v in self._parts(data, gradient, self.moments[i]._data):
            step = self._effective(xp, w, g, decay, first, second)
            xp.multiply(v, self._momentum, out=v)
            xp.add(v, step, out=v)
            if self.use_nesterov:
                ahead = xp.multiply(v, self._momentum, out=second)
                step = xp.add(step, ahead, out=first)
            else:
                step = v
            xp.subtract(w, xp.multiply(step, rate, out=first), out=w)
