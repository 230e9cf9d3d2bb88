"""The Adam optimizer, and Adam with decoupled weight decay."""

from collections.abc import Sequence
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from minispore.engine.array import Array, DeviceNamespace
from minispore.engine.dtypes import float32
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim._rates import host_parameter
from minispore.nn.optim.optimizer import LearningRate, Optimizer, update_average
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.utils.checks import caller, check_bool, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["Adam", "AdamWeightDecay"]


class Adam(Optimizer):
    """Adaptive moment estimation (Kingma and Ba, 2015).

    With `m` and `v` the exponential moving averages of the gradient and of its square,
    `w -= lr * √(1 - β₂ᵗ) / (1 - β₁ᵗ) * m / (√v + eps)`.

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        beta1: The decay rate of `m`, a float in (0, 1).
        beta2: The decay rate of `v`, a float in (0, 1).
        eps: A float above 0 that keeps the denominator above 0. It is added to √v before the
            correction by β₂ᵗ: the paper's "epsilon hat".
        use_locking: Has no effect: updates are never concurrent.
        use_nesterov: Whether to use `β₁ * m + (1 - β₁) * g` in place of `m`.
        weight_decay: The factor by which weights are added to their gradients: a number of at least
            0, or a cell that computes it from the step.
        loss_scale: The factor of the loss, by which the gradients are divided.
        use_amsgrad: Whether to use the maximum of `v` so far in place of `v` (Reddi et al., 2018).
        use_lazy: Has no effect: it is for sparse gradients, and minispore's are dense.
        use_offload: Must be False.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `use_offload` is True.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        >>> optimizer = nn.Adam([weight], learning_rate=0.5)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> [round(x, 4) for x in weight.tolist()]
        [0.5, 2.5]

    Source: MindSpore's `mindspore.nn.Adam`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: float | Cell = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        use_lazy: bool = False,
        use_offload: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_betas(beta1, beta2, eps)
        check_bool(use_locking, "use_locking")
        check_bool(use_lazy, "use_lazy")
        check_bool(use_offload, "use_offload")
        if use_offload:
            raise ValueError("For 'Adam', 'use_offload' is not supported and must be False.")
        # Rounded to float32, like their powers, so that the bias correction is exact.
        self.beta1: float = float(np.float32(beta1))
        self.beta2: float = float(np.float32(beta2))
        self.eps = eps
        self.use_nesterov: bool = check_type(use_nesterov, bool, "use_nesterov")
        self.use_amsgrad: bool = check_type(use_amsgrad, bool, "use_amsgrad")
        # β₁ᵗ and β₂ᵗ, which are part of a checkpoint.
        self.beta1_power: Parameter = host_parameter(1.0, float32, "beta1_power")
        self.beta2_power: Parameter = host_parameter(1.0, float32, "beta2_power")
        self.moment1: ParameterTuple = self._new_state("moment1")
        self.moment2: ParameterTuple = self._new_state("moment2")
        self.vhat: ParameterTuple = self._new_state("vhat") if use_amsgrad else ParameterTuple(())

    def _powers(self) -> Sequence[tuple[Parameter, float]]:
        return (self.beta1_power, self.beta1), (self.beta2_power, self.beta2)

    def _rate_factor(self, powers: Sequence[float]) -> float:
        beta1_power, beta2_power = powers
        return sqrt(1 - beta2_power) / (1 - beta1_power)

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, m, v, *v_max = arrays
        update_average(xp, v, xp.square(g, out=scratch), self.beta2, scratch)
        m *= self.beta1
        m += xp.multiply(g, 1 - self.beta1, out=step)
        mean = m
        if self.use_nesterov:
            mean = step  # it contains (1 - β₁) * g
            mean += xp.multiply(m, self.beta1, out=scratch)
        for largest in v_max:
            v = xp.maximum(largest, v, out=largest)
        root = xp.sqrt(v, out=scratch)
        root += self.eps
        xp.multiply(mean, rate, out=step)
        step /= root
        w -= step


class AdamWeightDecay(Optimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), without bias correction.

    With `m` and `v` the exponential moving averages of the gradient and of its square,
    `w -= lr * (m / (√v + eps) + weight_decay * w)`.

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        beta1: The decay rate of `m`, a float in (0, 1).
        beta2: The decay rate of `v`, a float in (0, 1).
        eps: A float above 0 that keeps the denominator above 0.
        weight_decay: A number of at least 0, or a cell that computes it from the step.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        >>> optimizer = nn.AdamWeightDecay([weight], learning_rate=0.5, beta2=0.99)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> [round(x, 4) for x in weight.tolist()]
        [0.5, 2.5]

    Source: MindSpore's `mindspore.nn.AdamWeightDecay`.
    """

    _decouples_decay: ClassVar[bool] = True

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        check_betas(beta1, beta2, eps)
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.moments1: ParameterTuple = self._new_state("adam_m")
        self.moments2: ParameterTuple = self._new_state("adam_v")

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, m, v = arrays
        update_average(xp, v, xp.square(g, out=scratch), self.beta2, scratch)
        update_average(xp, m, g, self.beta1, scratch)
        root = xp.sqrt(v, out=scratch)
        root += self.eps
        xp.multiply(m, rate, out=step)
        step /= root
        w -= step


def check_betas(beta1: float, beta2: float, eps: float) -> None:
    """Raise an error unless decay rates and epsilon are floats in their intervals."""
    for name, value, high, interval in (
        ("beta1", beta1, 1, "in (0, 1)"),
        ("beta2", beta2, 1, "in (0, 1)"),
        ("eps", eps, inf, "finite and above 0"),
    ):
        check_type(value, float, name)
        if not 0 < value < high:
            raise ValueError(
                f"For '{caller()}', the argument '{name}' must be {interval}, got {value}."
            )
