"""Stochastic gradient descent, with and without momentum."""

from collections.abc import Sequence

import numpy as np

from minispore.engine.array import Array, DeviceNamespace
from minispore.engine.dtypes import float32
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim._rates import host_parameter
from minispore.nn.optim.optimizer import LearningRate, Optimizer
from minispore.ops.parameter import Parameter, ParameterTuple
from minispore.utils.checks import check_number, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent: `w -= lr * g`, with momentum `w -= lr * v`.

    `v` is the gradient in the first step, then `momentum * v + (1 - dampening) * g`. With
    `nesterov` the update is along `g + momentum * v` (Sutskever et al., 2013).

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        momentum: The factor of `v`, at least 0.
        dampening: The fraction of the gradient that is not added to `v`, at least 0.
        weight_decay: The factor by which weights are added to their gradients, at least 0.
        nesterov: Whether to use Nesterov momentum; requires a momentum above 0 and no dampening.
        loss_scale: The factor of the loss, by which the gradients are divided.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `nesterov` is used without momentum or with
            dampening.

    Examples:
        >>> import minispore as ms
        >>> from minispore import nn
        >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
        >>> optimizer = nn.SGD([weight], learning_rate=0.5)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> weight.tolist()
        [0.5, 2.5]

    Source: MindSpore's `mindspore.nn.SGD`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        learning_rate: LearningRate = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if any(isinstance(decay, Cell) for decay in self._decays):
            raise TypeError(
                "For 'SGD', the argument 'weight_decay' must be a number, but is a Cell."
            )
        factor = check_number(momentum, "momentum", low=0.0)
        self.dampening: float = check_number(dampening, "dampening", low=0.0)
        self.nesterov: bool = check_type(nesterov, bool, "nesterov")
        if nesterov and (factor == 0 or self.dampening != 0):
            raise ValueError(
                "For 'SGD', 'nesterov' requires a 'momentum' above 0 and a 'dampening' of 0, "
                f"but got {momentum} and {dampening}."
            )
        self.momentum: Parameter = host_parameter(factor, float32, "momentum")
        self._initial_arguments["momentum"] = momentum
        self.accum: ParameterTuple = self._new_state("accum")
        # 1 until the first step initializes `accum`, then 0. It is on the host, since it is read in
        # each step.
        self.stat: ParameterTuple = ParameterTuple(
            host_parameter(
                np.broadcast_to(1.0, parameter.shape), parameter.dtype, f"stat.{parameter.name}"
            )
            for parameter in self.parameters
        )

    def _momentum_parameter(self) -> Parameter:
        return self.momentum

    def _first_step_flags(self) -> ParameterTuple:
        return self.stat

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, v = arrays
        momentum = self._momentum
        direction = g
        if momentum:
            if self._is_first_step[i]:
                xp.copyto(v, g)
            else:
                v *= momentum
                v += xp.multiply(g, 1 - self.dampening, out=scratch) if self.dampening else g
            direction = v
            if self.nesterov:
                direction = xp.multiply(v, momentum, out=scratch)
                direction += g
        w -= xp.multiply(direction, rate, out=step)
