"""Learning-rate schedules: cells that compute the learning rate from the number of the step."""

import math
from typing import cast

import numpy as np

from minispore.nn._schedule import LearningRateSchedule
from minispore.ops.tensors import Tensor, tensor_of
from minispore.utils.checks import (
    caller,
    check_int,
    check_number,
    check_positive,
    check_type,
    type_error,
)

__all__ = [
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule",
    "NaturalExpDecayLR", "PolynomialDecayLR", "WarmUpLR",
]  # fmt: skip


class FormulaSchedule(LearningRateSchedule):
    """Base class of schedules given by a formula in Python floats, `_rate`."""

    def construct(self, global_step: Tensor | float) -> Tensor:
        """Return the learning rate of each step of `global_step`, a float32 tensor of its shape.

        Raises:
            TypeError: `global_step` is neither a Tensor nor a number.
            ValueError: `global_step` is not finite.
        """
        check_type(global_step, (Tensor, int, float, np.integer, np.floating), "global_step")
        steps = (
            global_step.asnumpy() if isinstance(global_step, Tensor) else np.asarray(global_step)
        )
        if steps.dtype.kind == "f" and not np.isfinite(steps).all():
            raise type_error(global_step, "global_step", "be finite", ValueError)
        rates = [self._rate(step) for step in cast("list[float]", steps.ravel().tolist())]
        return tensor_of(np.array(rates, np.float32).reshape(steps.shape))

    def _rate(self, step: float) -> float:
        """Return the learning rate of a step."""
        raise NotImplementedError


class DecaySchedule(FormulaSchedule):
    """Base class of the schedules that decay without end."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        self.is_stair: bool = check_type(is_stair, bool, "is_stair")
        self.learning_rate: float = check_learning_rate(learning_rate, "learning_rate")
        self.decay_rate: float = check_learning_rate(decay_rate, "decay_rate")
        self.decay_steps: int = check_int(decay_steps, "decay_steps", low=1)

    def _progress(self, step: float) -> float:
        """Return the number of decay periods; with `is_stair`, of complete ones."""
        return step // self.decay_steps if self.is_stair else step / self.decay_steps


class ExponentialDecayLR(DecaySchedule):
    """Exponential decay: `learning_rate * decay_rate ** (step / decay_steps)`.

    Args:
        learning_rate: The learning rate of step 0.
        decay_rate: The factor for each `decay_steps` steps.
        decay_steps: The number of steps in which the learning rate is multiplied by `decay_rate`.
        is_stair: Whether to decay only every `decay_steps` steps, by `step // decay_steps`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.

    Examples:
        >>> from minispore import nn
        >>> schedule = nn.ExponentialDecayLR(0.1, 0.5, decay_steps=2)
        >>> round(schedule(4).item(), 4)
        0.025

    Source: MindSpore's `mindspore.nn.ExponentialDecayLR`.
    """

    def _rate(self, step: float) -> float:
        return self.learning_rate * math.pow(self.decay_rate, self._progress(step))


class NaturalExpDecayLR(DecaySchedule):
    """Natural exponential decay: `learning_rate * exp(-decay_rate * step)`.

    Args:
        learning_rate: The learning rate of step 0.
        decay_rate: The decay in each step.
        decay_steps: With `is_stair`, the step is rounded down to a multiple of this number; it has
            no effect otherwise.
        is_stair: Whether to decay only every `decay_steps` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.

    Examples:
        >>> from minispore import nn
        >>> schedule = nn.NaturalExpDecayLR(0.1, 0.9, decay_steps=2)
        >>> round(schedule(1).item(), 4)
        0.0407

    Source: MindSpore's `mindspore.nn.NaturalExpDecayLR`.
    """

    def _rate(self, step: float) -> float:
        time = step - step % self.decay_steps if self.is_stair else step
        return self.learning_rate * math.exp(-self.decay_rate * time)


class InverseDecayLR(DecaySchedule):
    """Inverse-time decay: `learning_rate / (1 + decay_rate * step / decay_steps)`.

    Args:
        learning_rate: The learning rate of step 0.
        decay_rate: By how much the divisor increases in `decay_steps` steps.
        decay_steps: The number of steps of a decay period.
        is_stair: Whether to decay only every `decay_steps` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.

    Examples:
        >>> from minispore import nn
        >>> schedule = nn.InverseDecayLR(0.1, 1.0, decay_steps=2)
        >>> round(schedule(2).item(), 4)
        0.05

    Source: MindSpore's `mindspore.nn.InverseDecayLR`.
    """

    def _rate(self, step: float) -> float:
        return self.learning_rate / (1 + self.decay_rate * self._progress(step))


class CosineDecayLR(FormulaSchedule):
    """Half a cosine from `max_lr` to `min_lr` in `decay_steps` steps, then `min_lr`.

    Args:
        min_lr: The last learning rate, at least 0.
        max_lr: The learning rate of step 0.
        decay_steps: The number of steps of the decay.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `max_lr` is not greater than `min_lr`.

    Examples:
        >>> from minispore import nn
        >>> schedule = nn.CosineDecayLR(0.0, 0.1, decay_steps=4)
        >>> round(schedule(2).item(), 4)
        0.05

    Source: MindSpore's `mindspore.nn.CosineDecayLR`.
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        check_bounds(min_lr, max_lr)
        self.min_lr = min_lr
        self.max_lr = max_lr
        self.decay_steps: int = check_int(decay_steps, "decay_steps", low=1)

    def _rate(self, step: float) -> float:
        angle = math.pi * min(step, self.decay_steps) / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + math.cos(angle))


