"""CuPy, which computes on a GPU, as an array backend.

This module is imported only when a GPU is requested. CuPy has no usable type stubs: its functions
are fetched by name, and `device` casts the module to `ArrayBackend`.

A kernel of our own, for example for an optimizer's update, would be a function here with a name of
the protocol, and a function of the same name in `_numpy` would do the same in numpy.
"""

from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from minispore.engine.array import _numpy
from minispore.engine.array.protocol import NAMES, Axis
from minispore.utils.arrays import AnyArray

_cupy: ModuleType = import_module("cupy")

ndarray: type = _cupy.ndarray


def is_available() -> bool:
    """Return whether there is a CUDA device."""
    return bool(_cupy.is_available())


def to_host(x: object) -> AnyArray:
    """Return a numpy copy of a device array."""
    values: AnyArray = _cupy.asnumpy(x)
    return values


def synchronize() -> None:
    """Wait for the current stream, in which all functions here compute."""
    _cupy.cuda.get_current_stream().synchronize()


def asarray(value: object, /, dtype: "np.dtype[np.generic] | None" = None) -> object:
    """Return an array; a number is passed to a kernel as its argument, not copied to the device."""
    if isinstance(value, bool | int | float):
        # numpy raises an error if the number does not fit the type.
        number = np.asarray(value, dtype)
        return _cupy.full((), number.item(), number.dtype)
    return _cupy.asarray(value, dtype)


stop_gradient = _numpy.stop_gradient
assign = _numpy.assign
unfold = partial(_numpy.unfold_with, _cupy)
fold = partial(_numpy.fold_with, _cupy)
decompose = partial(_numpy.decompose_with, _cupy)


def inner(x: AnyArray, y: AnyArray, /, *, axis: Axis, keepdims: bool = False) -> AnyArray:
    """Return the sum of the products of two arrays of one shape over `axis`."""
    total: AnyArray = _cupy.sum(_cupy.multiply(x, y), axis=axis, keepdims=keepdims)
    return total


def getitem(x: AnyArray, /, *, index: tuple[Any, ...]) -> AnyArray:
    """Return `x[index]`."""
    found: AnyArray = x[index]
    return found


def scatter_add(
    values: AnyArray, /, *, index: tuple[object, ...], shape: tuple[int, ...]
) -> AnyArray:
    """Return zeros of `shape` with `values` added at `index`; equal indices accumulate."""
    if values.dtype.kind != "f" and not _numpy.is_basic(index):
        # CUDA has no atomic addition of int64, but of uint64, whose sums have the same bits.
        wide = scatter_add(values.astype(np.uint64), index=index, shape=shape)
        return wide.astype(values.dtype)
    if values.dtype.char == "e" and not _numpy.is_basic(index):
        wide = scatter_add(values.astype(np.float32), index=index, shape=shape)
        return wide.astype(np.float16)
    out: AnyArray = _cupy.zeros(shape, values.dtype)
    if _numpy.is_basic(index):
        assign(out, index, values)
    else:
        _cupy.add.at(out, index, values)
    return out


# All other functions are CuPy's own.
globals().update({name: getattr(_cupy, name) for name in NAMES if name not in globals()})
