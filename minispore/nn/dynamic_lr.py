"""Learning rates as lists with one value for each step, computed before training starts.

The learning rate is constant within an epoch. The formulas are those of `learning_rate_schedule`,
with epochs in place of steps.
"""

from collections.abc import Sequence
from typing import Final

from minispore.nn.learning_rate_schedule import (
    CosineDecayLR,
    ExponentialDecayLR,
    FormulaSchedule,
    InverseDecayLR,
    NaturalExpDecayLR,
    PolynomialDecayLR,
    WarmUpLR,
    check_bounds,
    check_learning_rate,
)
from minispore.utils.checks import check_int, check_type

__all__ = [
    "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr",
    "piecewise_constant_lr", "polynomial_decay_lr", "warmup_lr",
]  # fmt: skip

# A longer list would exceed the memory of most machines; a schedule needs none.
_MAX_STEPS: Final = 10**8


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """Return `learning_rates[i]` for every step below `milestone[i]`.

    Args:
        milestone: The steps at which the learning rates end, in ascending order.
        learning_rates: As many learning rates.

    Returns:
        The learning rates of `milestone[-1]` steps.

    Raises:
        TypeError: An argument is not a list or tuple, a milestone not an int, or a learning rate
            not a float.
        ValueError: The lengths differ, or the milestones do not ascend from above 0.

    Examples:
        >>> piecewise_constant_lr([2, 5], [0.1, 0.05])
        [0.1, 0.1, 0.05, 0.05, 0.05]

    Source: MindSpore's `mindspore.nn.piecewise_constant_lr`.
    """
    check_type(milestone, (list, tuple), "milestone")
    check_type(learning_rates, (list, tuple), "learning_rates")
    if len(milestone) != len(learning_rates):
        raise ValueError(
            "For 'piecewise_constant_lr', 'milestone' and 'learning_rates' must be of the same "
            f"length, but got {len(milestone)} and {len(learning_rates)}."
        )
    rates: list[float] = []
    for i, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        check_int(end, f"milestone[{i}]", low=1, high=_MAX_STEPS)
        check_type(rate, float, f"learning_rates[{i}]")
        if end < len(rates):
            raise ValueError(
                f"For 'piecewise_constant_lr', milestone[{i}] must not be smaller than "
                f"milestone[{i - 1}], but got {end} after {len(rates)}."
            )
        rates += [rate] * (end - len(rates))
    return rates


