"""numpy as a device namespace."""

import builtins
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from math import prod
from string import ascii_letters
from types import EllipsisType, ModuleType
from typing import Any, TypeGuard, cast

import numpy as np

from minispore.engine.array.protocol import NAMES, Axis
from minispore.utils.arrays import Float64Array, HostArray, IndexArray

# glibc returns free memory to the system when it exceeds twice the largest block freed so far, and
# each step's arrays then have to be mapped and cleared again. Freeing one block of nearly 32 MiB,
# the largest that glibc takes into account, makes it keep up to 64 MiB. The block itself costs
# neither time nor memory, since nothing is written to it. This halves the time of LeNet's step.
np.empty((1 << 25) - (1 << 16), np.uint8)

# `np.sum` and the like first check for other libraries' arrays and for lists, which for small
# arrays takes longer than the reduction. In numpy's stubs `keepdims` is a literal.
_sum: Callable[..., HostArray] = np.add.reduce
_divide: Callable[..., HostArray] = np.divide
_max: Callable[..., HostArray] = np.maximum.reduce
_min: Callable[..., HostArray] = np.minimum.reduce


def sum(x: HostArray, /, *, axis: Axis = None, keepdims: bool = False) -> HostArray:
    """Return the sum over `axis`; float16 is summed in float32, so only the result may overflow."""
    total = _wide_sum(x, axis, keepdims=keepdims)
    return total.astype(np.float16) if x.dtype.char == "e" else total


def _wide_sum(x: HostArray, axis: Axis, *, keepdims: bool) -> HostArray:
    """Return the sum over `axis`, in float32 if x is float16."""
    if x.dtype.char == "e":
        return _sum(x, axis=axis, keepdims=keepdims, dtype=np.float32)
    if x.size < _ROW or x.dtype.kind != "f":
        return _sum(x, axis=axis, keepdims=keepdims)
    if axis is None and not keepdims and x.ndim > 1 and x.flags.c_contiguous:
        return _sum(_wide_sum(x, -1, keepdims=False), axis=None)
    is_last = axis in (x.ndim - 1, -1, (x.ndim - 1,))
    if is_last and x.flags.c_contiguous and x.shape[-1] <= _NEIGHBOURS:
        total: HostArray = np.einsum("...i->...", x)
        return total[..., None] if keepdims else total
    neighbours, reduced = _neighbours(x, axis)
    if not 1 < neighbours <= _NEIGHBOURS:
        return _sum(x, axis=axis, keepdims=keepdims)
    return _einsum([x], reduced, keepdims=keepdims)


def inner(x: HostArray, y: HostArray, /, *, axis: Axis, keepdims: bool = False) -> HostArray:
    """Return the sum of the products of two arrays of one shape over `axis`."""
    last, is_float = x.ndim - 1, x.dtype.char in "fd"
    if axis in (last, -1, (last,)) and is_float and 0 < x.shape[last] <= _NEIGHBOURS:
        total: HostArray = np.vecdot(x, y)
        return total[..., None] if keepdims else total
    neighbours, reduced = _neighbours(x, axis)
    if x.size >= _ROW and is_float and neighbours <= _NEIGHBOURS:
        return _einsum([x, y], reduced, keepdims=keepdims)
    return sum(x * y, axis=axis, keepdims=keepdims)


