"""Max and average pooling of images."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast, overload

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Array, DeviceNamespace, device_namespace
from minispore.engine.dispatch import (
    apply1,
    as_float,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
    shape_error,
    wrap,
)
from minispore.engine.rules import pooling, reduction, unfold
from minispore.ops._windows import (
    COLUMNS,
    ROWS,
    WindowGeometry,
    are_tiled,
    as_padding,
    check_output_length,
    hcwn_to_nchw,
    nchw_to_hcwn,
    pad_spatial,
    tiles_of_columns,
    tiles_of_rows,
    unfold_axis,
)
from minispore.ops.arithmetic import div
from minispore.ops.elementwise import stop_gradient
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_pair, caller, check_bool, check_int

__all__ = [
    "avg_pool2d", "max_pool2d",
]  # fmt: skip

Pair: TypeAlias = int | tuple[int, int]


@overload
def max_pool2d(
    x: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    return_indices: Literal[False] = False,
    ceil_mode: bool = False,
) -> Tensor: ...
@overload
def max_pool2d(
    x: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    *,
    return_indices: Literal[True],
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]: ...
def max_pool2d(
    x: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the maximum of each window of an image.

    Args:
        x: Images, of shape (n, channels, height, width).
        kernel_size: The size of a window, one int or (rows, columns).
        stride: The distance between windows; None for their size.
        padding: The padding on each side, at most half a window; it is never the maximum.
        dilation: The distance between the elements of a window.
        return_indices: Whether to return the indices of the maxima as well.
        ceil_mode: Whether a window that the image only partly fills counts.

    Returns:
        A tensor of shape (n, channels, height', width'). With `return_indices` also the int64 index
        of the first maximum of each window in the flattened image.

    Raises:
        ValueError: `x` does not have 4 axes, or no window fits.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2).tolist()
        [[[[4.0]]]]

    Source: MindSpore's `mindspore.ops.max_pool2d`.
    """
    check_numbers(x, "x")
    check_images(x, "x")
    size = as_pair(kernel_size, "kernel_size")
    step = size if stride is None else as_pair(stride, "stride")
    spread = as_pair(dilation, "dilation")
    pads = as_pair(padding, "padding", low=0)
    check_max_padding(pads, size)
    check_bool(return_indices, "return_indices")
    check_bool(ceil_mode, "ceil_mode")
    rows, columns = map(WindowGeometry, size, step, spread, pads, pads)
    rows, columns = resolve_geometry(x, rows, columns, ceil_mode)
    y = max_pool(x, rows, columns)
    return (y, max_pool_indices(x, rows, columns)) if return_indices else y


