"""The state of callbacks: attributes that are reset before a run, and reading a saved state."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Generic, TypeVar, get_args, get_origin

from minispore.utils.checks import as_items, caller, is_dict

T = TypeVar("T")


class StateField(Generic[T]):
    """An attribute of a `StatefulMixin` that is a part of its state.

    Args:
        kind: The type: bool, int, float, str, Tensor, or a list or dict of a type, such as
            `list[float]`.
        initial: The value at the beginning of a run; by default `kind()`, such as a new list.
        key: The name in the state; by default that of the attribute without the underscore.
    """

    def __init__(self, kind: type[T], initial: T | None = None, key: str = "") -> None:
        self.kind: type[T] = kind
        self.key: str = key
        self._initial = initial

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self.key = name, self.key or name.lstrip("_")

    def __get__(self, instance: object, owner: type | None = None) -> T:
        # Of the class, where `instance` is None, an AttributeError.
        attributes = instance.__dict__
        if self._name not in attributes:
            self.reset(instance)
        value: T = attributes[self._name]
        return value

    def __set__(self, instance: object, value: T) -> None:
        instance.__dict__[self._name] = value

    def reset(self, instance: object) -> None:
        """Set the attribute of `instance` to its initial value."""
        self.__set__(instance, self.kind() if self._initial is None else self._initial)


class StatefulMixin:
    """A base class of callbacks whose state consists of their `StateField`s.

    Examples:
        >>> class Counter(StatefulMixin):
        ...     _counts = StateField(dict[str, int])
        >>> counter = Counter()
        >>> counter._counts["a"] = 2
        >>> counter.state_dict()
        {'counts': {'a': 2}}
        >>> counter.load_state_dict({"counts": {"a": "b"}})
        Traceback (most recent call last):
        ValueError: For 'Counter.counts', the state's 'a' must be of type int, but got 'b'.
    """

    def reset_state(self) -> None:
        """Set all state fields to their initial values; called when a run begins."""
        for field in self._state_fields().values():
            field.reset(self)

    def state_dict(self) -> dict[str, object]:
        """Return the state."""
        fields = self._state_fields()
        return {field.key: copy(getattr(self, name)) for name, field in fields.items()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state.

        Raises:
            ValueError: A field is missing or of another type; nothing is changed then.
        """
        for name, value in self.validate_state(state).items():
            setattr(self, name, value)

    def validate_state(self, state: Mapping[str, object]) -> dict[str, object]:
        """Return a copy of the state by attribute names; ValueError if it is invalid."""
        return {
            name: read_value(state, field.key, field.kind, type(self).__name__)
            for name, field in self._state_fields().items()
        }

    @classmethod
    def _state_fields(cls) -> dict[str, StateField[object]]:
        attributes = [item for base in cls.__mro__ for item in vars(base).items()]
        return {name: value for name, value in attributes if isinstance(value, StateField)}


def read_value(state: Mapping[str, object], key: str, kind: type[object], owner: str) -> object:
    """Return a copy of `state[key]`; ValueError if it contains a value of another type."""
    container: type[object] | None = get_origin(kind)
    items: object = read_field(state, key, container or kind, owner)
    if container is None:
        return items
    *_, inner = get_args(kind)
    inner, path = object if inner is Any else inner, f"{owner}.{key}"
    if is_dict(items):
        return {n: read_value({str(n): item}, str(n), inner, path) for n, item in items.items()}
    indexed = {str(i): item for i, item in enumerate(as_items(items) or ())}
    return [read_value(indexed, index, inner, path) for index in indexed]


def read_field(state: Mapping[str, object], key: str, kind: type[T], owner: str | None = None) -> T:
    """Return `state[key]`, which must be of type `kind`; an int is accepted for a float.

    Args:
        state: The state, as `load_state_dict` receives it.
        key: The key.
        kind: The expected type. Of `list[int]`, only the class is checked.
        owner: The name in the error; by default that of the callback.

    Returns:
        The value, as a float if `kind` is float.

    Raises:
        ValueError: There is no such key, or its value is of another type.

    Examples:
        >>> read_field({"wait": 2}, "wait", int, "EarlyStopping")
        2
        >>> read_field({"wait": "long"}, "wait", int, "EarlyStopping")
        Traceback (most recent call last):
        ValueError: For 'EarlyStopping', the state's 'wait' must be of type int, but got 'long'.
    """
    cls: type[T] = get_origin(kind) or kind
    if key not in state:
        raise ValueError(f"For '{owner or caller()}', the state holds no '{key}'.")
    value = state[key]
    if kind is float and type(value) is int:
        return read_field({key: float(value)}, key, kind, owner)
    if not isinstance(value, cls) or (isinstance(value, bool) and kind is int):
        raise ValueError(
            f"For '{owner or caller()}', the state's '{key}' must be of type {cls.__name__}, "
            f"but got {value!r}."
        )
    return value


def read_dict_field(
    state: Mapping[str, object], key: str, kind: type[T], owner: str | None = None
) -> dict[str, T]:
    """Return a copy of `state[key]`, which must be a dict with values of type `kind`.

    Args:
        state: The state, as `load_state_dict` receives it.
        key: The key.
        kind: The expected type of the values.
        owner: The name in the error; by default that of the callback.

    Returns:
        A new dict of the values, converted as by `read_field`.

    Raises:
        ValueError: There is no such key, or its value is of another type.

    Examples:
        >>> read_dict_field({"best": {"loss": 0.5}}, "best", float, "BestCheckpoint")
        {'loss': 0.5}
    """
    values = read_field(state, key, dict[str, object], owner)
    path = f"{owner or caller()}.{key}"
    return {name: read_field(values, name, kind, path) for name in values}


def read_list_field(
    state: Mapping[str, object], key: str, kind: type[T], owner: str | None = None
) -> list[T]:
    """Return a copy of `state[key]`, which must be a list with items of type `kind`.

    Args:
        state: The state, as `load_state_dict` receives it.
        key: The key.
        kind: The expected type of the items.
        owner: The name in the error; by default that of the callback.

    Returns:
        A new list of the items, converted as by `read_field`.

    Raises:
        ValueError: There is no such key, or its value is of another type.

    Examples:
        >>> read_list_field({"epoch": [1, 2]}, "epoch", int, "History")
        [1, 2]
    """
    items = read_field(state, key, list[object], owner)
    indexed = {key: {str(i): item for i, item in enumerate(items)}}
    return list(read_dict_field(indexed, key, kind, owner).values())
