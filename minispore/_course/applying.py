"""A learner's rule, called and taken apart; what is not a rule at all is told in words."""

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple, cast

import numpy as np

from minispore._course.words import Wrong


class Applied(NamedTuple):
    """What a rule of one operand gave.

    Attributes:
        value: The value.
        pullback: From the gradient of the value to that of the operand.
    """

    value: object
    pullback: Callable[[object], object]


def applied(work: ModuleType, name: str, x: object, *args: object) -> Applied:
    """Call a rule of the learner's.

    Args:
        work: The module with the rule.
        name: Its name.
        x: Its operand.
        *args: Its other arguments.

    Raises:
        Wrong: It gave something else than a value and a tuple of one pullback.

    Examples:
        >>> work = ModuleType("work")
        >>> work.exp = lambda x: (np.exp(x), lambda g: g * np.exp(x))
        >>> applied(work, "exp", 0.0)
        Traceback (most recent call last):
        minispore._course.words.Wrong: the second thing that your exp returned is a function, but \
it should be a tuple with the one pullback in it: `return value, (pullback,)`, with that comma
    """
    rule: Callable[..., object] = vars(work)[name]
    given = rule(x, *args)
    pair = _items(given)
    if len(pair) != 2:
        raise Wrong(
            f"your {name} returned {_kind(given)}, but it should be a pair: the value, and a tuple "
            "with its pullback"
        )
    value, pullbacks = pair
    parts = _items(pullbacks)
    if not parts:
        raise Wrong(
            f"the second thing that your {name} returned is {_kind(pullbacks)}, but it should be a "
            "tuple with the one pullback in it: `return value, (pullback,)`, with that comma"
        )
    if len(parts) > 1:
        raise Wrong(f"your {name} returned {len(parts)} pullbacks, but it has one operand")
    pullback = parts[0]
    if not callable(pullback):
        raise Wrong(
            f"the pullback of your {name} is {_kind(pullback)}, but it should be a function"
        )
    return Applied(value, pullback)


def _items(value: object) -> list[object]:
    """What is in a tuple or list; nothing if it is neither."""
    return list(cast("list[object]", value)) if isinstance(value, tuple | list) else []


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return "an array"
    if isinstance(value, tuple):
        return f"a tuple of {len(_items(cast('object', value)))}"
    if callable(value):
        return "a function"
    return "None" if value is None else f"of type {type(value).__name__}"