def _neighbours(x: HostArray, axis: Axis) -> tuple[int, set[int]]:
    """Return how many neighbouring elements in memory are added by a sum over axes, and these."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    reduced = {i % x.ndim for i in axes}
    inner = takewhile(reduced.__contains__, range(x.ndim)[:: 1 if is_by_columns(x) else -1])
    return prod(x.shape[i] for i in inner), reduced


def _einsum(operands: list[HostArray], reduced: set[int], *, keepdims: bool) -> HostArray:
    """Return the sum of the products of arrays over axes.

    `einsum` adds neighbouring elements in a third of the time, one after another: more of them are
    added pairwise by numpy, whose rounding errors stay small.
    """
    letters = ascii_letters[: operands[0].ndim]
    remaining = "".join(letter for i, letter in enumerate(letters) if i not in reduced)
    total: HostArray = np.einsum(f"{','.join([letters] * len(operands))}->{remaining}", *operands)
    lengths = enumerate(operands[0].shape)
    return total.reshape([1 if i in reduced else n for i, n in lengths]) if keepdims else total


def is_by_columns(x: object) -> bool:
    """Return whether the elements of the first axis are one after the other in memory.

    Args:
        x: An array of any library, or a tensor, whose layout is not read.

    Examples:
        >>> is_by_columns(np.zeros((2, 3))), is_by_columns(np.zeros((3, 2)).T)
        (False, True)
    """
    flags: Any = getattr(x, "flags", None)
    return flags is not None and bool(flags.f_contiguous and not flags.c_contiguous)


def max(x: HostArray, /, *, axis: Axis = None, keepdims: bool = False) -> HostArray:
    """Return the largest element over `axis`."""
    return _max(x, axis=axis, keepdims=keepdims)


def min(x: HostArray, /, *, axis: Axis = None, keepdims: bool = False) -> HostArray:
    """Return the smallest element over `axis`."""
    return _min(x, axis=axis, keepdims=keepdims)


def maximum(x: HostArray, y: HostArray | float, /, out: HostArray | None = None) -> HostArray:
    """Return the larger of two elements."""
    is_number = isinstance(y, int | float) and x.dtype.kind == "f"
    if x.size > 16 * _ROW and is_number and (x.flags.c_contiguous or x.flags.f_contiguous):
        # numpy takes three times as long with a number as with rows of this number.
        lengths = x.shape if x.flags.c_contiguous else x.shape[::-1]
        first = next(i for i in range(x.ndim)[::-1] if prod(lengths[i:]) > _ROW)
        rows = np.full((1,) * first + lengths[first:], y, x.dtype)
        y = rows if x.flags.c_contiguous else rows.T
    return np.maximum(x, y, out=out)


# The elements of a row: it stays in the cache, and its call is negligible.
_ROW = 1000
_NEIGHBOURS = 10_000


def mean(x: HostArray, /, *, axis: Axis = None, keepdims: bool = False) -> HostArray:
    """Return the mean over `axis`; float16 is summed in float32, so the sum cannot overflow."""
    total = _wide_sum(x, axis, keepdims=keepdims)
    value = _divide(total, x.size // total.size) if total.size else total
    return value.astype(np.float16) if x.dtype.char == "e" else value


def reshape(x: HostArray, shape: tuple[int, ...], /) -> HostArray:
    """Return the elements in another shape."""
    return x.reshape(shape)


def broadcast_to(x: HostArray, shape: tuple[int, ...], /) -> HostArray:
    """Return a read-only view in a larger shape."""
    if x.ndim or not isinstance(x, np.ndarray | np.generic):
        return np.broadcast_to(x, shape)
    # For a number, such as the gradient of a mean, numpy's function takes four times as long.
    view = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    view.flags.writeable = False
    return view


def expand_dims(x: HostArray, /, *, axis: int) -> HostArray:
    """Return a view with a new axis of length 1."""
    index = axis if axis >= 0 else x.ndim + 1 + axis
    return x[(*(slice(None),) * index, None)]


def ones_like(x: HostArray, /) -> HostArray:
    """Return ones in the shape, type and layout of `x`, in half the time of numpy's function."""
    value = np.empty_like(x)
    value.fill(1)
    return value


def stop_gradient(x: HostArray, /) -> HostArray:
    """Return `x`: an array is not part of a graph."""
    return x


