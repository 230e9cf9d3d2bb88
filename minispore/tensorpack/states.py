"""What callbacks remember: attributes that are empty when a run begins, and make up a state."""

from collections.abc import Mapping
from time import perf_counter
from typing import Generic, TypeVar, cast, get_args, get_origin

from minispore.train._protocol.states import entry

T = TypeVar("T")


class Kept(Generic[T]):
    """An attribute of a `Remembering` that is in its state.

    Args:
        kind: Its type: bool, int, float, str, or a list or dict of a type, as `list[float]`.
        initial: What it is when a run begins; by default what `kind` makes, such as a new list.
    """

    def __init__(self, kind: type[T], initial: T | None = None) -> None:
        self.kind, self._initial = kind, initial

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object, cls: type | None = None) -> T:
        if self._name not in vars(owner):
            self.empty(owner)
        return cast("T", vars(owner)[self._name])

    def __set__(self, owner: object, value: T) -> None:
        vars(owner)[self._name] = value

    def empty(self, owner: object) -> None:
        """Make it what it is when a run begins."""
        self.__set__(owner, self.kind() if self._initial is None else self._initial)


class Seconds(Kept[float]):
    """One that counts seconds: how long ago the run began, or it was set to 0.0."""

    def __init__(self) -> None:
        super().__init__(float)

    def __get__(self, owner: object, cls: type | None = None) -> float:
        return perf_counter() - super().__get__(owner)

    def __set__(self, owner: object, value: float) -> None:
        super().__set__(owner, perf_counter() - value)


class Remembering:
    """A callback with a state: what is `Kept`, by names without the underscore.

    Examples:
        >>> class Counter(Remembering):
        ...     _counts = Kept(dict[str, int])
        >>> counter = Counter()
        >>> counter._counts["a"] = 2
        >>> counter.state_dict()
        {'counts': {'a': 2}}
        >>> counter.load_state_dict({"counts": {"a": "b"}})
        Traceback (most recent call last):
        ValueError: For 'Counter.counts', the state's 'a' must be of type int, but got 'b'.
    """

    def forget(self) -> None:
        """Begin anew: it is called when a run begins."""
        for kept in self._kept().values():
            kept.empty(self)

    def state_dict(self) -> dict[str, object]:
        """Return what it remembers."""
        return {name.lstrip("_"): getattr(self, name) for name in self._kept()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with a state.

        Raises:
            ValueError: It is none; nothing is changed then.
        """
        for name, value in self.checked(state).items():
            setattr(self, name, value)

    def checked(self, state: Mapping[str, object]) -> dict[str, object]:
        """Return a copy of the state, by attributes; ValueError if it is none."""
        owner = type(self).__name__
        return {
            name: _read(state, name.lstrip("_"), kept.kind, owner)
            for name, kept in self._kept().items()
        }

    @classmethod
    def _kept(cls) -> dict[str, Kept[object]]:
        found = [each for base in cls.__mro__ for each in vars(base).items()]
        return {name: value for name, value in found if isinstance(value, Kept)}


def _read(state: Mapping[str, object], key: str, kind: type[object], owner: str) -> object:
    """`state[key]`, copied and looked through; ValueError if something in it is of another type."""
    container: type[object] | None = get_origin(kind)
    items: object = entry(state, key, container or kind, owner)
    if container is None:
        return items
    inner = get_args(kind)[-1]
    if isinstance(items, dict):
        named = cast("dict[str, object]", items)
        return {each: _read(named, each, inner, f"{owner}.{key}") for each in named}
    listed = {str(i): item for i, item in enumerate(cast("list[object]", items))}
    return [_read(listed, each, inner, f"{owner}.{key}") for each in listed]
