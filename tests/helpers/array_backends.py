"""The array libraries of the tests of rules: numpy and array-api-strict."""

from collections.abc import Callable
from typing import cast

import array_api_strict as strict
import numpy as np
from numpy.typing import NDArray

from minispore.engine.array import Array, Axis, HostArray, Namespace, _numpy, register_namespace
from minispore.utils.checks import as_items

CONTRACT = {name for name in vars(Namespace) if not name.startswith("_")}


class StrictNamespace:
    """The functions of the protocol in array-api-strict."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name not in CONTRACT:
            raise AttributeError(f"A rule must not use {name}: it is not in the protocol.")
        function: Callable[..., object] = getattr(strict, name)
        return function

    def stop_gradient(self, x: object, /) -> object:
        return x

    def inner(self, x: Array, y: Array, /, *, axis: Axis, keepdims: bool = False) -> object:
        total: object = self.sum(x * y, axis=axis, keepdims=keepdims)
        return total

    def getitem(self, x: Array, /, *, index: tuple[object, ...]) -> object:
        return x[index]

    def scatter_add(
        self, values: object, /, *, index: tuple[object, ...], shape: tuple[int, ...]
    ) -> object:
        out = np.zeros(shape)
        np.add.at(out, cast("list[int]", index), to_numpy(values))
        return strictly(out)

    def unfold(self, x: object, /, **settings: int) -> object:
        return strictly(_numpy.unfold(to_numpy(x), **settings))

    def fold(self, x: object, /, **settings: int) -> object:
        return strictly(_numpy.fold(to_numpy(x), **settings))

    def decompose(self, x: object, /, *, kind: str) -> object:
        return strictly(np.asarray(_numpy.decompose(to_numpy(x), kind=kind)))


STRICT_ARRAY = cast("type[Array]", type(strict.asarray(0.0)))
register_namespace(STRICT_ARRAY, cast("Namespace[Array]", StrictNamespace()))


def strict_accepts(args: tuple[object, ...]) -> bool:
    """Return whether array-api-strict accepts a rule's arguments: indices must be basic."""
    items = [item for arg in args for item in as_items(arg) or ()]
    return not any(isinstance(item, np.ndarray) for item in items)


def to_numpy(x: object) -> NDArray[np.float64]:
    """Return an array of any library as a numpy array."""
    if isinstance(x, STRICT_ARRAY):
        x = np.from_dlpack(cast("NDArray[np.float64]", x))
    return np.asarray(x)


def frozen(x: HostArray) -> HostArray:
    """Return a read-only copy."""
    copy = np.array(x)
    copy.flags.writeable = False
    return copy


def strictly(x: NDArray[np.generic]) -> object:
    """Return a copy as an array of array-api-strict."""
    return strict.asarray(x, copy=True)
