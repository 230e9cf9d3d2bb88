"""numpy as a device namespace."""

import builtins
from collections.abc import Callable
from functools import partial
from math import prod
from string import ascii_letters
from types import EllipsisType, ModuleType
from typing import TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from minispore.engine.array.protocol import NAMES, Axis, HostArray

Floats = HostArray

# glibc returns free memory to the system when it exceeds twice the largest block freed so far, and
# each step's arrays then have to be mapped and cleared again. Freeing one block of nearly 32 MiB,
# the largest that glibc takes into account, makes it keep up to 64 MiB. The block itself costs
# neither time nor memory, since nothing is written to it. This halves the time of LeNet's step.
np.empty((1 << 25) - (1 << 16), np.uint8)

# `np.sum` and the like first check for other libraries' arrays and for lists, which for small
# arrays takes longer than the reduction. In numpy's stubs `keepdims` is a literal.
_sum: Callable[..., Floats] = np.add.reduce
_divide: Callable[..., Floats] = np.divide
_max: Callable[..., Floats] = np.maximum.reduce
_min: Callable[..., Floats] = np.minimum.reduce


def sum(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """Return the sum over `axis`; float16 is summed in float32, so only the result may overflow."""
    total = _wide_sum(x, axis, keepdims=keepdims)
    return total.astype(np.float16) if x.dtype.char == "e" else total


def _wide_sum(x: Floats, axis: Axis, *, keepdims: bool) -> Floats:
    """Return the sum over `axis`, in float32 if x is float16."""
    if x.dtype.char == "e":
        return _sum(x, axis=axis, keepdims=keepdims, dtype=np.float32)
    if axis is None or x.size < _ROW or x.dtype.kind != "f":
        return _sum(x, axis=axis, keepdims=keepdims)
    reduced = {i % x.ndim for i in (axis if isinstance(axis, tuple) else (axis,))}
    last_kept = builtins.max({*range(x.ndim)} - reduced, default=-1)
    # `einsum` adds neighbouring elements in a third of the time, one after another: more of them
    # are added pairwise by numpy, whose rounding errors stay small.
    if not 1 < prod(x.shape[last_kept + 1 :]) <= _NEIGHBOURS:
        return _sum(x, axis=axis, keepdims=keepdims)
    letters = ascii_letters[: x.ndim]
    kept = "".join(letter for i, letter in enumerate(letters) if i not in reduced)
    total: Floats = np.einsum(f"{letters}->{kept}", x)
    return np.expand_dims(total, tuple(reduced)) if keepdims else total


def max(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """Return the largest element over `axis`."""
    return _max(x, axis=axis, keepdims=keepdims)


def min(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """Return the smallest element over `axis`."""
    return _min(x, axis=axis, keepdims=keepdims)


def maximum(x: Floats, y: Floats | float, /, out: Floats | None = None) -> Floats:
    """Return the larger of two elements."""
    is_number = isinstance(y, int | float) and x.dtype.kind == "f"
    if x.size > 16 * _ROW and is_number and x.flags.c_contiguous:
        # numpy takes three times as long with a number as with rows of this number.
        first = next(i for i in range(x.ndim)[::-1] if prod(x.shape[i:]) > _ROW)
        y = np.full(x.shape[first:], y, x.dtype)
    return np.maximum(x, y, out=out)


# The elements of a row: it stays in the cache, and its call is negligible.
_ROW = 1000
_NEIGHBOURS = 8000


def mean(x: Floats, /, *, axis: Axis = None, keepdims: bool = False) -> Floats:
    """Return the mean over `axis`; float16 is summed in float32, so the sum cannot overflow."""
    total = _wide_sum(x, axis, keepdims=keepdims)
    value = _divide(total, x.size // total.size) if total.size else total
    return value.astype(np.float16) if x.dtype.char == "e" else value


def reshape(x: Floats, shape: tuple[int, ...], /) -> Floats:
    """Return the elements in another shape."""
    return x.reshape(shape)


def broadcast_to(x: Floats, shape: tuple[int, ...], /) -> Floats:
    """Return a read-only view in a larger shape."""
    if x.ndim or not isinstance(x, np.ndarray | np.generic):
        return np.broadcast_to(x, shape)
    # For a number, such as the gradient of a mean, numpy's function takes four times as long.
    view = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    view.flags.writeable = False
    return view


def expand_dims(x: Floats, /, *, axis: int) -> Floats:
    """Return a view with a new axis of length 1."""
    index = axis if axis >= 0 else x.ndim + 1 + axis
    return x[(*(slice(None),) * index, None)]


def ones_like(x: Floats, /) -> Floats:
    """Return ones in the shape, type and layout of `x`, in half the time of numpy's function."""
    value = np.empty_like(x)
    value.fill(1)
    return value


def stop_gradient(x: Floats, /) -> Floats:
    """Return `x`: an array is not part of a graph."""
    return x


def scatter_add(values: Floats, /, *, index: tuple[object, ...], shape: tuple[int, ...]) -> Floats:
    """Return zeros of `shape` with `values` added at `index`; equal indices accumulate."""
    out = np.zeros(shape, values.dtype)
    if is_basic(index):
        # Basic indices contain each position once: assignment is the same and far faster.
        out[index] = values
    elif len(index) == 1 and (places := np.asarray(index[0])).dtype.kind in "iu":
        width = prod(shape[1:])
        ids, rows = places.reshape(-1).astype(np.intp), values.reshape(places.size, width)
        if width >= _WIDE and 2 * ids.size < shape[0]:
            # Most rows occur once: the last occurrence of each is assigned, the others are added.
            order, last = np.arange(ids.size), np.empty(shape[0], np.intp)
            last[ids] = order
            out.reshape(shape[0], width)[ids] = rows
            others = last[ids] != order
            ids, rows = ids[others], rows[others]
        # The addition of single elements is far faster than that of rows.
        positions = ids[:, None] * width + np.arange(width)
        np.add.at(out.reshape(-1), positions.reshape(-1), rows.reshape(-1))
    else:
        # ufunc.at takes any index that `[]` takes, but its stub says only integers.
        np.add.at(out, cast("list[int]", index), values)
    return out


# The length of rows from which the assignment of rows is faster than additions.
_WIDE = 16


def scatter_at(values: Floats, index: tuple[object, ...], shape: tuple[int, ...]) -> Floats:
    """Return `scatter_add`, with the index as a positional argument."""
    return scatter_add(values, index=index, shape=shape)


def power_of(x: NDArray[np.float64], y: float) -> Floats:
    """Return `x**y`, which for some exponents is another function than `np.power`."""
    return x**y


def unfold_with(
    library: ModuleType, x: Floats, /, *, axis: int, kernel_size: int, stride: int, dilation: int
) -> Floats:
    """Compute `Namespace.unfold` with numpy or CuPy; only arrays not in C order are copied."""
    x = library.ascontiguousarray(x)
    shape, strides = x.shape, x.strides
    count = (shape[axis] - dilation * (kernel_size - 1) - 1) // stride + 1
    view: Floats = library.lib.stride_tricks.as_strided(
        x,
        (*shape[:axis], count, kernel_size, *shape[axis + 1 :]),
        (*strides[:axis], strides[axis] * stride, strides[axis] * dilation, *strides[axis + 1 :]),
    )
    return view


def fold_with(
    library: ModuleType, x: Floats, /, *, axis: int, length: int, stride: int, dilation: int
) -> Floats:
    """Compute `Namespace.fold` with numpy or CuPy: one addition per position in the kernel."""
    count, kernel_size = x.shape[axis : axis + 2]
    shape = (*x.shape[:axis], length, *x.shape[axis + 2 :])
    if kernel_size == stride and dilation == 1 and prod(shape) == x.size:
        # The windows do not overlap: each element is in one of them.
        return x.reshape(shape)
    out: Floats = library.zeros(shape, x.dtype)
    before: tuple[slice | int, ...] = (slice(None),) * axis
    for i in range(kernel_size):
        first = i * dilation
        positions = (*before, slice(first, first + stride * (count - 1) + 1, stride))
        part = x[(*before, slice(None), i)]
        library.add(out[positions], part, out=out[positions])
    return out


unfold = partial(unfold_with, np)
fold = partial(fold_with, np)


def assign(destination: Floats, index: tuple[object, ...], value: Floats | float, /) -> None:
    """Execute `destination[index] = value`."""
    destination[cast("tuple[slice, ...]", index)] = value


def is_basic(index: tuple[object, ...]) -> TypeGuard[tuple[int | slice | EllipsisType | None, ...]]:
    """Return whether an index contains no array, so that it contains each position at most once."""
    return builtins.all(
        item is None or isinstance(item, int | slice | EllipsisType) for item in index
    )


# All other functions are numpy's own.
globals().update({name: getattr(np, name) for name in NAMES if name not in globals()})