class PolynomialDecayLR(FormulaSchedule):
    """Polynomial decay from `learning_rate` to `end_learning_rate`, along (1 - progress) ** power.

    Args:
        learning_rate: The learning rate of step 0.
        end_learning_rate: The learning rate from step `decay_steps` on.
        decay_steps: The number of steps of the decay; progress is `step / decay_steps`.
        power: The exponent; 1 gives a linear decay.
        update_decay_steps: Whether to restart with a longer decay instead of keeping the last
            learning rate: `decay_steps` is replaced by its smallest multiple that is at least the
            step.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> from minispore import nn
        >>> schedule = nn.PolynomialDecayLR(0.5, 0.25, decay_steps=2, power=1.0)
        >>> [schedule(step).item() for step in range(4)]
        [0.5, 0.375, 0.25, 0.25]

    Source: MindSpore's `mindspore.nn.PolynomialDecayLR`.
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        self.update_decay_steps: bool = check_type(update_decay_steps, bool, "update_decay_steps")
        self.start_learning_rate: float = check_learning_rate(learning_rate, "learning_rate")
        self.end_learning_rate: float = check_learning_rate(
            end_learning_rate, "end_learning_rate", zero=True
        )
        self.decay_steps: int = check_int(decay_steps, "decay_steps", low=1)
        self.power: float = check_learning_rate(power, "power")

    def _rate(self, step: float) -> float:
        steps = self.decay_steps
        if self.update_decay_steps:
            steps *= max(1, math.ceil(step / steps))
        start, end = self.start_learning_rate, self.end_learning_rate
        return (start - end) * math.pow(1 - min(step, steps) / steps, self.power) + end


class WarmUpLR(FormulaSchedule):
    """A linear increase from 0 to `learning_rate` in `warmup_steps` steps, then `learning_rate`.

    Args:
        learning_rate: The last learning rate, at least 0.
        warmup_steps: The number of steps of the increase.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> from minispore import nn
        >>> schedule = nn.WarmUpLR(0.5, warmup_steps=2)
        >>> [schedule(step).item() for step in range(4)]
        [0.0, 0.25, 0.5, 0.5]

    Source: MindSpore's `mindspore.nn.WarmUpLR`.
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate: float = check_learning_rate(learning_rate, "learning_rate", zero=True)
        self.warmup_steps: int = check_int(warmup_steps, "warmup_steps", low=1)

    def _rate(self, step: float) -> float:
        return self.learning_rate * min(step, self.warmup_steps) / self.warmup_steps


def check_learning_rate(value: object, name: str, *, zero: bool = False) -> float:
    """Return `value`; raise unless it is a float above 0, or with `zero` at least 0."""
    rate = check_type(value, float, name)
    check_number(rate, name, low=0.0)
    if not zero:
        check_positive(rate, name)
    return rate


def check_bounds(min_lr: float, max_lr: float) -> None:
    """Raise unless both are learning rates and `max_lr` is greater than `min_lr`."""
    check_learning_rate(min_lr, "min_lr", zero=True)
    check_learning_rate(max_lr, "max_lr")
    if min_lr >= max_lr:
        raise ValueError(
            f"For '{caller()}', 'max_lr' must be greater than 'min_lr', "
            f"but got {max_lr} and {min_lr}."
        )
