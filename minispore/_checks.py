"""Checks of arguments: each names the function, the argument, what came and what was expected."""

from collections.abc import Collection, Hashable
from reprlib import repr as short
from typing import TypeGuard, cast


def described(value: object) -> str:
    """What came instead, on one line whatever its length: its text and its type.

    >>> described([1, "a"]), described(None)
    ("[1, 'a'] of type list", 'None of type NoneType')
    """
    return f"{' '.join(short(value).split())} of type {type(value).__name__}"


def check_type(
    value: object, types: type | tuple[type, ...], name: str, owner: str, *, none: bool = False
) -> None:
    """Raise TypeError unless `value` is an instance of `types`; a bool is not taken for an int."""
    accepted = types if isinstance(types, tuple) else (types,)
    if none and value is None:
        return
    if isinstance(value, bool) and bool not in accepted and object not in accepted:
        ok = False
    else:
        ok = isinstance(value, accepted)
    if not ok:
        wanted = ", ".join(t.__name__ for t in accepted) + (", None" if none else "")
        raise TypeError(
            f"For '{owner}', the type of '{name}' must be one of {wanted}, "
            f"but got {described(value)}."
        )


def check_bool(value: object, name: str, owner: str) -> None:
    """Raise TypeError unless `value` is a bool: `check_type` for where every operation passes."""
    if value is not True and value is not False:
        check_type(value, bool, name, owner)


def check_int(
    value: object, name: str, owner: str, *, low: int | None = None, high: int | None = None
) -> int:
    """Return `value` if it is an int in [low, high]; TypeError or ValueError otherwise."""
    if type(value) is not int:
        check_type(value, int, name, owner)
        assert isinstance(value, int)
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = _range(low, high)
        raise ValueError(f"For '{owner}', the argument '{name}' must be {bounds}, but got {value}.")
    return value


def check_number(
    value: object,
    name: str,
    owner: str,
    *,
    low: float | None = None,
    high: float | None = None,
) -> float:
    """Return `value` as float if it is an int or float in [low, high] and no NaN."""
    check_type(value, (int, float), name, owner)
    assert isinstance(value, int | float)
    if value != value or (low is not None and value < low) or (high is not None and value > high):  # noqa: PLR0124
        bounds = _range(low, high)
        raise ValueError(f"For '{owner}', the argument '{name}' must be {bounds}, but got {value}.")
    return float(value)


def check_one_of(value: object, choices: Collection[object], name: str, owner: str) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if not isinstance(value, Hashable) or value not in choices:
        listed = ", ".join(repr(c) for c in choices)
        raise ValueError(
            f"For '{owner}', the argument '{name}' must be one of {listed}, but got {short(value)}."
        )


def as_items(value: object) -> tuple[object, ...] | None:
    """The items of a list or tuple; None for anything else."""
    # The cast says what isinstance cannot: that the items are objects rather than unknown.
    return tuple(cast("list[object]", value)) if isinstance(value, (list, tuple)) else None


def is_int_list(value: object) -> TypeGuard[list[int]]:
    """Return whether `value` is a list of int."""
    return isinstance(value, list) and all(
        isinstance(item, int) for item in cast("list[object]", value)
    )


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"in [{low}, {high}]"
    if low is not None:
        return f"at least {low}"
    if high is not None:
        return f"at most {high}"
    return "a number"