def getitem(x: HostArray, /, *, index: tuple[Any, ...]) -> HostArray:
    """Return `x[index]`, for large arrays of integers in a fifth of the time."""
    if not is_basic(index):
        last = np.asarray(index[-1])
        # With a scalar of numpy the result may be a view.
        if last.ndim and last.dtype.kind in "iu":
            if _full_slices(index) == len(index) - 1:
                return x.take(last, len(index) - 1)
            is_large = builtins.max(x.size, last.size) > _ROW
            if is_large and x.flags.c_contiguous and (rows := _rows(index, x.shape)) is not None:
                return x.reshape(-1, *x.shape[len(index) :]).take(rows, 0)
    found: HostArray = x[index]
    return found


def scatter_add(
    values: HostArray, /, *, index: tuple[object, ...], shape: tuple[int, ...]
) -> HostArray:
    """Return zeros of `shape` with `values` added at `index`; equal indices accumulate."""
    if values.dtype.char == "e" and not is_basic(index):
        # A sum of ones in float16 stops at 2048.
        wide = scatter_add(values.astype(np.float32), index=index, shape=shape)
        return wide.astype(np.float16)
    out = np.zeros(shape, values.dtype)
    if is_basic(index):
        # Basic indices contain each position once: assignment is the same and far faster.
        out[index] = values
    elif (slices := _slices_of(index, shape)) is not None:
        blocks, width = prod(shape[: len(index) - 1]), prod(shape[len(index) :])
        parts, added = (x.reshape(blocks, -1, width) for x in (out, values))
        for i, place in enumerate(slices):
            parts[:, place] += added[:, i]
    elif values.size > _ROW and (rows := _rows(index, shape)) is not None:
        width = prod(shape[len(index) :])
        _add_rows(out.reshape(-1, width), rows.reshape(-1), values.reshape(-1, width))
    else:
        # ufunc.at takes any index that `[]` takes, but its stub says only integers.
        np.add.at(out, cast("list[int]", index), values)
    return out


def _slices_of(index: tuple[object, ...], shape: tuple[int, ...]) -> list[int] | None:
    """Return the places along an axis that an index selects; None if they are no large slices."""
    axis, last = len(index) - 1, np.asarray(index[-1])
    if last.dtype.kind not in "iu" or _full_slices(index) != axis or axis >= len(shape):
        return None
    return last.reshape(-1).tolist() if prod(shape) > _ROW * shape[axis] else None


def _add_rows(out: HostArray, rows: IndexArray, values: HostArray) -> None:
    """Add each row of `values` to the row of `out` with the number in `rows`."""
    width = int(out.shape[1])
    if width >= _WIDE and 2 * rows.size < len(out):
        # Most rows occur once: the last occurrence of each is assigned, the others are added.
        order, last = np.arange(rows.size), np.empty(len(out), np.intp)
        last[rows] = order
        out[rows] = values
        others = last[rows] != order
        rows, values = rows[others], values[others]
    # The addition of single elements is far faster than that of rows.
    positions = rows if width == 1 else np.add.outer(rows * width, np.arange(width)).ravel()
    np.add.at(out.reshape(-1), positions, values.reshape(-1))


def _rows(index: tuple[object, ...], shape: tuple[int, ...]) -> IndexArray | None:
    """Return which rows of the array's last axes an index selects, counted through all others.

    None stands for an index that is empty, out of range, or does not consist of full slices and
    then arrays of integers.
    """
    axis = _full_slices(index)
    arrays = [np.asarray(item) for item in index[axis:]]
    if len(index) > len(shape) or {array.dtype.kind for array in arrays} - {*"iu"}:
        return None
    lengths = shape[axis : len(index)]
    rows: IndexArray | None = None
    for array, length in zip(arrays, lengths, strict=True):
        places = array.astype(np.intp, copy=False)
        # As unsigned integers, negative ones are the largest.
        if not places.size or places.view(np.uintp).max() >= length:
            places = np.where(places < 0, places + length, places)
            if not places.size or places.min() < 0 or places.max() >= length:
                return None
        rows = places if rows is None else rows * length + places
    if rows is None or axis == 0:
        return rows
    blocks = np.arange(prod(shape[:axis])) * prod(lengths)
    return blocks.reshape(*shape[:axis], *(1,) * rows.ndim) + rows


