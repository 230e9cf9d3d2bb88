"""The Adam optimiser."""

from math import inf, sqrt

import numpy as np

from minispore._array import Array, DeviceNamespace, device_namespace
from minispore._checks import check_type
from minispore.common.dtype import float32
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.nn.cell import Cell
from minispore.nn.optim._groups import Parameters
from minispore.nn.optim.optimizer import LearningRate, Optimizer, for_host, number


class Adam(Optimizer):
    """Adaptive moment estimation (Kingma and Ba, 2015).

    With `m` and `v` the running means of the gradient and of its square,
    `w -= lr * √(1 - β₂ᵗ) / (1 - β₁ᵗ) * m / (√v + eps)`.

    Source: MindSpore's `mindspore.nn.Adam`.

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor with one for each step; or a schedule.
        beta1: How much of `m` stays at each step, a float in (0, 1).
        beta2: How much of `v` stays, a float in (0, 1).
        eps: What keeps the division from failing, a float above 0. It is added to √v before the
            correction by β₂ᵗ: the paper's "epsilon hat".
        use_locking: Has no effect: an update is never shared.
        use_nesterov: Put `β₁ * m + (1 - β₁) * g` in the place of `m`.
        weight_decay: The factor of the weights that is added to their gradients: a number from 0,
            or a cell that computes it from the step.
        loss_scale: What the loss was multiplied by, and the gradients are divided by.
        use_amsgrad: Put the greatest `v` so far in the place of `v` (Reddi et al., 2018).
        use_lazy: Has no effect: it is about sparse gradients, and here all are dense.
        use_offload: Must be False.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `use_offload` is True.
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
        for name, value, high, span in (
            ("beta1", beta1, 1, "in (0, 1)"),
            ("beta2", beta2, 1, "in (0, 1)"),
            ("eps", eps, inf, "finite and above 0"),
        ):
            check_type(value, float, name, "Adam")
            if not 0 < value < high:
                raise ValueError(f"For 'Adam', the argument '{name}' must be {span}, got {value}.")
        for name, flag in (
            ("use_locking", use_locking),
            ("use_nesterov", use_nesterov),
            ("use_amsgrad", use_amsgrad),
            ("use_lazy", use_lazy),
            ("use_offload", use_offload),
        ):
            check_type(flag, bool, name, "Adam")
        if use_offload:
            raise ValueError("For 'Adam', 'use_offload' is not supported and must be False.")
        # In float32, as their powers are: the correction is then exactly that of the means.
        self.beta1: float = float(np.float32(beta1))
        self.beta2: float = float(np.float32(beta2))
        self.eps = eps
        self.use_nesterov = use_nesterov
        self.use_amsgrad = use_amsgrad
        # β₁ᵗ and β₂ᵗ, kept because a checkpoint has them.
        self.beta1_power: Parameter = for_host(1.0, float32, "beta1_power")
        self.beta2_power: Parameter = for_host(1.0, float32, "beta2_power")
        self.moment1: ParameterTuple = self._state("moment1")
        self.moment2: ParameterTuple = self._state("moment2")
        self.vhat: ParameterTuple = self._state("vhat") if use_amsgrad else ParameterTuple(())

    # Of the step that is being done.
    _correction: float = 1.0

    def _begin_step(self) -> None:
        for power, beta in ((self.beta1_power, self.beta1), (self.beta2_power, self.beta2)):
            data = power._data
            device_namespace(data).multiply(data, beta, out=data)
        self._correction = sqrt(1 - number(self.beta2_power)) / (1 - number(self.beta1_power))

    def _update(
        self,
        xp: DeviceNamespace[Array],
        i: int,
        data: Array,
        gradient: Array,
        rate: float,
        decay: float,
    ) -> None:
        arrays = [data, gradient, self.moment1[i]._data, self.moment2[i]._data]
        if self.use_amsgrad:
            arrays.append(self.vhat[i]._data)
        for first, second, w, g, m, v, *greatest in self._parts(*arrays):
            step = self._effective(xp, w, g, decay, first, second)
            xp.multiply(v, self.beta2, out=v)
            square = xp.multiply(xp.square(step, out=second), 1 - self.beta2, out=second)
            xp.add(v, square, out=v)
            xp.multiply(m, self.beta1, out=m)
            share = xp.multiply(step, 1 - self.beta1, out=first)
            xp.add(m, share, out=m)
            if self.use_nesterov:
                mean = xp.add(share, xp.multiply(m, self.beta1, out=second), out=first)
            else:
                mean = m
            for largest in greatest:
                v = xp.maximum(largest, v, out=largest)  # noqa: PLW2901 (stands in for it below)
            root = xp.add(xp.sqrt(v, out=second), self.eps, out=second)
            numerator = xp.multiply(mean, rate * self._correction, out=first)
            xp.subtract(w, xp.divide(numerator, root, out=first), out=w)
