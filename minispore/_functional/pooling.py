"""Pooling: windows and their maximum or mean."""

from itertools import starmap
from typing import Literal, TypeAlias, cast, overload

import numpy as np

from minispore import _dtype
from minispore._array import Array, DeviceNamespace, device_namespace
from minispore._checks import check_bool, check_int
from minispore._functional.apply import apply1
from minispore._functional.arithmetic import div
from minispore._functional.elementwise import stop_gradient
from minispore._functional.operands import as_float, cast_to, check_numbers, dtype_of, widen
from minispore._functional.sliding import (
    COLUMNS,
    ROWS,
    Sliding,
    as_padding,
    as_pair,
    check_windows,
    inside,
    outside,
    slid,
    surrounded,
)
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules import reduction, windows

Pair: TypeAlias = int | tuple[int, int]


@overload
def max_pool2d(
    x: T,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    return_indices: Literal[False] = False,
    ceil_mode: bool = False,
) -> T: ...
@overload
def max_pool2d(
    x: T,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: bool = False,
) -> tuple[T, T]: ...
def max_pool2d(
    x: T,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> T | tuple[T, T]:
    """The largest number of each window of an image.

    >>> from minispore import Tensor, ops
    >>> ops.max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2)
    Tensor(shape=[1, 1, 1, 1], dtype=Float32, value=
    [[[[ 4.00000000e+00]]]])

    Args:
        x: Images, of shape (n, channels, height, width).
        kernel_size: The window's size, one number or (rows, columns).
        stride: How far it is from one window to the next; by default its size.
        padding: How much is added around, which is never the largest; at most half a window.
        dilation: How far it is from one element of a window to the next.
        return_indices: Whether to give the places of the largest as well.
        ceil_mode: Whether to make a window, too, of what is left at the end.

    Returns:
        Of shape (n, channels, height', width'); with `return_indices` also the places (int64), the
        first of equal ones, counted through the rows of the image.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `x` has not 4 axes, a number is out of range, or no window fits.
    """
    owner = "max_pool2d"
    check_tensor(x, owner, "x")
    check_numbers(x, owner)
    check_images(x, "x", owner)
    size = as_pair(kernel_size, "kernel_size", owner)
    step = size if stride is None else as_pair(stride, "stride", owner)
    spread = as_pair(dilation, "dilation", owner)
    around = as_pair(padding, "padding", owner, low=0)
    check_half(around, size, owner)
    check_bool(return_indices, "return_indices", owner)
    check_bool(ceil_mode, "ceil_mode", owner)
    rows, columns = starmap(Sliding, zip(size, step, spread, around, around, strict=True))
    rows, columns = fitted(x, rows, columns, ceil_mode, owner)
    y = largest(x, rows, columns)
    return (y, places_of_largest(x, rows, columns)) if return_indices else y


def avg_pool2d(
    input_x: T,
    kernel_size: Pair = 1,
    stride: Pair = 1,
    padding: int | tuple[int, int, int, int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> T:
    """The mean of each window of an image.

    >>> from minispore import Tensor, ops
    >>> ops.avg_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2)
    Tensor(shape=[1, 1, 1, 1], dtype=Float32, value=
    [[[[ 2.50000000e+00]]]])

    Args:
        input_x: Images, of shape (n, channels, height, width).
        kernel_size: The window's size, one number or (rows, columns).
        stride: How far it is from one window to the next.
        padding: How many zeros are added around, one number or (above, below, left, right); above
            and below, and left and right, together no more than a window.
        ceil_mode: Whether to make a window, too, of what is left at the end.
        count_include_pad: Whether these zeros count as elements.
        divisor_override: What to divide by instead of the number of elements; 0 for that.

    Returns:
        Of shape (n, channels, height', width').

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `input_x` has not 4 axes, a number is out of range, or no window fits.
    """
    owner = "avg_pool2d"
    x = as_float(input_x, owner, "input_x")
    check_images(x, "input_x", owner)
    size = as_pair(kernel_size, "kernel_size", owner)
    step = as_pair(stride, "stride", owner)
    above, below, left, right = as_padding(padding, owner)
    for before, after, length in ((above, below, size[0]), (left, right, size[1])):
        if before + after > length:
            raise ValueError(
                f"For '{owner}', the argument 'padding' must add no more than a window, "
                f"but got {padding} for one of {size}."
            )
    check_bool(ceil_mode, "ceil_mode", owner)
    check_bool(count_include_pad, "count_include_pad", owner)
    check_int(divisor_override, "divisor_override", owner)
    rows = Sliding(size[0], step[0], 1, above, below)
    columns = Sliding(size[1], step[1], 1, left, right)
    return average(x, rows, columns, ceil_mode, count_include_pad, divisor_override, owner)


def check_images(x: Variable, name: str, owner: str) -> None:
    """Raise ValueError unless `x` has the four axes of images."""
    if x.ndim != 4:
        raise ValueError(
            f"For '{owner}', the argument '{name}' must have 4 axes, but its shape is {x.shape}."
        )


def check_half(padding: tuple[int, int], size: tuple[int, int], owner: str) -> None:
    """Raise ValueError unless what is added on a side is at most half a window."""
    if any(2 * added > n for added, n in zip(padding, size, strict=True)):
        raise ValueError(
            f"For '{owner}', the argument 'padding' must be at most half of a window, "
            f"but got {padding} for one of {size}."
        )


def fitted(
    x: Variable, rows: Sliding, columns: Sliding, ceil_mode: bool, owner: str
) -> tuple[Sliding, Sliding]:
    """How windows slide over these very images (n, channels, height, width).

    Raises:
        ValueError: Not one window fits.
    """
    height, width = x.shape[2:]
    check_windows(rows, height, "height", owner)
    check_windows(columns, width, "width", owner)
    return (rows.ceiled(height), columns.ceiled(width)) if ceil_mode else (rows, columns)


def largest(x: T, rows: Sliding, columns: Sliding) -> T:
    """The largest number of each window: first in its rows, then of these."""
    y = surrounded(inside(x), rows, columns, _least(x))
    y = apply1(windows.largest, slid(y, COLUMNS, columns), COLUMNS + 1)
    return outside(apply1(windows.largest, slid(y, ROWS, rows), ROWS + 1))


def places_of_largest(x: T, rows: Sliding, columns: Sliding) -> T:
    """Where the largest are, counted through the rows of the image: of equal ones the first."""
    height, width = x.shape[2:]
    y = slid(surrounded(inside(stop_gradient(x)), rows, columns, _least(x)), COLUMNS, columns)._data
    xp = device_namespace(y)
    integers = _dtype.int64.numpy_dtype
    column = xp.argmax(y, axis=COLUMNS + 1) * columns.spread
    column = column + _along(xp, _starts(xp, columns, width, integers), COLUMNS)
    largest_in_row = slid(wrap(xp.max(y, axis=COLUMNS + 1), x), ROWS, rows)._data
    place = xp.argmax(largest_in_row, axis=ROWS + 1)
    row = place * rows.spread + _along(xp, _starts(xp, rows, height, integers), ROWS)
    # Of the columns that were found in each row of a window, that of the row with the largest.
    each = xp.reshape(xp.arange(0, rows.size, 1, integers), (rows.size, 1, 1, 1))
    chosen = xp.equal(xp.expand_dims(place, axis=ROWS + 1), each)
    candidates = slid(wrap(column, x), ROWS, rows)._data
    column = xp.sum(xp.where(chosen, candidates, 0), axis=ROWS + 1)
    return outside(wrap(row * width + column, x))


def average(
    x: T,
    rows: Sliding,
    columns: Sliding,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int,
    owner: str,
) -> T:
    """The sum of each window, divided by `divisor` or, where that is 0, by what counts of it."""
    height, width = x.shape[2:]
    high, wide = fitted(x, rows, columns, ceil_mode, owner)
    y = surrounded(inside(widen(x)), high, wide)
    y = apply1(reduction.sum, slid(y, COLUMNS, wide), COLUMNS + 1, False)
    y = apply1(reduction.sum, slid(y, ROWS, high), ROWS + 1, False)
    if divisor:
        return cast_to(outside(div(y, divisor)), dtype_of(x))
    xp = device_namespace(x._data)
    down = _counts(xp, high, height, rows.after if count_include_pad else None, y._data.dtype)
    right = _counts(xp, wide, width, columns.after if count_include_pad else None, y._data.dtype)
    counts = _along(xp, down, ROWS) * _along(xp, right, COLUMNS)
    return cast_to(outside(div(y, wrap(counts, x))), dtype_of(x))


def _counts(
    xp: DeviceNamespace[Array], sliding: Sliding, length: int, after: int | None, dtype: object
) -> Array:
    """How many elements of each window count: with what is added, `after` behind, or without."""
    low, high = (0, length) if after is None else (-sliding.before, length + after)
    start = _starts(xp, sliding, length, dtype)
    stop = start + sliding.size
    return xp.where(stop > high, high, stop) - xp.where(start < low, low, start)


def _starts(xp: DeviceNamespace[Array], sliding: Sliding, length: int, dtype: object) -> Array:
    """Where in an axis each window begins."""
    return xp.arange(0, sliding.count(length), 1, dtype) * sliding.step - sliding.before


def _along(xp: DeviceNamespace[Array], values: Array, axis: int) -> Array:
    """Numbers as what goes along one axis of (H, C, W, N)."""
    return xp.reshape(values, (*values.shape, *(1,) * (3 - axis)))


def _least(x: Variable) -> float:
    """What no number is below."""
    if dtype_of(x).category == _dtype.FLOAT:
        return -np.inf
    return int(np.iinfo(cast("np.dtype[np.int64]", x._data.dtype)).min)
