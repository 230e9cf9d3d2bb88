"""Stochastic gradient descent, with and without momentum."""

import numpy as np

from minispore._array import Array, DeviceNamespace, device_namespace, to_host
from minispore._checks import check_number, check_type
from minispore.common.dtype import float32
from minispore.common.parameter import Parameter, ParameterTuple
from minispore.nn.cell import Cell
from minispore.nn.optim._groups import Parameters
from minispore.nn.optim.optimizer import LearningRate, Optimizer, for_host, number


class SGD(Optimizer):
    """Stochastic gradient descent: `w -= lr * g`, with momentum `w -= lr * v`.

    `v` is the first step's gradient, and then `momentum * v + (1 - dampening) * g`; with
    `nesterov` the step is along `g + momentum * v` (Sutskever et al., 2013).

    Source: MindSpore's `mindspore.nn.SGD`.

    >>> import minispore as ms
    >>> from minispore import nn
    >>> weight = ms.Parameter(ms.Tensor([1.0, 2.0]), name="weight")
    >>> optimizer = nn.SGD([weight], learning_rate=0.5)
    >>> optimizer((ms.Tensor([1.0, -1.0]),))
    (True,)
    >>> weight.asnumpy()
    array([0.5, 2.5], dtype=float32)

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        learning_rate: A number; a list or a Tensor with one for each step; or a schedule.
        momentum: The factor of `v`, from 0.
        dampening: The share of the gradient that `v` does not take, from 0.
        weight_decay: The factor of the weights that is added to their gradients, from 0.
        nesterov: Whether to look ahead; wants a momentum above 0 and no dampening.
        loss_scale: What the loss was multiplied by, and the gradients are divided by.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `nesterov` without what it wants.
    """

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
        factor = check_number(momentum, "momentum", "SGD", low=0.0)
        self.dampening: float = check_number(dampening, "dampening", "SGD", low=0.0)
        check_type(nesterov, bool, "nesterov", "SGD")
        if nesterov and (factor == 0 or self.dampening != 0):
            raise ValueError(
                "For 'SGD', 'nesterov' wants a 'momentum' above 0 and a 'dampening' of 0, "
                f"but got {momentum} and {dampening}."
            )
        self.nesterov = nesterov
        self.momentum: Parameter = for_host(factor, float32, "momentum")
        self._given["momentum"] = momentum
        self.accum: ParameterTuple = self._state("accum")
        # 1 until the first step, then 0: whether `accum` is still to be filled. On the host, which
        # looks there at each step.
        self.stat: ParameterTuple = ParameterTuple(
            for_host(np.broadcast_to(1.0, each.shape), each.dtype, f"stat.{each.name}")
            for each in self.parameters
        )

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
        if self._momentum == 0:
            for first, second, w, g in self._parts(data, gradient):
                step = self._effective(xp, w, g, decay, first, second)
                xp.subtract(w, xp.multiply(step, rate, out=first), out=w)
            return
        stat = self.stat[i]._data
        seen = to_host(stat)
        fresh = bool(seen.size and seen.flat[0])
        if fresh:
            device_namespace(stat).copyto(stat, 0.0)
        for first, second, w, g, v in self._parts(data, gradient, self.accum[i]._data):
            step = self._effective(xp, w, g, decay, first, second)
            if fresh:
                xp.copyto(v, step)
            else:
                xp.multiply(v, self._momentum, out=v)
                share = step
                if self.dampening:
                    share = xp.multiply(step, 1 - self.dampening, out=second)
                xp.add(v, share, out=v)
            if self.nesterov:
                ahead = xp.multiply(v, self._momentum, out=second)
                step = xp.add(step, ahead, out=first)
            else:
                step = v
            xp.subtract(w, xp.multiply(step, rate, out=first), out=w)
