"""Medians, running extremes, places in sorted sequences, different elements and their counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import device_namespace, to_device_of, to_host
from minispore.engine.dispatch import (
    apply1,
    cast_to,
    check_category,
    check_numbers,
    check_shape,
    check_tensor,
    dtype_of,
    promote_operands,
    shape_error,
    wrap,
)
from minispore.engine.rules import indexing as rules
from minispore.ops.arithmetic import where
from minispore.ops.comparison import greater, less, logical_or
from minispore.ops.elementwise import isnan, stop_gradient
from minispore.ops.indexing import gather_elements, getitem, getitem_at, places_along
from minispore.ops.manipulation import (
    broadcast_to,
    check_nonempty,
    concat,
    normalize_axis_index,
    reshape,
    squeeze,
)
from minispore.ops.reduction import argsort
from minispore.ops.tensors import Tensor
from minispore.utils.checks import INT32_MAX, check_bool, check_int, check_one_of, value_error

__all__ = ["bincount", "cummax", "cummin", "median", "searchsorted", "unique"]


def median(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the medians along an axis and their indices: of two in the middle the lower one.

    The median of numbers of which one is NaN is NaN.

    Args:
        input: A tensor of numbers.
        axis: The axis.
        keepdims: Whether the axis stays, with length 1.

    Returns:
        The medians, and the int64 index of each along the axis.

    Raises:
        TypeError: `input` is a tensor of bools.
        ValueError: The axis has no elements.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.median(Tensor([[4.0, 3.0, 1.0, 2.0]]))]
        [[2.0], [3]]

    Source: MindSpore's `mindspore.ops.median`.
    """
    check_numbers(input)
    check_bool(keepdims, "keepdims")
    x = input if input.ndim else reshape(input, (1,))
    place = normalize_axis_index(axis, x.ndim, "axis")
    check_nonempty(x.shape, place)
    xp, before = device_namespace(x._data), (slice(None),) * place
    middle = (*before, slice((x.shape[place] - 1) // 2, (x.shape[place] + 1) // 2))
    order = argsort(stop_gradient(x), place)._data[middle]
    missing = isnan(x)._data
    first = xp.argmax(missing, axis=place, keepdims=True)
    index = xp.where(xp.any(missing, axis=place, keepdims=True), first, order)
    indices = wrap(xp.astype(index, dtypes.int64.numpy_dtype), input)
    values = gather_elements(x, place, indices)
    if not input.ndim:
        return reshape(values, ()), reshape(indices, ())
    return (values, indices) if keepdims else (squeeze(values, place), squeeze(indices, place))


def cummax(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the largest of the elements so far along an axis, and their indices.

    Of equal elements it is the last one. From NaN on, all are NaN.

    Args:
        input: A tensor of numbers with at least one axis.
        axis: The axis.

    Returns:
        The elements, and the int64 index of each along the axis; both of the shape of `input`.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.cummax(Tensor([1, 3, 2]), 0)]
        [[1, 3, 3], [0, 1, 1]]

    Source: MindSpore's `mindspore.ops.cummax`.
    """
    return _running(input, axis, greater, dtypes.int64)


def cummin(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """Return the smallest of the elements so far along an axis, and their indices.

    Of equal elements it is the last one. From NaN on, all are NaN.

    Args:
        input: A tensor of numbers with at least one axis.
        axis: The axis.

    Returns:
        The elements, and the int32 index of each along the axis; both of the shape of `input`.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.cummin(Tensor([2, 3, 1]), 0)]
        [[2, 2, 1], [0, 0, 2]]

    Source: MindSpore's `mindspore.ops.cummin`.
    """
    return _running(input, axis, less, dtypes.int32)


def _running(
    input: Tensor,
    axis: int,
    is_beyond: Callable[[Tensor, Tensor], Tensor],
    dtype: dtypes.DType,
) -> tuple[Tensor, Tensor]:
    check_numbers(input)
    place = normalize_axis_index(axis, input.ndim, "axis")
    xp, length = device_namespace(input._data), input.shape[place]
    column = xp.reshape(
        xp.arange(0, length, 1, dtype.numpy_dtype), (length, *(1,) * (input.ndim - place - 1))
    )
    values, indices = stop_gradient(input), broadcast_to(wrap(column, input), input.shape)
    before, size = (slice(None),) * place, 1
    # Of the last 2, 4, … elements, as in `cumprod`.
    while size < length:
        kept, earlier, later = (
            (*before, part) for part in (slice(size), slice(-size), slice(size, None))
        )
        old, new = getitem(values, earlier), getitem(values, later)
        stays = logical_or(is_beyond(old, new), isnan(old))
        values = concat([getitem(values, kept), where(stays, old, new)], place)
        chosen = where(stays, getitem(indices, earlier), getitem(indices, later))
        indices = concat([getitem(indices, kept), chosen], place)
        size *= 2
    return gather_elements(input, place, indices), indices


def searchsorted(
    sorted_sequence: Tensor,
    values: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: Literal["left", "right"] | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Return where values are to be inserted into sorted sequences, so that these stay sorted.

    Args:
        sorted_sequence: Numbers in ascending order: of shape (n,), or (…, n) with a sequence for
            each row of `values`.
        values: A tensor of numbers, of any shape or of shape (…, m).
        out_int32: Whether the type of the result is int32, and not int64.
        right: Whether a value comes after those that are equal to it, and not before them.
        side: The same as "right" or "left"; None for what `right` says.
        sorter: A tensor of integers of the shape of `sorted_sequence`, in the order of which its
            elements are sorted.

    Returns:
        A tensor of indices of the shape of `values`.

    Raises:
        TypeError: A tensor holds bools.
        ValueError: The shapes do not fit, a sequence is not sorted, or `side` contradicts `right`.
        IndexError: An index of `sorter` is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.searchsorted(Tensor([1, 3, 5]), Tensor([3, 4]), right=True).tolist()
        [2, 2]

    Source: MindSpore's `mindspore.ops.searchsorted`.
    """
    check_numbers(sorted_sequence, "sorted_sequence")
    check_numbers(values, "values")
    check_bool(out_int32, "out_int32")
    check_bool(right, "right")
    if side is not None:
        check_one_of(side, ("left", "right"), "side")
    if side == "left" and right:
        raise value_error(side, "side", "not be 'left' if 'right' is True")
    x, y = promote_operands(stop_gradient(sorted_sequence), stop_gradient(values))
    if x.ndim == 0 or (x.ndim > 1 and x.shape[:-1] != y.shape[:-1]):
        raise ValueError(
            "For 'searchsorted', 'sorted_sequence' must have one axis, or all lengths of 'values' "
            f"but the last one, but the shapes are {x.shape} and {y.shape}."
        )
    if sorter is not None:
        check_shape(sorter, x.shape, "sorter")
        x = getitem_at(x, places_along(x, -1, sorter, "axis", "sorter"))
    sequences = to_host(x._data).reshape(-1, x.shape[-1])
    if (sequences[:, 1:] < sequences[:, :-1]).any():
        raise ValueError("For 'searchsorted', the argument 'sorted_sequence' must be sorted.")
    rows = to_host(y._data).reshape(len(sequences) if x.ndim > 1 else 1, -1)
    where_to: Literal["left", "right"] = "right" if right or side == "right" else "left"
    found = np.zeros(rows.shape, np.int32 if out_int32 else np.int64)
    for row, (sequence, wanted) in enumerate(zip(sequences, rows, strict=True)):
        found[row] = np.searchsorted(sequence, wanted, where_to)
    return wrap(to_device_of(found.reshape(y.shape), x._data), x)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Return how often each integer from 0 occurs, or the sum of the weights of its occurrences.

    Args:
        input: A tensor of integers of at least 0 with one axis.
        weights: A number for each of them; None for 1.
        minlength: The smallest length of the result.

    Returns:
        A tensor of as many numbers as the largest integer plus one: float32, or float64 if the
        weights are.

    Raises:
        ValueError: `input` does not have one axis, or an integer is negative; or `weights` has
            another shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.bincount(Tensor([2, 0, 0])).tolist()
        [2.0, 0.0, 1.0]
        >>> ops.bincount(Tensor([2, 0, 0]), Tensor([0.5, 1.0, 2.0])).tolist()
        [3.0, 0.0, 0.5]

    Source: MindSpore's `mindspore.ops.bincount`.
    """
    check_category(input, dtypes.INTEGER)
    check_int(minlength, "minlength", low=0, high=INT32_MAX)
    if input.ndim != 1:
        raise shape_error(input, "input", "have one axis")
    numbers = to_host(input._data)
    if numbers.min(initial=0) < 0:
        raise value_error(int(numbers.min()), "input", "hold integers of at least 0")
    length = max(minlength, int(numbers.max()) + 1 if numbers.size else 0)
    check_int(length, "input", high=INT32_MAX)
    if weights is None:
        counts = np.bincount(numbers.astype(np.int64), minlength=length)
        return wrap(to_device_of(counts.astype(np.float32), input._data), input)
    check_numbers(weights, "weights")
    check_shape(weights, input.shape, "weights")
    is_wide = dtype_of(weights) is dtypes.float64
    parts = cast_to(weights, dtypes.float64 if is_wide else dtypes.float32)
    places = to_device_of(numbers.astype(np.int64), input._data)
    return apply1(rules.scatter_add, parts, (places,), (length,))


def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """Return the different elements, in the order of their first occurrence, and their places.

    Args:
        input: A tensor of any shape.

    Returns:
        The different elements, along one axis; and for each element of `input` the int32 index of
        its value there.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.unique(Tensor([5, 2, 2, 1]))]
        [[5, 2, 1], [0, 1, 1, 2]]

    Source: MindSpore's `mindspore.ops.unique`.
    """
    check_tensor(input)
    host = to_host(input._data)
    _, first, inverse = np.unique(host, return_index=True, return_inverse=True)
    order = first.argsort()
    values = host.reshape(-1)[first[order]]
    index = order.argsort()[inverse.reshape(host.shape)].astype(np.int32)
    like = input._data
    return wrap(to_device_of(values, like), input), wrap(to_device_of(index, like), input)
