"""numpy as a device namespace: its own functions, under the names of the contract."""

import builtins
from collections.abc import Callable
from types import EllipsisType
from typing import cast

import numpy as np
from numpy import (
    abs,
    add,
    all,
    any,
    arange,
    argmax,
    argmin,
    argsort,
    asarray,
    astype,
    bitwise_and,
    bitwise_invert,
    bitwise_or,
    bitwise_xor,
    broadcast_to,
    concat,
    copyto,
    cos,
    cumulative_sum,
    divide,
    empty,
    empty_like,
    equal,
    exp,
    eye,
    floor,
    floor_divide,
    full,
    isfinite,
    isinf,
    isnan,
    log,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    not_equal,
    ones,
    ones_like,
    permute_dims,
    remainder,
    round,
    sign,
    sin,
    sqrt,
    square,
    squeeze,
    stack,
    subtract,
    tanh,
    trunc,
    where,
    zeros,
    zeros_like,
)
from numpy.typing import NDArray

from minispore._array import _windows

__all__ = [
    "abs",
    "add",
    "all",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "astype",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "concat",
    "copyto",
    "cumulative_sum",
    "cos",
    "divide",
    "empty",
    "empty_like",
    "equal",
    "exp",
    "eye",
    "floor",
    "floor_divide",
    "full",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "ones",
    "ones_like",
    "permute_dims",
    "remainder",
    "reshape",
    "round",
    "sign",
    "sin",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "subtract",
    "tanh",
    "trunc",
    "where",
    "zeros",
    "zeros_like",
    "assign",
    "constant",
    "expand_dims",
    "max",
    "mean",
    "min",
    "scatter",
    "sum",
    "fold",
    "windows",
]

# The C library of Linux gives freed memory back at once when there is more of it than twice the
# largest block that was ever freed, and then each step's arrays are mapped and cleared anew. So it
# is shown one of nearly 32 MiB, the most that it takes note of: no time to make, since nothing is
# written to it, and no memory. Up to 64 MiB are kept from then on. That halves LeNet's step.
empty((1 << 25) - (1 << 16), np.uint8)

Floats = NDArray[np.generic]
Axis = int | tuple[int, ...] | None

# numpy's own functions of the names below, and `reshape`, look first for other libraries' arrays
# and for lists, which for small arrays takes longer than the work. Its stubs want `keepdims` as a
# literal.
_sum = cast("Callable[..., Floats]", add.reduce)
_divide = cast("Callable[..., Floats]", divide)
_max = cast("Callable[..., Floats]", maximum.reduce)
_min = cast("Callable[..., Floats]", minimum.reduce)


def sum(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """As numpy.sum; half floats are added up as floats, so that only the result may overflow."""
    if x.dtype.char == "e":
        return _sum(x, axis=axis, keepdims=keepdims, dtype=np.float32).astype(np.float16)
    return _sum(x, axis=axis, keepdims=keepdims)


def max(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """As numpy.max."""
    return _max(x, axis=axis, keepdims=keepdims)


def min(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """As numpy.min."""
    return _min(x, axis=axis, keepdims=keepdims)


def mean(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """As numpy.mean."""
    # Half floats are added up as floats, lest they overflow.
    wide = np.float32 if x.dtype.itemsize == 2 else None
    total = _sum(x, axis=axis, keepdims=keepdims, dtype=wide)
    value = _divide(total, x.size // total.size) if total.size else total
    return value.astype(x.dtype) if wide else value


def reshape(x: Floats, shape: tuple[int, ...], /) -> Floats:
    """As numpy.reshape."""
    return x.reshape(shape)


def expand_dims(x: Floats, /, *, axis: int) -> Floats:
    """As numpy.expand_dims, for one axis."""
    place = axis if axis >= 0 else x.ndim + 1 + axis
    return x.reshape(*x.shape[:place], 1, *x.shape[place:])


def constant(x: Floats, /) -> Floats:
    """An array carries no graph, so it is a constant already."""
    return x


def scatter(values: Floats, /, *, index: tuple[object, ...], shape: tuple[int, ...]) -> Floats:
    """Zeros of `shape` with `values` added at `index`; positions named twice add up."""
    out = zeros(shape, values.dtype)
    if is_basic(index):
        # Basic indices name each position once: assignment is the same and far faster.
        out[cast("tuple[slice, ...]", index)] = values
    else:
        # ufunc.at takes any index that `[]` takes, but its stub says only integers.
        np.add.at(out, cast("list[int]", index), values)
    return out


def windows(x: Floats, /, *, axis: int, size: int, step: int, spread: int) -> Floats:
    """A view of windows along an axis."""
    return _windows.windows(np, x, axis, size, step, spread)


def fold(x: Floats, /, *, axis: int, length: int, step: int, spread: int) -> Floats:
    """The sum of windows, each in its place along an axis."""
    return _windows.fold(np, x, axis, length, step, spread)


def assign(destination: Floats, index: tuple[object, ...], value: Floats | float, /) -> None:
    """`destination[index] = value`."""
    destination[cast("tuple[slice, ...]", index)] = value


def is_basic(index: tuple[object, ...]) -> bool:
    """Whether an index names each position at most once by its form: no array in it."""
    return builtins.all(
        item is None or isinstance(item, int | slice | EllipsisType) for item in index
    )
