"""CuPy as a device namespace: the names of `_numpy` on a graphics card.

Imported only when a GPU is asked for. CuPy has no usable type stubs: its functions are fetched by
name, and `device` casts the module as a whole to the contract.
"""

from importlib import import_module
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from minispore._array import _numpy

_cupy: ModuleType = import_module("cupy")
_cupyx: ModuleType = import_module("cupyx")

ndarray: type = _cupy.ndarray

_OWN = ("assign", "constant", "scatter")
# Everything that `_numpy` takes from numpy, taken from CuPy under the same name.
globals().update({name: getattr(_cupy, name) for name in _numpy.__all__ if name not in _OWN})


def is_available() -> bool:
    """Whether a CUDA device answers."""
    return bool(_cupy.is_available())


def to_host(x: object) -> NDArray[np.generic]:
    """A numpy copy of a device array."""
    values: NDArray[np.generic] = _cupy.asnumpy(x)
    return values


constant = _numpy.constant
assign = _numpy.assign


def scatter(values: object, /, *, index: tuple[object, ...], shape: tuple[int, ...]) -> object:
    """Zeros of `shape` with `values` added at `index`; positions named twice add up."""
    out = _cupy.zeros(shape, getattr(values, "dtype", None))
    _cupyx.scatter_add(out, index, values)
    return out