def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Return `learning_rate * decay_rate ** (epoch / decay_epoch)` for each step.

    Args:
        learning_rate: The learning rate of epoch 0.
        decay_rate: The factor for each `decay_epoch` epochs.
        total_step: The total number of steps.
        step_per_epoch: The number of steps of an epoch.
        decay_epoch: The number of epochs in which the learning rate is multiplied by `decay_rate`.
        is_stair: Whether to decay only every `decay_epoch` epochs, by `epoch // decay_epoch`.

    Returns:
        The learning rates of `total_step` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.

    Examples:
        >>> exponential_decay_lr(0.1, 0.5, total_step=4, step_per_epoch=2, decay_epoch=1)
        [0.1, 0.1, 0.05, 0.05]

    Source: MindSpore's `mindspore.nn.exponential_decay_lr`.
    """
    _check_decay(learning_rate, decay_rate, decay_epoch, is_stair)
    schedule = ExponentialDecayLR(learning_rate, decay_rate, decay_epoch, is_stair)
    return _rates_by_epoch(schedule, total_step, step_per_epoch)


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Return `learning_rate * exp(-decay_rate * epoch)` for each step.

    Args:
        learning_rate: The learning rate of epoch 0.
        decay_rate: The decay in each epoch.
        total_step: The total number of steps.
        step_per_epoch: The number of steps of an epoch.
        decay_epoch: With `is_stair`, the epoch is rounded down to a multiple of this number; it has
            no effect otherwise.
        is_stair: Whether to decay only every `decay_epoch` epochs.

    Returns:
        The learning rates of `total_step` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.

    Examples:
        >>> rates = natural_exp_decay_lr(0.1, 0.9, total_step=4, step_per_epoch=2, decay_epoch=1)
        >>> [round(rate, 4) for rate in rates]
        [0.1, 0.1, 0.0407, 0.0407]

    Source: MindSpore's `mindspore.nn.natural_exp_decay_lr`.
    """
    _check_decay(learning_rate, decay_rate, decay_epoch, is_stair)
    schedule = NaturalExpDecayLR(learning_rate, decay_rate, decay_epoch, is_stair)
    return _rates_by_epoch(schedule, total_step, step_per_epoch)


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Return `learning_rate / (1 + decay_rate * epoch / decay_epoch)` for each step.

    Args:
        learning_rate: The learning rate of epoch 0.
        decay_rate: By how much the divisor increases in `decay_epoch` epochs.
        total_step: The total number of steps.
        step_per_epoch: The number of steps of an epoch.
        decay_epoch: The number of epochs of a decay period.
        is_stair: Whether to decay only every `decay_epoch` epochs.

    Returns:
        The learning rates of `total_step` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.

    Examples:
        >>> inverse_decay_lr(0.1, 1.0, total_step=4, step_per_epoch=2, decay_epoch=1)
        [0.1, 0.1, 0.05, 0.05]

    Source: MindSpore's `mindspore.nn.inverse_decay_lr`.
    """
    _check_decay(learning_rate, decay_rate, decay_epoch, is_stair)
    schedule = InverseDecayLR(learning_rate, decay_rate, decay_epoch, is_stair)
    return _rates_by_epoch(schedule, total_step, step_per_epoch)


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """Return half a cosine from `max_lr` to `min_lr` in `decay_epoch` epochs, then `min_lr`.

    Args:
        min_lr: The last learning rate, at least 0.
        max_lr: The learning rate of epoch 0.
        total_step: The total number of steps.
        step_per_epoch: The number of steps of an epoch.
        decay_epoch: The number of epochs of the decay.

    Returns:
        The learning rates of `total_step` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `max_lr` is not greater than `min_lr`.

    Examples:
        >>> [round(lr, 3) for lr in cosine_decay_lr(0.0, 0.1, 5, step_per_epoch=1, decay_epoch=4)]
        [0.1, 0.085, 0.05, 0.015, 0.0]

    Source: MindSpore's `mindspore.nn.cosine_decay_lr`.
    """
    check_bounds(min_lr, max_lr)
    check_int(decay_epoch, "decay_epoch", low=1)
    schedule = CosineDecayLR(min_lr, max_lr, decay_epoch)
    return _rates_by_epoch(schedule, total_step, step_per_epoch)


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """Return polynomial decay to `end_learning_rate`, along `(1 - epoch / decay_epoch) ** power`.

    Args:
        learning_rate: The learning rate of epoch 0.
        end_learning_rate: The learning rate from epoch `decay_epoch` on.
        total_step: The total number of steps.
        step_per_epoch: The number of steps of an epoch.
        decay_epoch: The number of epochs of the decay.
        power: The exponent; 1 gives a linear decay.
        update_decay_epoch: Whether to restart with a longer decay instead of keeping the last
            learning rate: `decay_epoch` is replaced by its smallest multiple that is at least the
            epoch.

    Returns:
        The learning rates of `total_step` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> polynomial_decay_lr(0.5, 0.25, 5, step_per_epoch=1, decay_epoch=2, power=1.0)
        [0.5, 0.375, 0.25, 0.25, 0.25]

    Source: MindSpore's `mindspore.nn.polynomial_decay_lr`.
    """
    check_learning_rate(learning_rate, "learning_rate")
    check_learning_rate(end_learning_rate, "end_learning_rate", zero=True)
    check_learning_rate(power, "power")
    check_int(decay_epoch, "decay_epoch", low=1)
    check_type(update_decay_epoch, bool, "update_decay_epoch")
    schedule = PolynomialDecayLR(
        learning_rate, end_learning_rate, decay_epoch, power, update_decay_epoch
    )
    return _rates_by_epoch(schedule, total_step, step_per_epoch)


def warmup_lr(
    learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int
) -> list[float]:
    """Return a linear increase from 0 to `learning_rate` in `warmup_epoch` epochs, then constant.

    Args:
        learning_rate: The last learning rate, at least 0.
        total_step: The total number of steps.
        step_per_epoch: The number of steps of an epoch.
        warmup_epoch: The number of epochs of the increase.

    Returns:
        The learning rates of `total_step` steps.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.

    Examples:
        >>> warmup_lr(0.1, total_step=5, step_per_epoch=1, warmup_epoch=2)
        [0.0, 0.05, 0.1, 0.1, 0.1]

    Source: MindSpore's `mindspore.nn.warmup_lr`.
    """
    check_learning_rate(learning_rate, "learning_rate", zero=True)
    check_int(warmup_epoch, "warmup_epoch", low=1)
    schedule = WarmUpLR(learning_rate, warmup_epoch)
    return _rates_by_epoch(schedule, total_step, step_per_epoch)


def _rates_by_epoch(schedule: FormulaSchedule, total_step: int, step_per_epoch: int) -> list[float]:
    """Return the learning rate of each step, which is that of its epoch."""
    check_int(total_step, "total_step", low=1, high=_MAX_STEPS)
    check_int(step_per_epoch, "step_per_epoch", low=1)
    return [schedule._rate(step // step_per_epoch) for step in range(total_step)]


def _check_decay(learning_rate: float, decay_rate: float, decay_epoch: int, is_stair: bool) -> None:
    check_learning_rate(learning_rate, "learning_rate")
    check_learning_rate(decay_rate, "decay_rate")
    check_int(decay_epoch, "decay_epoch", low=1)
    check_type(is_stair, bool, "is_stair")
