"""The Adam optimizer, and Adam with decoupled weight decay."""

from collections.abc import Sequence
from math import inf, sqrt
from typing import ClassVar

import numpy as np

from minispore.common.dtype import float32
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.engine.array import Array, DeviceNamespace, device_namespace
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim.optimizer import (
    LearningRate,
    Optimizer,
    StepNumbers,
    host_parameter,
    scalar_value,
)
from minispore.utils.checks import caller, check_bool, check_type

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
        check_bool(use_nesterov, "use_nesterov")
        check_bool(use_amsgrad, "use_amsgrad")
        check_bool(use_lazy, "use_lazy")
        check_bool(use_offload, "use_offload")
        if use_offload:
            raise ValueError("For 'Adam', 'use_offload' is not supported and must be False.")
        # Rounded to float32, like their powers, so that the bias correction is exact.
        self.beta1: float = float(np.float32(beta1))
        self.beta2: float = float(np.float32(beta2))
        self.eps = eps
        self.use_nesterov = use_nesterov
        self.use_amsgrad = use_amsgrad
        # β₁ᵗ and β₂ᵗ, which are part of a checkpoint.
        self.beta1_power: Parameter = host_parameter(1.0, float32, "beta1_power")
        self.beta2_power: Parameter = host_parameter(1.0, float32, "beta2_power")
        self.moment1: ParameterTuple = self._new_state("moment1")
        self.moment2: ParameterTuple = self._new_state("moment2")
        self.vhat: ParameterTuple = self._new_state("vhat") if use_amsgrad else ParameterTuple(())

    def _numbers(self) -> StepNumbers:
        rates, decays, kept = self._rates_and_decays()
        first = multiplied(self.beta1_power, self.beta1)
        second = multiplied(self.beta2_power, self.beta2)
        correction = sqrt(1 - second) / (1 - first)
        rates = [rate * correction for rate in rates]
        return StepNumbers(rates, decays, kept, powers=(first, second))

    def _advance(self, numbers: StepNumbers) -> None:
        for power, value in zip((self.beta1_power, self.beta2_power), numbers.powers, strict=True):
            set_number(power, value)
        super()._advance(numbers)

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, first, second, m, v, *v_max = arrays
        xp.multiply(v, self.beta2, out=v)
        xp.add(v, xp.multiply(xp.square(g, out=second), 1 - self.beta2, out=second), out=v)
        xp.multiply(m, self.beta1, out=m)
        contribution = xp.multiply(g, 1 - self.beta1, out=first)
        xp.add(m, contribution, out=m)
        mean = m
        if self.use_nesterov:
            mean = xp.add(contribution, xp.multiply(m, self.beta1, out=second), out=first)
        for largest in v_max:
            v = xp.maximum(largest, v, out=largest)
        root = xp.add(xp.sqrt(v, out=second), self.eps, out=second)
        numerator = xp.multiply(mean, rate, out=first)
        xp.subtract(w, xp.divide(numerator, root, out=first), out=w)


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
        w, g, first, second, m, v = arrays
        for mean, values, beta in ((v, xp.square(g, out=second), self.beta2), (m, g, self.beta1)):
            xp.multiply(mean, beta, out=mean)
            xp.add(mean, xp.multiply(values, 1 - beta, out=second), out=mean)
        root = xp.add(xp.sqrt(v, out=second), self.eps, out=second)
        xp.subtract(w, xp.divide(xp.multiply(m, rate, out=first), root, out=first), out=w)


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


def multiplied(power: Parameter, beta: float) -> float:
    """Return the next power of a decay rate, which is a float32, rounded to float32."""
    return float(np.float32(scalar_value(power) * beta))


def set_number(parameter: Parameter, value: float) -> None:
    """Set the only element of a parameter."""
    device_namespace(parameter._data).copyto(parameter._data, value)
