"""The formulas of the learning rates, once for the lists and the cells; and their checks.

`passed` is the time gone by in units of the decay time: epochs for a list, steps for a cell.
"""

import math

from minispore._checks import check_number, check_type


def position(time: int, unit: int, stair: bool) -> float:
    """`time` in units of `unit`; with `stair`, only whole ones count."""
    return time // unit if stair else time / unit


def exponential(learning_rate: float, decay_rate: float, passed: float) -> float:
    """Multiplied by `decay_rate` once for each unit."""
    return learning_rate * math.pow(decay_rate, passed)


def natural_exponential(learning_rate: float, decay_rate: float, time: float) -> float:
    """Falling by e at every 1 / `decay_rate`; `time` is in steps or epochs, not in units."""
    return learning_rate * math.exp(-decay_rate * time)


def inverse(learning_rate: float, decay_rate: float, passed: float) -> float:
    """Divided by a number that grows by `decay_rate` with each unit."""
    return learning_rate / (1 + decay_rate * passed)


def cosine(min_lr: float, max_lr: float, time: int, unit: int) -> float:
    """Half a cosine from `max_lr` down to `min_lr` in one unit, then `min_lr`."""
    angle = math.pi * min(time, unit) / unit
    return min_lr + 0.5 * (max_lr - min_lr) * (1.0 + math.cos(angle))


def polynomial(start: float, end: float, time: int, unit: int, power: float, renew: bool) -> float:
    """From `start` to `end` along (1 - time / unit) ** power.

    After that `end` or, with `renew`, a longer descent: `unit` is then replaced by its smallest
    multiple that is not below `time`.
    """
    length = unit * max(1, math.ceil(time / unit)) if renew else unit
    return (start - end) * math.pow(1 - min(time, length) / length, power) + end


def warm_up(learning_rate: float, time: int, unit: int) -> float:
    """From 0 to `learning_rate` in a straight line of one unit, then the same."""
    return learning_rate * min(time, unit) / unit


def check_rate(value: object, name: str, owner: str, *, zero: bool = False) -> None:
    """Raise TypeError unless `value` is a float, ValueError unless above 0 (or 0 with `zero`)."""
    check_type(value, float, name, owner)
    check_number(value, name, owner, low=0.0)
    if value == 0.0 and not zero:
        raise ValueError(f"For '{owner}', the argument '{name}' must be above 0, but got {value}.")


def check_bounds(min_lr: object, max_lr: object, owner: str) -> None:
    """Raise unless both are rates and `max_lr` is the greater."""
    check_rate(min_lr, "min_lr", owner, zero=True)
    check_rate(max_lr, "max_lr", owner)
    assert isinstance(min_lr, float)
    assert isinstance(max_lr, float)
    if min_lr >= max_lr:
        raise ValueError(
            f"For '{owner}', 'max_lr' must be greater than 'min_lr', but got {max_lr} and {min_lr}."
        )