def _full_slices(index: tuple[object, ...]) -> int:
    """Return with how many slices of a whole axis an index begins."""
    for count, item in enumerate(index):
        if not isinstance(item, slice) or item != slice(None):
            return count
    return len(index)


# The length of rows from which the assignment of rows is faster than additions.
_WIDE = 16


def getitem_at(x: HostArray, index: tuple[object, ...]) -> HostArray:
    """Return `getitem`, with the index as a positional argument."""
    return getitem(x, index=index)


def scatter_at(values: HostArray, index: tuple[object, ...], shape: tuple[int, ...]) -> HostArray:
    """Return `scatter_add`, with the index as a positional argument."""
    return scatter_add(values, index=index, shape=shape)


def power_of(x: Float64Array, y: float) -> HostArray:
    """Return `x**y`, which for some exponents is another function than `np.power`."""
    return x**y


def unfold_with(
    library: ModuleType, x: HostArray, /, *, axis: int, kernel_size: int, stride: int, dilation: int
) -> HostArray:
    """Compute `Namespace.unfold` with numpy or CuPy; only arrays not in C order are copied."""
    x = library.ascontiguousarray(x)
    shape, strides = x.shape, x.strides
    count = (shape[axis] - dilation * (kernel_size - 1) - 1) // stride + 1
    view: HostArray = library.lib.stride_tricks.as_strided(
        x,
        (*shape[:axis], count, kernel_size, *shape[axis + 1 :]),
        (*strides[:axis], strides[axis] * stride, strides[axis] * dilation, *strides[axis + 1 :]),
    )
    return view


def fold_with(
    library: ModuleType, x: HostArray, /, *, axis: int, length: int, stride: int, dilation: int
) -> HostArray:
    """Compute `Namespace.fold` with numpy or CuPy: one addition per position in the kernel."""
    count, kernel_size = x.shape[axis : axis + 2]
    shape = (*x.shape[:axis], length, *x.shape[axis + 2 :])
    if kernel_size == stride and dilation == 1 and prod(shape) == x.size:
        # The windows do not overlap: each element is in one of them.
        return x.reshape(shape)
    out: HostArray = library.zeros(shape, x.dtype)
    before: tuple[slice | int, ...] = (slice(None),) * axis
    for i in range(kernel_size):
        first = i * dilation
        positions = (*before, slice(first, first + stride * (count - 1) + 1, stride))
        part = x[(*before, slice(None), i)]
        library.add(out[positions], part, out=out[positions])
    return out


def decompose_with(library: ModuleType, x: HostArray, /, *, kind: str) -> HostArray:
    """Compute `Namespace.decompose` with numpy or CuPy."""
    if kind == "svdvals":
        return cast("HostArray", library.linalg.svd(x, compute_uv=False))
    if kind == "svd":
        u, values, v = library.linalg.svd(x, full_matrices=False)
        return cast("HostArray", library.concatenate([u, values[..., None, :], v.mT], axis=-2))
    results = getattr(library.linalg, kind)(x)
    if kind == "qr":
        results = library.concatenate([results[0], results[1].mT], axis=-2)
    return cast("HostArray", library.stack(results) if kind == "slogdet" else results)


unfold = partial(unfold_with, np)
fold = partial(fold_with, np)
decompose = partial(decompose_with, np)


def assign(destination: HostArray, index: tuple[Any, ...], value: HostArray | float, /) -> None:
    """Execute `destination[index] = value`."""
    destination[index] = value


def is_basic(index: tuple[object, ...]) -> TypeGuard[tuple[int | slice | EllipsisType | None, ...]]:
    """Return whether an index contains no array, so that it contains each position at most once."""
    # A loop, since it takes a third of the time of `all` with a generator.
    for item in index:  # noqa: SIM110
        if not (item is None or isinstance(item, int | slice | EllipsisType)):
            return False
    return True


# All other functions are numpy's own.
globals().update({name: getattr(np, name) for name in NAMES if name not in globals()})
