"""The Adadelta optimizer."""

from collections.abc import Sequence

from minispore.engine.array import Array, DeviceNamespace
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim.optimizer import LearningRate, Optimizer, update_average
from minispore.ops.parameter import ParameterTuple
from minispore.utils.checks import check_number, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Gradient descent whose steps adapt to the sizes of gradients and of earlier steps.

    With `s` and `d` the exponential moving averages of the squared gradient and the squared step,
    the step is `√(d + epsilon) / √(s + epsilon) * g`, and `w -= lr * step` (Zeiler, 2012).

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        rho: The decay rate of the moving averages, a float in [0, 1].
        epsilon: A float of at least 0 that keeps the roots above 0.
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
        >>> optimizer = nn.Adadelta([weight], epsilon=0.5)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> [round(x, 4) for x in weight.tolist()]
        [0.0871, 2.9129]

    Source: MindSpore's `mindspore.nn.Adadelta`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho: float = check_type(rho, float, "rho")
        check_number(rho, "rho", low=0.0, high=1.0)
        self.epsilon: float = check_type(epsilon, float, "epsilon")
        check_number(epsilon, "epsilon", low=0.0)
        self.accum: ParameterTuple = self._new_state("accum")
        self.accum_update: ParameterTuple = self._new_state("accum_update")

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, s, d = arrays

        def root(average: Array) -> Array:
            return xp.sqrt(xp.add(average, self.epsilon, out=scratch), out=scratch)

        update_average(xp, s, xp.square(g, out=scratch), self.rho, scratch)
        xp.divide(g, root(s), out=step)
        step *= root(d)
        update_average(xp, d, xp.square(step, out=scratch), self.rho, scratch)
        step *= rate
        w -= step
