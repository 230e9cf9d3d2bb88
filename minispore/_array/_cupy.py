"""CuPy as a device namespace: the names of `_numpy` on a graphics card.

Imported only when a GPU is asked for. CuPy has no usable type stubs: its functions are fetched by
name, and `device` casts the module as a whole to the contract.

A kernel of our own, say for an optimiser's update, would be a function here under a name of the
contract, beside the plain one in `_numpy`.
"""

from importlib import import_module
from types import ModuleType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from minispore._array import _numpy, _windows

_cupy: ModuleType = import_module("cupy")

ndarray: type = _cupy.ndarray

_OWN = ("asarray", "assign", "constant", "fold", "scatter", "windows")
# Everything that `_numpy` takes from numpy, taken from CuPy under the same name.
globals().update({name: getattr(_cupy, name) for name in _numpy.__all__ if name not in _OWN})


def is_available() -> bool:
    """Whether a CUDA device answers."""
    return bool(_cupy.is_available())


def to_host(x: object) -> NDArray[np.generic]:
    """A numpy copy of a device array."""
    values: NDArray[np.generic] = _cupy.asnumpy(x)
    return values


def synchronize() -> None:
    """Wait for the current stream, in which all functions here compute."""
    _cupy.cuda.get_current_stream().synchronize()


def asarray(value: object, /, dtype: object = None) -> object:
    """As cupy.asarray, but a number is an argument of a kernel, not a copy from the host."""
    if isinstance(value, bool | int | float):
        # numpy refuses what does not fit.
        number = np.asarray(value, cast("np.dtype[np.generic] | None", dtype))
        return cast("object", _cupy.full((), number.item(), number.dtype))
    return cast("object", _cupy.asarray(value, dtype))


constant = _numpy.constant
assign = _numpy.assign


def scatter(
    values: NDArray[np.generic], /, *, index: tuple[object, ...], shape: tuple[int, ...]
) -> NDArray[np.generic]:
    """Zeros of `shape` with `values` added at `index`; positions named twice add up."""
    if values.dtype.kind != "f" and not _numpy.is_basic(index):
        # CUDA adds no int64 at once, but uint64, in which the same bits mean the same sum.
        wide = scatter(values.astype(np.uint64), index=index, shape=shape)
        return wide.astype(values.dtype)
    out: NDArray[np.generic] = _cupy.zeros(shape, values.dtype)
    if _numpy.is_basic(index):
        assign(out, index, values)
    else:
        _cupy.add.at(out, index, values)
    return out


def windows(
    x: NDArray[np.generic], /, *, axis: int, size: int, step: int, spread: int
) -> NDArray[np.generic]:
    """A view of windows along an axis."""
    return _windows.windows(_cupy, x, axis, size, step, spread)


def fold(
    x: NDArray[np.generic], /, *, axis: int, length: int, step: int, spread: int
) -> NDArray[np.generic]:
    """The sum of windows, each in its place along an axis."""
    return _windows.fold(_cupy, x, axis, length, step, spread)
