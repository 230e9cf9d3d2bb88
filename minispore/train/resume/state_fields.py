"""The state of callbacks: attributes that are reset before a run and saved in its state."""

from collections.abc import Mapping
from copy import copy
from typing import Generic, TypeVar, get_args, get_origin

from minispore.train.resume.training_state import read_field
from minispore.utils.checks import as_items, is_dict

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
    inner, path = get_args(kind)[-1], f"{owner}.{key}"
    if is_dict(items):
        return {n: read_value({str(n): item}, str(n), inner, path) for n, item in items.items()}
    indexed = {str(i): item for i, item in enumerate(as_items(items) or ())}
    return [read_value(indexed, index, inner, path) for index in indexed]
