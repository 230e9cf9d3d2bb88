"""The AdaMax optimizer."""

from collections.abc import Sequence

import numpy as np

from minispore.engine.array import Array, DeviceNamespace
from minispore.engine.dtypes import float32
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim._rates import host_parameter
from minispore.nn.optim.adam import check_betas
from minispore.nn.optim.optimizer import LearningRate, Optimizer, update_average
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.utils.unsupported import hint_keywords

__all__ = ["AdaMax"]


class AdaMax(Optimizer):
    """Adam with the maximum of past gradients in place of their mean square.

    With `m` the exponential moving average of the gradient and `u = max(β₂ * u, |g|)`,
    `w -= lr / (1 - β₁ᵗ) * m / (u + eps)` (Kingma and Ba, 2015).

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        beta1: The decay rate of `m`, a float in (0, 1).
        beta2: The decay rate of `u`, a float in (0, 1).
        eps: A float above 0 that keeps the denominator above 0.
        weight_decay: The factor by which weights are added to their gradients: a number of at least
            0, or a cell that computes it from the step.
        loss_scale: The factor of the loss, by which the gradients are divided.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        >>> optimizer = nn.AdaMax([weight], learning_rate=0.5)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> [round(x, 4) for x in weight.tolist()]
        [0.5, 2.5]

    Source: MindSpore's `mindspore.nn.AdaMax`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_betas(beta1, beta2, eps)
        # Rounded to float32, like its power, so that the bias correction is exact.
        self.beta1: float = float(np.float32(beta1))
        self.beta2 = beta2
        self.eps = eps
        # β₁ᵗ, which is part of a checkpoint.
        self.beta1_power: Parameter = host_parameter([1.0], float32, "beta1_power")
        self.moment1: ParameterTuple = self._new_state("moment1")
        self.moment2: ParameterTuple = self._new_state("moment2")

    def _powers(self) -> Sequence[tuple[Parameter, float]]:
        return ((self.beta1_power, self.beta1),)

    def _rate_factor(self, powers: Sequence[float]) -> float:
        (beta1_power,) = powers
        return 1 / (1 - beta1_power)

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, m, u = arrays
        update_average(xp, m, g, self.beta1, scratch)
        u *= self.beta2
        xp.maximum(u, g, out=u)
        xp.maximum(u, xp.multiply(g, -1.0, out=step), out=u)
        xp.multiply(m, rate, out=step)
        step /= xp.add(u, self.eps, out=scratch)
        w -= step
