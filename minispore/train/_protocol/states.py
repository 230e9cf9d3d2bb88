"""Reading the states of callbacks: what is missing or of another type is refused by name."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

T = TypeVar("T")


def entry(state: Mapping[str, object], key: str, kind: type[T], owner: str) -> T:
    """Return `state[key]`, which must be of type `kind`; for a float an int will do.

    Raises:
        ValueError: It is not there, or of another type.

    Examples:
        >>> entry({"wait": 2}, "wait", int, "EarlyStopping")
        2
        >>> entry({"wait": "long"}, "wait", int, "EarlyStopping")
        Traceback (most recent call last):
        ValueError: For 'EarlyStopping', the state's 'wait' must be of type int, but got 'long'.
    """
    if key not in state:
        raise ValueError(f"For '{owner}', the state holds no '{key}'.")
    value = state[key]
    if kind is float and type(value) is int:
        return cast("T", float(value))
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(
            f"For '{owner}', the state's '{key}' must be of type {kind.__name__}, "
            f"but got {value!r}."
        )
    return value


def entries(state: Mapping[str, object], key: str, kind: type[T], owner: str) -> dict[str, T]:
    """Return `state[key]`, which must be a dict with values of type `kind`; a copy.

    Raises:
        ValueError: It is not there, no dict, or one of its values is of another type.
    """
    values = cast("Mapping[str, object]", entry(state, key, dict, owner))
    return {name: entry(values, name, kind, f"{owner}.{key}") for name in values}


def numbers(state: Mapping[str, object], key: str, kind: type[T], owner: str) -> list[T]:
    """Return `state[key]`, which must be a list with items of type `kind`; a copy.

    Raises:
        ValueError: It is not there, no list, or one of its items is of another type.
    """
    items = cast("Sequence[object]", entry(state, key, list, owner))
    places = {str(i): item for i, item in enumerate(items)}
    return [entry(places, place, kind, f"{owner}.{key}") for place in places]