def avg_pool2d(
    input_x: Tensor,
    kernel_size: Pair = 1,
    stride: Pair = 1,
    padding: int | tuple[int, int, int, int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """Return the mean of each window of an image.

    Args:
        input_x: Images, of shape (n, channels, height, width).
        kernel_size: The size of a window, one int or (rows, columns).
        stride: The distance between windows.
        padding: The number of zeros, one int or (top, bottom, left, right); opposite sides together
            at most a window.
        ceil_mode: Whether a window that the image only partly fills counts.
        count_include_pad: Whether padded zeros count as elements of the mean.
        divisor_override: The divisor instead of the number of elements; 0 for that number.

    Returns:
        A tensor of shape (n, channels, height', width').

    Raises:
        ValueError: `input_x` does not have 4 axes, or no window fits.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.avg_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2).tolist()
        [[[[2.5]]]]

    Source: MindSpore's `mindspore.ops.avg_pool2d`.
    """
    x = as_float(input_x, "input_x")
    check_images(x, "input_x")
    size = as_pair(kernel_size, "kernel_size")
    step = as_pair(stride, "stride")
    above, below, left, right = as_padding(padding)
    for before, after, length in ((above, below, size[0]), (left, right, size[1])):
        if before + after > length:
            raise ValueError(
                f"For '{caller()}', the argument 'padding' must add no more than a window, "
                f"but got {padding} for one of {size}."
            )
    check_bool(ceil_mode, "ceil_mode")
    check_bool(count_include_pad, "count_include_pad")
    check_int(divisor_override, "divisor_override")
    rows = WindowGeometry(size[0], step[0], 1, above, below)
    columns = WindowGeometry(size[1], step[1], 1, left, right)
    return avg_pool(x, rows, columns, ceil_mode, count_include_pad, divisor_override)


def check_images(x: object, name: str) -> None:
    """Raise an error unless `x` is a tensor with the four axes of images."""
    if (images := check_tensor(x, name)).ndim != 4:
        raise shape_error(images, name, "have 4 axes")


def check_max_padding(padding: tuple[int, int], size: tuple[int, int]) -> None:
    """Raise ValueError unless the padding of each side is at most half a window."""
    if any(2 * added > n for added, n in zip(padding, size, strict=True)):
        raise ValueError(
            f"For '{caller()}', the argument 'padding' must be at most half of a window, "
            f"but got {padding} for one of {size}."
        )


def resolve_geometry(
    x: Tensor, rows: WindowGeometry, columns: WindowGeometry, ceil_mode: bool
) -> tuple[WindowGeometry, WindowGeometry]:
    """Return the geometry of the windows in images (n, channels, height, width).

    Raises:
        ValueError: No window fits.
    """
    height, width = x.shape[2:]
    check_output_length(rows, height, "height")
    check_output_length(columns, width, "width")
    if ceil_mode:
        return rows.with_ceil_mode(height), columns.with_ceil_mode(width)
    return rows, columns


@in_float32
def max_pool(x: Tensor, rows: WindowGeometry, columns: WindowGeometry) -> Tensor:
    """Return the maximum of each window: first over its rows, then over their maxima."""
    if are_tiled(x, rows, columns):
        # The images need no other layout.
        y = apply1(unfold.max_over_window, tiles_of_columns(x, columns.kernel_size), 4)
        return apply1(unfold.max_over_window, tiles_of_rows(y, rows.kernel_size), 3)
    y = apply1(unfold.max_over_window, _windows_of_columns(x, rows, columns), COLUMNS + 1)
    return hcwn_to_nchw(apply1(unfold.max_over_window, unfold_axis(y, ROWS, rows), ROWS + 1))


def max_pool_indices(x: Tensor, rows: WindowGeometry, columns: WindowGeometry) -> Tensor:
    """Return the index of the first maximum of each window in the flattened image."""
    height, width = x.shape[2:]
    y = _windows_of_columns(stop_gradient(x), rows, columns)._data
    xp = device_namespace(y)
    integers = dtypes.int64.numpy_dtype
    column = xp.argmax(y, axis=COLUMNS + 1) * columns.dilation
    column = column + _along(xp, _starts(xp, columns, width, integers), COLUMNS)
    largest_in_row = unfold_axis(wrap(xp.max(y, axis=COLUMNS + 1), x), ROWS, rows)._data
    place = xp.argmax(largest_in_row, axis=ROWS + 1)
    row = place * rows.dilation + _along(xp, _starts(xp, rows, height, integers), ROWS)
    # Of the columns of the maxima in the rows of a window, take that of the row with the maximum.
    row_numbers = _along(xp, xp.arange(0, rows.kernel_size, 1, integers), ROWS)
    chosen = xp.equal(xp.expand_dims(place, axis=ROWS + 1), row_numbers)
    candidates = unfold_axis(wrap(column, x), ROWS, rows)._data
    column = xp.sum(xp.where(chosen, candidates, 0), axis=ROWS + 1)
    return hcwn_to_nchw(wrap(row * width + column, x))


def _windows_of_columns(x: Tensor, rows: WindowGeometry, columns: WindowGeometry) -> Tensor:
    """Return the columns' windows of images with padding that is never the maximum."""
    y = pad_spatial(nchw_to_hcwn(x), rows, columns, _lowest_value(x))
    return unfold_axis(y, COLUMNS, columns)


@in_float32
def avg_pool(
    x: Tensor,
    rows: WindowGeometry,
    columns: WindowGeometry,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int,
) -> Tensor:
    """Return the sum of each window divided by `divisor`, or by its number of elements if 0."""
    height, width = x.shape[2:]
    high, wide = resolve_geometry(x, rows, columns, ceil_mode)
    if are_tiled(x, high, wide):
        y = apply1(pooling.sum_over_window, tiles_of_rows(x, high.kernel_size), 3)
        y = apply1(pooling.sum_over_window, tiles_of_columns(y, wide.kernel_size), 4)
        return div(y, divisor or high.kernel_size * wide.kernel_size)
    y = pad_spatial(nchw_to_hcwn(x), high, wide)
    y = apply1(reduction.sum, unfold_axis(y, COLUMNS, wide), COLUMNS + 1, False)
    y = apply1(reduction.sum, unfold_axis(y, ROWS, high), ROWS + 1, False)
    if divisor:
        return hcwn_to_nchw(div(y, divisor))
    xp = device_namespace(x._data)
    below, after = (rows.pad_after, columns.pad_after) if count_include_pad else (None, None)
    down = _counts(xp, high, height, below, y._data.dtype)
    right = _counts(xp, wide, width, after, y._data.dtype)
    counts = _along(xp, down, ROWS) * _along(xp, right, COLUMNS)
    return hcwn_to_nchw(div(y, wrap(counts, x)))


def _counts(
    xp: DeviceNamespace[Array],
    window: WindowGeometry,
    length: int,
    after: int | None,
    dtype: object,
) -> Array:
    """Return the number of elements of each window, with padding if `after` is not None."""
    low, high = (0, length) if after is None else (-window.pad_before, length + after)
    start = _starts(xp, window, length, dtype)
    stop = start + window.kernel_size
    return xp.where(stop > high, high, stop) - xp.where(start < low, low, start)


def _starts(
    xp: DeviceNamespace[Array], window: WindowGeometry, length: int, dtype: object
) -> Array:
    """Return the index at which each window of an axis begins."""
    return xp.arange(0, window.output_length(length), 1, dtype) * window.stride - window.pad_before


def _along(xp: DeviceNamespace[Array], values: Array, axis: int) -> Array:
    """Return numbers in a shape that broadcasts along one axis of (H, C, W, N)."""
    return xp.reshape(values, (*values.shape, *(1,) * (3 - axis)))


def _lowest_value(x: Tensor) -> float:
    """Return the smallest number of the type of `x`."""
    if dtype_of(x).category == dtypes.FLOAT:
        return -np.inf
    return int(np.iinfo(cast("np.dtype[np.int64]", x._data.dtype)).min)
