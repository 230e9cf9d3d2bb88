"""The RMSProp optimizer."""

from collections.abc import Sequence

from minispore.engine.array import Array, DeviceNamespace
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim.optimizer import LearningRate, Optimizer, update_average
from minispore.ops.parameter import ParameterTuple
from minispore.utils.checks import check_bool, check_number, check_positive, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["RMSProp"]


class RMSProp(Optimizer):
    """Gradient descent with steps divided by the root mean square of the gradients (Hinton, 2012).

    With `s` the exponential moving average of the squared gradient, which begins with 1,
    `m = momentum * m + lr * g / √(s + epsilon)` and `w -= m`. If `centered`, the square of the
    moving average of the gradient is subtracted from `s`, which is then the variance.

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        decay: The decay rate of the moving averages, a float of at least 0.
        momentum: The factor of `m`, a float of at least 0.
        epsilon: A float above 0 that keeps the denominator above 0.
        use_locking: Has no effect: updates are never concurrent.
        centered: Whether to divide by the standard deviation.
        loss_scale: The factor of the loss, by which the gradients are divided.
        weight_decay: The factor by which weights are added to their gradients: a number of at least
            0, or a cell that computes it from the step.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        >>> optimizer = nn.RMSProp([weight], learning_rate=0.5)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> [round(x, 4) for x in weight.tolist()]
        [0.5, 2.5]

    Source: MindSpore's `mindspore.nn.RMSProp`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_bool(use_locking, "use_locking")
        for name, value in (("decay", decay), ("momentum", momentum), ("epsilon", epsilon)):
            check_type(value, float, name)
            check_number(value, name, low=0.0)
        check_positive(epsilon, "epsilon")
        self.decay = decay
        self.momentum = momentum
        self.epsilon = epsilon
        self.centered: bool = check_type(centered, bool, "centered")
        self.mg: ParameterTuple = self._new_state("mean_grad") if centered else ParameterTuple(())
        self.ms: ParameterTuple = self._new_state("mean_square", 1.0)
        self.moment: ParameterTuple = self._new_state("moment")

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, *g_mean, s, m = arrays
        update_average(xp, s, xp.square(g, out=scratch), self.decay, scratch)
        variance = s
        for mean in g_mean:
            update_average(xp, mean, g, self.decay, scratch)
            variance = xp.subtract(s, xp.square(mean, out=scratch), out=scratch)
        root = xp.sqrt(xp.add(variance, self.epsilon, out=scratch), out=scratch)
        xp.multiply(g, rate, out=step)
        step /= root
        m *= self.momentum
        m += step
        w -= m
