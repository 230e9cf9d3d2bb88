"""Snapshots of everything that a callback can change in a run."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from minispore.common import Parameter, Tensor
from minispore.engine.array import is_ndarray
from minispore.nn import Cell
from minispore.train.protocol import Callback, RunContext
from minispore.utils.checks import as_items, is_mapping, is_tuple


class StateKey(NamedTuple):
    """The key of a value in a snapshot.

    Attributes:
        kind: "entry" for an entry of the run's `original_args`; "parameter" for a parameter of the
            network or the optimizer, such as the learning rate.
        name: The name.
    """

    kind: Literal["entry", "parameter"]
    name: str


class ParameterValue(NamedTuple):
    """The value of a parameter."""

    dtype: npt.DTypeLike
    shape: tuple[int, ...]
    data: bytes


StateSnapshot: TypeAlias = Mapping[StateKey, tuple[object, ...]]


class StateSnapshotter:
    """Takes snapshots of a run; caches the list of the last run's parameters."""

    def __init__(self) -> None:
        self._context: RunContext | None = None
        self._parameters: Sequence[Parameter] = ()

    def snapshot(self, context: RunContext) -> StateSnapshot:
        """Return the current state as values that can be compared."""
        params = context.original_args()
        if context is not self._context:
            root = params.get("train_network", params.get("network"))
            self._parameters = list(root.get_parameters()) if isinstance(root, Cell) else ()
            self._context = context
        snapshot: dict[StateKey, tuple[object, ...]] = {
            StateKey("entry", name): _comparable(value) for name, value in params.items()
        }
        for parameter in self._parameters:
            array = parameter.asnumpy()
            value = ParameterValue(array.dtype, array.shape, array.tobytes())
            snapshot[StateKey("parameter", parameter.name)] = value
        return snapshot


def changed_keys(before: StateSnapshot, after: StateSnapshot) -> list[StateKey]:
    """Return the keys of values that differ or that only one of the snapshots has.

    >>> weight, best = StateKey("parameter", "w"), StateKey("entry", "best")
    >>> changed_keys({weight: (1,)}, {weight: (1,), best: (2,)})
    [StateKey(kind='entry', name='best')]
    """
    return [key for key in {**before, **after} if before.get(key) != after.get(key)]


def describe_changes(before: StateSnapshot, after: StateSnapshot) -> tuple[str, ...]:
    """Return the name of each change; for a parameter of one element, with both values."""
    return tuple(
        _describe_change(key, before.get(key), after.get(key))
        for key in changed_keys(before, after)
    )


def _describe_change(key: StateKey, before: object, after: object) -> str:
    if key.kind == "entry":
        return f"cb_params.{key.name}"
    old, new = _format_scalar(before), _format_scalar(after)
    return key.name if old is None or new is None else f"{key.name} from {old} to {new}"


def _comparable(value: object) -> tuple[object, ...]:
    """Return a tuple that compares by value what is simple, and the rest by identity.

    Of a tensor, and of the items of a list, such as those of a batch, both count.
    """
    if isinstance(value, bool | int | float | str | bytes):
        return type(value), value
    array = value.asnumpy() if isinstance(value, Tensor) else value
    if is_ndarray(array):
        return id(value), value, array.dtype, array.shape, array.tobytes()
    items = [_comparable(item) for item in as_items(value) or ()]
    return id(value), value, *items


def _format_scalar(value: object) -> str | None:
    if not isinstance(value, ParameterValue) or np.prod(value.shape) != 1:
        return None
    return str(np.frombuffer(value.data, value.dtype)[0])


def shared_state(callback: Callback) -> dict[str, object]:
    """Return what all objects of a callback's class share, by name, in a form that is compared.

    These are the attributes of its classes, and the default arguments of their methods.
    """
    shared: dict[str, object] = {}
    for cls in set(type(callback).__mro__) - set(Callback.__mro__):
        for name, value in vars(cls).items():
            path = f"{cls.__name__}.{name}"
            if isinstance(value, FunctionType):
                shared[f"a default argument of {path}"] = _contents(
                    (value.__defaults__, value.__kwdefaults__), cls
                )
            if not name.startswith("__"):
                shared[f"the class attribute {path}"] = _contents(value, cls)
    return shared


def _contents(value: object, owner: type, depth: int = 5) -> object:
    """Return a value's contents; of objects, only of those of classes in the module of `owner`."""
    if depth == 0:
        return None
    identity = None if is_tuple(value) else id(value)  # of a new tuple of equal values
    if isinstance(value, Tensor) or is_ndarray(value):
        return _comparable(value)
    if is_mapping(value):
        return identity, [(key, _contents(item, owner, depth - 1)) for key, item in value.items()]
    if isinstance(value, list | tuple | set | deque):
        items = cast("Iterable[object]", value)
        return identity, [_contents(item, owner, depth - 1) for item in items]
    if type(value).__module__ == owner.__module__:
        attributes: object = getattr(value, "__dict__", None)
        return identity, value, _contents(attributes, owner, depth - 1)
    # An iterator such as `itertools.count` shows its position.
    text = repr(value) if type(value).__module__ == "itertools" else ""
    return _comparable(value), text
