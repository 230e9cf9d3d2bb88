"""The Adagrad optimizer."""

from collections.abc import Sequence

import numpy as np

from minispore.engine.array import Array, DeviceNamespace
from minispore.nn.cell import Cell
from minispore.nn.optim._param_groups import Parameters
from minispore.nn.optim.optimizer import LearningRate, Optimizer
from minispore.ops.parameter import ParameterTuple
from minispore.utils.checks import check_number, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Gradient descent with steps divided by the root of the sum of all squared gradients.

    With `s` this sum, which begins with `accum`, `w -= lr * g / √s` (Duchi et al., 2011). The
    least positive number is added to `s`, for a gradient of 0 with `s = 0`.

    Args:
        params: The parameters, or groups of them; see `Optimizer`.
        accum: The value with which `s` begins, a float of at least 0.
        learning_rate: A number; a list or a Tensor of one number for each step; or a schedule.
        update_slots: Whether to add squared gradients to `s`.
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
        >>> optimizer = nn.Adagrad([weight], accum=3.0, learning_rate=0.5)
        >>> optimizer((ms.Tensor([1.0, -1.0]),))
        (True,)
        >>> [round(x, 4) for x in weight.tolist()]
        [0.75, 2.25]

    Source: MindSpore's `mindspore.nn.Adagrad`.
    """

    @hint_keywords
    def __init__(
        self,
        params: Parameters,
        accum: float = 0.1,
        learning_rate: LearningRate = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: float | Cell = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_type(accum, float, "accum")
        check_number(accum, "accum", low=0.0)
        self.update_slots: bool = check_type(update_slots, bool, "update_slots")
        self._initial_arguments["accum"] = accum
        self.accum: ParameterTuple = self._new_state("accum", accum)
        self._least = [
            float(np.finfo(s.dtype.numpy_dtype.name).smallest_subnormal) for s in self.accum
        ]

    def _update(
        self, xp: DeviceNamespace[Array], i: int, arrays: Sequence[Array], rate: float
    ) -> None:
        w, g, step, scratch, s = arrays
        if self.update_slots:
            s += xp.square(g, out=scratch)
        xp.multiply(g, rate, out=step)
        step /= xp.sqrt(xp.add(s, self._least[i], out=scratch), out=scratch)
        w -= step
