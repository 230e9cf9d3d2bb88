"""Calls of a learner's derivative rule, with checks of the returned structure."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np

from minispore._course.feedback import WrongResult, format_value
from minispore.utils.checks import is_sequence, is_tuple


class RuleResult(NamedTuple):
    """The result of a rule with one operand.

    Attributes:
        value: The value.
        pullback: Maps the gradient of the value to the gradient of the operand.
    """

    value: object
    pullback: Callable[[object], object]


def call_rule(work: ModuleType, name: str, x: object, *args: object) -> RuleResult:
    """Call a rule of the learner's module.

    Args:
        work: The module with the rule.
        name: The rule's name.
        x: The operand.
        *args: The rule's other arguments.

    Raises:
        WrongResult: The rule did not return a value and a tuple of one pullback.

    Examples:
        >>> work = ModuleType("work")
        >>> work.square = lambda x: (x * x, (lambda g: 2 * x * g,))
        >>> call_rule(work, "square", 3.0).pullback(1.0)
        6.0
    """
    rule: Callable[..., object] = vars(work)[name]
    result = rule(x, *args)
    pair = _items(result)
    if len(pair) != 2:
        raise WrongResult(
            f"your {name} returned {_kind(result)}, but a pair was expected: the value, and a "
            "tuple with its pullback"
        )
    value, pullbacks = pair
    parts = _items(pullbacks)
    if not parts:
        raise WrongResult(
            f"the second item that your {name} returned is {_kind(pullbacks)}, but a tuple with "
            "the one pullback was expected: `return value, (pullback,)`, with that comma"
        )
    if len(parts) > 1:
        raise WrongResult(f"your {name} returned {len(parts)} pullbacks, but it has one operand")
    pullback = parts[0]
    if not callable(pullback):
        raise WrongResult(
            f"the pullback of your {name} is {_kind(pullback)}, but a function was expected"
        )
    return RuleResult(value, pullback)


def expect_unchanged(rule: str, *arrays: tuple[str, object, object]) -> None:
    """Raise `WrongResult` if a rule has modified an array in place.

    Args:
        rule: The rule's name.
        *arrays: For each array its name, the array after the calls, and its value before them.

    Examples:
        >>> expect_unchanged("relu", ("x", np.ones(1), np.zeros(1)))
        Traceback (most recent call last):
        minispore._course.feedback.WrongResult: your relu modified x in place, to [1.0]
    """
    for name, after, before in arrays:
        if not np.array_equal(np.asarray(after), np.asarray(before)):
            raise WrongResult(f"your {rule} modified {name} in place, to {format_value(after)}")


def _items(value: object) -> list[object]:
    """Return the items of a tuple or list, an empty list for any other value."""
    return list(value) if is_sequence(value) else []


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return "an array"
    if is_tuple(value):
        return f"a tuple of {len(value)}"
    if callable(value):
        return "a function"
    return "None" if value is None else f"of type {type(value).__name__}"
