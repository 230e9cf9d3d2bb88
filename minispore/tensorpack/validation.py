"""Check of constructor arguments against the types in the signature."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from inspect import signature
from types import UnionType
from typing import Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from minispore.utils.checks import describe_value

T = TypeVar("T")
# Types that are accepted in place of the annotated one.
_ACCEPTED: Final[dict[object, tuple[type, ...]]] = {float: (int, float), tuple: (tuple, list)}


def validate_arguments(cls: type[T]) -> type[T]:
    """Make the constructor of a class check the types of its arguments.

    Unlike `minispore.utils.checks.check_arguments`, this also checks the items of sequences.

    Raises:
        TypeError: By the constructor, if an argument is not of its annotated type.

    Examples:
        >>> @validate_arguments
        ... class Named:
        ...     def __init__(self, name: str | None, every: Sequence[int] = ()) -> None: ...
        >>> Named("loss", [1, 2.5])
        Traceback (most recent call last):
        TypeError: For 'Named', the type of 'every' must be Sequence[int], but got [1, 2.5] of ...
    """
    init: Callable[..., None] = cls.__init__
    parameters = signature(init)
    # Resolved at the first call: an annotation may name a class that is defined later.
    hints = cache(lambda: get_type_hints(init))

    @wraps(init)
    def check_and_init(self: T, *args: object, **kwargs: object) -> None:
        try:
            arguments = parameters.bind(self, *args, **kwargs).arguments
        except TypeError:  # the call of `init` below raises Python's own message
            arguments = {}
        for name, value in arguments.items():
            hint: object = hints().get(name, object)
            if not _has_type(value, hint):
                expected = hint.__name__ if isinstance(hint, type) else str(hint)
                expected = re.sub(r"[\w.]+\.", "", expected)  # without the names of modules
                raise TypeError(
                    f"For '{type(self).__name__}', the type of '{name}' must be {expected}, "
                    f"but got {describe_value(value)}."
                )
        init(self, *args, **kwargs)

    cls.__init__ = check_and_init  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    return cls


def _has_type(value: object, hint: object) -> bool:
    """Return whether a value has a type; a bool is no number, and a str is no sequence of str."""
    origin: object = get_origin(hint)
    inner = get_args(hint)
    if origin is Union or origin is UnionType:
        return any(_has_type(value, option) for option in inner)
    kind = _ACCEPTED.get(origin or hint) or cast("type", origin or hint)
    if not isinstance(value, kind) or (isinstance(value, bool) and (hint is int or hint is float)):
        return False
    is_sequence = origin is Sequence or origin is list
    if (is_sequence or origin is Iterable) and isinstance(value, str | bytes):
        return False
    # The items of an Iterable are not checked: it may be an iterator, which this would exhaust.
    items = cast("Sequence[object]", value) if is_sequence else ()
    return all(_has_type(item, inner[0]) for item in items)
