"""Constructors that refuse an argument whose type is not that of their signature."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from inspect import signature
from types import UnionType
from typing import Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from minispore._checks import described

T = TypeVar("T")
# What is taken instead of what the signature says.
_KINDS: Final[dict[object, tuple[type, ...]]] = {float: (int, float), tuple: (tuple, list)}


def checked(cls: type[T]) -> type[T]:
    """Let the constructor of a class check its arguments.

    Raises:
        TypeError: When an object is made with an argument of another type.

    Examples:
        >>> @checked
        ... class Named:
        ...     def __init__(self, name: str | None, every: Sequence[int] = ()) -> None: ...
        >>> Named("loss", [1, 2.5])
        Traceback (most recent call last):
        TypeError: For 'Named', the type of 'every' must be Sequence[int], but got [1, 2.5] of ...
    """
    init = cast("Callable[..., None]", cls.__init__)
    parameters = signature(init)
    hints = cache(lambda: get_type_hints(init))  # their names may be defined later than the class

    @wraps(init)
    def check_and_init(self: T, *args: object, **kwargs: object) -> None:
        try:
            given = parameters.bind(self, *args, **kwargs).arguments
        except TypeError:  # Python's own message says which argument is wrong
            given = {}
        for name, value in given.items():
            hint = cast("object", hints().get(name, object))
            if not _fits(value, hint):
                expected = hint.__name__ if isinstance(hint, type) else str(hint)
                expected = re.sub(r"[\w.]+\.", "", expected)  # without the names of modules
                raise TypeError(
                    f"For '{type(self).__name__}', the type of '{name}' must be {expected}, "
                    f"but got {described(value)}."
                )
        init(self, *args, **kwargs)

    cls.__init__ = check_and_init  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    return cls


def _fits(value: object, hint: object) -> bool:
    """Whether a value is of a type: a bool is no number, and a text no sequence of texts."""
    origin, inner = cast("object", get_origin(hint)), get_args(hint)
    if origin is Union or origin is UnionType:
        return any(_fits(value, each) for each in inner)
    kind = _KINDS.get(origin or hint) or cast("type", origin or hint)
    if not isinstance(value, kind) or (isinstance(value, bool) and (hint is int or hint is float)):
        return False
    is_sequence = origin is Sequence or origin is list
    if (is_sequence or origin is Iterable) and isinstance(value, str | bytes):
        return False
    # What is only an Iterable may be such that it can be gone through only once.
    items = cast("Sequence[object]", value) if is_sequence else ()
    return all(_fits(each, inner[0]) for each in items)
