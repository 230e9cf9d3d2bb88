"""The array libraries that the rules are tested on: numpy, and the standard's strict one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import array_api_strict as strict
import numpy as np
from numpy.typing import NDArray

from minispore._array import Array, Namespace, _numpy, register
from minispore._checks import as_items

CONTRACT = {name for name in vars(Namespace) if not name.startswith("_")}


class StrictNamespace:
    """array-api-strict, and of it only what the contract names."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        if name not in CONTRACT:
            raise AttributeError(f"A rule may not use {name}: it is not in the contract.")
        return cast("Callable[..., object]", getattr(strict, name))

    def constant(self, x: object, /) -> object:
        return x

    def scatter(
        self, values: object, /, *, index: tuple[object, ...], shape: tuple[int, ...]
    ) -> object:
        out = np.zeros(shape)
        np.add.at(out, cast("list[int]", index), to_numpy(values))
        return strictly(out)

    def windows(self, x: object, /, **settings: int) -> object:
        return strictly(_numpy.windows(to_numpy(x), **settings))

    def fold(self, x: object, /, **settings: int) -> object:
        return strictly(_numpy.fold(to_numpy(x), **settings))


STRICT_ARRAY = cast("type[Array]", type(strict.asarray(0.0)))
register(STRICT_ARRAY, cast("Namespace[Array]", StrictNamespace()))


@dataclass(frozen=True)
class Library:
    """How to come to a library's arrays from numpy's."""

    name: str
    make: Callable[[NDArray[np.generic]], object]

    def takes(self, args: tuple[object, ...]) -> bool:
        """Whether the library knows such arguments: the standard's indices are the basic ones."""
        items = [item for arg in args for item in as_items(arg) or ()]
        return self.name == "numpy" or not any(isinstance(item, np.ndarray) for item in items)


def to_numpy(x: object) -> NDArray[np.float64]:
    """An array of any library as numpy's."""
    if isinstance(x, STRICT_ARRAY):
        x = np.from_dlpack(cast("NDArray[np.float64]", x))
    return np.asarray(cast("NDArray[np.float64]", x))


def frozen(x: NDArray[np.generic]) -> NDArray[np.generic]:
    """A copy that refuses to be written to."""
    copy = np.array(x)
    copy.flags.writeable = False
    return copy


def strictly(x: NDArray[np.generic]) -> object:
    """A copy as an array of array-api-strict."""
    return cast("object", strict.asarray(x, copy=True))


LIBRARIES = [Library("numpy", frozen), Library("strict", strictly)]
