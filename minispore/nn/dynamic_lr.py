"""Learning rates as plain lists: one value for each step, worked out before training starts.

Within an epoch the rate stays the same. Source: MindSpore's `mindspore.nn.dynamic_lr`.
"""

from collections.abc import Callable, Sequence
from typing import Final

from minispore._checks import check_int, check_type
from minispore.nn import _rates
from minispore.nn._rates import check_bounds, check_rate, position

# A longer list takes more memory than most machines have: a schedule as a cell needs none.
_MAX_STEPS: Final = 10**8


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """`learning_rates[i]` for every step below `milestone[i]`.

    >>> piecewise_constant_lr([2, 5], [0.1, 0.05])
    [0.1, 0.1, 0.05, 0.05, 0.05]

    Args:
        milestone: The step at which each rate ends; in ascending order.
        learning_rates: As many rates.

    Raises:
        TypeError: An argument is no list or tuple, a milestone no int, or a rate no float.
        ValueError: The lengths differ, or the milestones do not ascend from above 0.
    """
    owner = "piecewise_constant_lr"
    check_type(milestone, (list, tuple), "milestone", owner)
    check_type(learning_rates, (list, tuple), "learning_rates", owner)
    if len(milestone) != len(learning_rates):
        raise ValueError(
            f"For '{owner}', 'milestone' and 'learning_rates' must be of the same length, "
            f"but got {len(milestone)} and {len(learning_rates)}."
        )
    rates: list[float] = []
    for i, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        check_int(end, f"milestone[{i}]", owner, low=1, high=_MAX_STEPS)
        check_type(rate, float, f"learning_rates[{i}]", owner)
        if end < len(rates):
            raise ValueError(
                f"For '{owner}', milestone[{i}] must not be smaller than milestone[{i - 1}], "
                f"but got {end} after {len(rates)}."
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
    """`learning_rate * decay_rate ** (epoch / decay_epoch)`.

    >>> exponential_decay_lr(0.1, 0.5, total_step=4, step_per_epoch=2, decay_epoch=1)
    [0.1, 0.1, 0.05, 0.05]

    Args:
        learning_rate: The rate of the first epoch.
        decay_rate: The factor for each `decay_epoch` epochs.
        total_step: The length of the list.
        step_per_epoch: Steps with the same rate.
        decay_epoch: Epochs in which the rate falls by the factor once.
        is_stair: Let it fall all at once at their end: epoch // decay_epoch in the formula.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.
    """
    owner = "exponential_decay_lr"
    check_rate(learning_rate, "learning_rate", owner)
    check_rate(decay_rate, "decay_rate", owner)
    _check_decay(decay_epoch, is_stair, owner)
    return _by_epoch(
        lambda epoch: _rates.exponential(
            learning_rate, decay_rate, position(epoch, decay_epoch, is_stair)
        ),
        total_step,
        step_per_epoch,
        owner,
    )


def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """`learning_rate * exp(-decay_rate * epoch)`; see `exponential_decay_lr` for the arguments.

    With `is_stair` the epoch is rounded down to a multiple of `decay_epoch`, which has no effect
    otherwise.

    >>> natural_exp_decay_lr(0.1, 0.9, total_step=4, step_per_epoch=2, decay_epoch=1)
    [0.1, 0.1, 0.04065696597405991, 0.04065696597405991]

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.
    """
    owner = "natural_exp_decay_lr"
    check_rate(learning_rate, "learning_rate", owner)
    check_rate(decay_rate, "decay_rate", owner)
    _check_decay(decay_epoch, is_stair, owner)
    return _by_epoch(
        lambda epoch: _rates.natural_exponential(
            learning_rate, decay_rate, epoch - epoch % decay_epoch if is_stair else epoch
        ),
        total_step,
        step_per_epoch,
        owner,
    )


def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """`learning_rate / (1 + decay_rate * epoch / decay_epoch)`; arguments as above.

    >>> inverse_decay_lr(0.1, 1.0, total_step=4, step_per_epoch=2, decay_epoch=1)
    [0.1, 0.1, 0.05, 0.05]

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is not above 0.
    """
    owner = "inverse_decay_lr"
    check_rate(learning_rate, "learning_rate", owner)
    check_rate(decay_rate, "decay_rate", owner)
    _check_decay(decay_epoch, is_stair, owner)
    return _by_epoch(
        lambda epoch: _rates.inverse(
            learning_rate, decay_rate, position(epoch, decay_epoch, is_stair)
        ),
        total_step,
        step_per_epoch,
        owner,
    )


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """From `max_lr` to `min_lr` along half a cosine in `decay_epoch` epochs, then `min_lr`.

    >>> [round(lr, 3) for lr in cosine_decay_lr(0.0, 0.1, 5, step_per_epoch=1, decay_epoch=4)]
    [0.1, 0.085, 0.05, 0.015, 0.0]

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `max_lr` not above `min_lr`.
    """
    owner = "cosine_decay_lr"
    check_bounds(min_lr, max_lr, owner)
    check_int(decay_epoch, "decay_epoch", owner, low=1)

    return _by_epoch(
        lambda epoch: _rates.cosine(min_lr, max_lr, epoch, decay_epoch),
        total_step,
        step_per_epoch,
        owner,
    )


def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """From `learning_rate` to `end_learning_rate` along `(1 - epoch / decay_epoch) ** power`.

    >>> polynomial_decay_lr(0.5, 0.25, 5, step_per_epoch=1, decay_epoch=2, power=1.0)
    [0.5, 0.375, 0.25, 0.25, 0.25]

    Args:
        learning_rate: The rate of the first epoch.
        end_learning_rate: The rate from epoch `decay_epoch` on.
        total_step: The length of the list.
        step_per_epoch: Steps with the same rate.
        decay_epoch: The length of the descent.
        power: 1 for a straight line.
        update_decay_epoch: Start a new, longer descent instead of staying at the end: `decay_epoch`
            is replaced by its smallest multiple that is not below the epoch.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.
    """
    owner = "polynomial_decay_lr"
    check_rate(learning_rate, "learning_rate", owner)
    check_rate(end_learning_rate, "end_learning_rate", owner, zero=True)
    check_rate(power, "power", owner)
    check_int(decay_epoch, "decay_epoch", owner, low=1)
    check_type(update_decay_epoch, bool, "update_decay_epoch", owner)
    return _by_epoch(
        lambda epoch: _rates.polynomial(
            learning_rate, end_learning_rate, epoch, decay_epoch, power, update_decay_epoch
        ),
        total_step,
        step_per_epoch,
        owner,
    )


def warmup_lr(
    learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int
) -> list[float]:
    """From 0 to `learning_rate` in a straight line of `warmup_epoch` epochs, then the same.

    >>> warmup_lr(0.1, total_step=5, step_per_epoch=1, warmup_epoch=2)
    [0.0, 0.05, 0.1, 0.1, 0.1]

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range.
    """
    owner = "warmup_lr"
    check_rate(learning_rate, "learning_rate", owner, zero=True)
    check_int(warmup_epoch, "warmup_epoch", owner, low=1)
    return _by_epoch(
        lambda epoch: _rates.warm_up(learning_rate, epoch, warmup_epoch),
        total_step,
        step_per_epoch,
        owner,
    )


def _by_epoch(
    rate: Callable[[int], float], total_step: int, step_per_epoch: int, owner: str
) -> list[float]:
    check_int(total_step, "total_step", owner, low=1, high=_MAX_STEPS)
    check_int(step_per_epoch, "step_per_epoch", owner, low=1)
    return [rate(step // step_per_epoch) for step in range(total_step)]


def _check_decay(decay_epoch: int, is_stair: bool, owner: str) -> None:
    check_int(decay_epoch, "decay_epoch", owner, low=1)
    check_type(is_stair, bool, "is_stair", owner)
