"""Reductions over axes with statistics; softmax, cumulative sums and sorting."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from minispore.engine import dtypes
from minispore.engine.array import Array, Axis, device_namespace
from minispore.engine.dispatch import (
    Number,
    apply1,
    as_float,
    broadcast_error,
    cast_to,
    check_category,
    check_numbers,
    check_tensor,
    dtype_of,
    half_to_float32,
    in_float32,
    wrap,
)
from minispore.engine.rules import Unary, elementwise
from minispore.engine.rules import reduction as rules
from minispore.ops.arithmetic import (
    add,
    floor_divide,
    maximum,
    minimum,
    mul,
    pow,
    remainder,
    sub,
    where,
)
from minispore.ops.comparison import equal, less, logical_and, not_equal
from minispore.ops.elementwise import sqrt
from minispore.ops.indexing import gather_elements, getitem
from minispore.ops.manipulation import (
    check_nonempty,
    concat,
    normalize_axis_index,
    normalize_axis_tuple,
    permute,
    reshape,
    squeeze,
)
from minispore.utils.checks import (
    caller,
    check_bool,
    check_int,
    check_type,
    value_error,
)
from minispore.utils.warn import warn_at_caller

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumprod",
    "cumsum", "log_softmax", "logsumexp", "max", "mean", "min", "prod", "softmax", "sort",
    "std", "sum", "topk", "var",
]  # fmt: skip


def sum(
    input: Tensor, dim: Axis = None, keepdim: bool = False, *, dtype: dtypes.DTypeLike | None = None
) -> Tensor:
    """Return the sum over axes.

    Args:
        input: A tensor of any shape.
        dim: The axis or axes to reduce; None for all.
        keepdim: Whether the reduced axes stay, with length 1.
        dtype: The type to sum in; by default int64 for bools and integers, but uint64 and float
            types stay.

    Returns:
        A tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0).tolist()
        [4.0, 6.0]

    Source: MindSpore's `mindspore.ops.sum`.
    """
    check_tensor(input)
    check_bool(keepdim, "keepdim")
    axis = normalize_axis_tuple(dim, input.ndim, "dim")
    x = _in_type_of_results(input, dtype)
    # numpy adds small integers up in a type of its own choice.
    return cast_to(apply1(rules.sum, x, axis, keepdim), dtype_of(x))


def mean(x: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Return the mean over axes.

    Args:
        x: A tensor of any shape.
        axis: The axis or axes to reduce; None for all.
        keep_dims: Whether the reduced axes stay, with length 1.

    Returns:
        A tensor of the remaining shape and the type of `x`; of integers the mean is cut to an
        integer.

    Raises:
        TypeError: `x` is a tensor of bools.
        ValueError: `x` is a tensor of integers, and there are none to reduce.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0).tolist()
        [2.0, 3.0]

    Source: MindSpore's `mindspore.ops.mean`.
    """
    check_numbers(x, "x")
    check_bool(keep_dims, "keep_dims")
    axes = normalize_axis_tuple(axis, x.ndim)
    if dtype_of(x).category == dtypes.FLOAT:
        return apply1(rules.mean, x, axes, keep_dims)
    # Quotients and remainders are added up, since the sum of the integers may overflow.
    check_nonempty(x.shape, axes)
    wide = _in_type_of_results(x, None)
    remaining = sum(wide, axes, keep_dims)
    count = math.prod(x.shape) // (math.prod(remaining.shape) or 1) or 1
    rests = sum(remainder(wide, count), axes, keep_dims)
    value = add(sum(floor_divide(wide, count), axes, keep_dims), floor_divide(rests, count))
    is_above = logical_and(less(value, 0), not_equal(remainder(rests, count), 0))
    return cast_to(add(value, is_above), dtype_of(x))


def amax(
    input: Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    initial: Number | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """Return the maximum over axes; equal elements share the gradient equally.

    Args:
        input: A tensor of any shape.
        axis: The axis or axes to reduce; None for all.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: The least value of a result; it replaces elements that are less.
        where: A bool tensor that broadcasts with `input`, with `initial`: which elements count.

    Returns:
        A tensor of the remaining shape and the same type.

    Raises:
        ValueError: A reduced axis has no elements, or `where` is given without `initial`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.amax(Tensor([[1, 2], [4, 3]]), 1).tolist()
        [2, 4]

    Source: MindSpore's `mindspore.ops.amax`.
    """
    check_tensor(input)
    check_bool(keepdims, "keepdims")
    x = _with_initial(input, initial, where, maximum)
    return apply1(rules.max, x, _axes_with_elements(x, axis), keepdims)


def amin(
    input: Tensor,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    initial: Number | None = None,
    where: Tensor | None = None,
) -> Tensor:
    """Return the minimum over axes; equal elements share the gradient equally.

    Args:
        input: A tensor of any shape.
        axis: The axis or axes to reduce; None for all.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: The largest value of a result; it replaces elements that are more.
        where: A bool tensor that broadcasts with `input`, with `initial`: which elements count.

    Returns:
        A tensor of the remaining shape and the same type.

    Raises:
        ValueError: A reduced axis has no elements, or `where` is given without `initial`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.amin(Tensor([[1, 2], [4, 3]]), 1).tolist()
        [1, 3]

    Source: MindSpore's `mindspore.ops.amin`.
    """
    check_tensor(input)
    check_bool(keepdims, "keepdims")
    x = _with_initial(input, initial, where, minimum)
    return apply1(rules.min, x, _axes_with_elements(x, axis), keepdims)


def max(
    input: Tensor,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    initial: Number | None = None,
    where: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the maximum along an axis and its index.

    The gradient flows to the first of equal elements; without an axis they share it equally.

    Args:
        input: A tensor of any shape.
        axis: The axis; None for the flattened tensor.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: The least value of a result; it replaces elements that are less.
        where: A bool tensor that broadcasts with `input`, with `initial`: which elements count.

    Returns:
        The maxima, and the int64 indices of the first ones; both of the remaining shape.

    Raises:
        ValueError: A reduced axis has no elements, or `where` is given without `initial`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.max(Tensor([[1, 2], [4, 3]]), 1)]
        [[2, 4], [1, 0]]

    Source: MindSpore's `mindspore.ops.max`.
    """
    check_tensor(input)
    x = _with_initial(input, initial, where, maximum)
    return _extremum_and_index(x, axis, keepdims, amax, argmax)


def min(
    input: Tensor,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    initial: Number | None = None,
    where: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the minimum along an axis and its index.

    The gradient flows to the first of equal elements; without an axis they share it equally.

    Args:
        input: A tensor of any shape.
        axis: The axis; None for the flattened tensor.
        keepdims: Whether the reduced axes stay, with length 1.
        initial: The largest value of a result; it replaces elements that are more.
        where: A bool tensor that broadcasts with `input`, with `initial`: which elements count.

    Returns:
        The minima, and the int64 indices of the first ones; both of the remaining shape.

    Raises:
        ValueError: A reduced axis has no elements, or `where` is given without `initial`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.min(Tensor([[1, 2], [4, 3]]), 1)]
        [[1, 3], [0, 1]]

    Source: MindSpore's `mindspore.ops.min`.
    """
    check_tensor(input)
    x = _with_initial(input, initial, where, minimum)
    return _extremum_and_index(x, axis, keepdims, amin, argmin)


def _checked_axes(input: Tensor, axis: Axis, keep_dims: bool) -> Axis:
    check_tensor(input)
    check_bool(keep_dims, "keep_dims")
    return normalize_axis_tuple(axis, input.ndim)


def all(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Return whether all elements along axes are true.

    Args:
        input: A tensor of any shape.
        axis: The axis or axes to reduce; None for all.
        keep_dims: Whether the reduced axes stay, with length 1.

    Returns:
        A bool tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.all(Tensor([[True, False], [True, True]]), 1).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.all`.
    """
    axes = _checked_axes(input, axis, keep_dims)
    xp = device_namespace(input._data)
    return wrap(xp.all(input._data, axis=axes, keepdims=keep_dims), input)


def any(input: Tensor, axis: Axis = None, keep_dims: bool = False) -> Tensor:
    """Return whether at least one element along axes is true.

    Args:
        input: A tensor of any shape.
        axis: The axis or axes to reduce; None for all.
        keep_dims: Whether the reduced axes stay, with length 1.

    Returns:
        A bool tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.any(Tensor([[True, False], [False, False]]), 1).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.any`.
    """
    axes = _checked_axes(input, axis, keep_dims)
    xp = device_namespace(input._data)
    return wrap(xp.any(input._data, axis=axes, keepdims=keep_dims), input)


def logsumexp(input: Tensor, dim: Axis, keepdim: bool = False) -> Tensor:
    """Return log(sum(exp(input))) over axes, computed without overflow.

    Args:
        input: A tensor of any shape; integers and bools are computed as float32.
        dim: The axis or axes to reduce; None for all.
        keepdim: Whether the reduced axes stay, with length 1.

    Returns:
        A tensor of the remaining shape, of a float type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> round(ops.logsumexp(Tensor([1000.0, 1000.0]), 0).item(), 2)
        1000.69

    Source: MindSpore's `mindspore.ops.logsumexp`.
    """
    x = as_float(input)
    check_bool(keepdim, "keepdim")
    axes = normalize_axis_tuple(dim, x.ndim, "dim")
    if 0 in x.shape:
        # The logarithm of the sum of no elements is that of 0.
        return add(apply1(rules.sum, x, axes, keepdim), -inf)
    return apply1(rules.logsumexp, x, axes, keepdim)


def softmax(input: Tensor, axis: int = -1, *, dtype: dtypes.DTypeLike | None = None) -> Tensor:
    """Return exp(x) / sum(exp(x)) along an axis, computed without overflow.

    Args:
        input: A tensor of any shape; integers and bools are computed as float32.
        axis: The axis whose results sum to 1.
        dtype: The float type to compute in; None for that of `input`.

    Returns:
        A tensor of the same shape, of a float type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.softmax(Tensor([0.0, 0.0])).tolist()
        [0.5, 0.5]

    Source: MindSpore's `mindspore.ops.softmax`.
    """
    x = as_float(input)
    if dtype is not None:
        x = cast_to(x, dtypes.check_float(dtypes.as_dtype(dtype)))
    return _apply_along_axis(rules.softmax, x, axis)


def log_softmax(logits: Tensor, axis: int = -1) -> Tensor:
    """Return the logarithm of `softmax` along an axis, computed without overflow.

    Args:
        logits: A tensor of any shape; integers and bools are computed as float32.
        axis: The axis.

    Returns:
        A tensor of the same shape, of a float type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.log_softmax(Tensor([0.0, 0.0])).tolist()
        [-0.6931471824645996, -0.6931471824645996]

    Source: MindSpore's `mindspore.ops.log_softmax`.
    """
    x = as_float(logits, "logits")
    return _apply_along_axis(rules.log_softmax, x, axis)


def _apply_along_axis(rule: Callable[[Array, int], Unary[Array]], x: Tensor, axis: int) -> Tensor:
    place = normalize_axis_index(axis, x.ndim or 1, "axis")
    if not x.ndim:
        return reshape(_apply_along_axis(rule, reshape(x, (1,)), 0), ())
    return apply1(elementwise.copy, x) if 0 in x.shape else apply1(rule, x, place)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the index of the first maximum along an axis.

    Args:
        input: A tensor of any shape.
        dim: The axis; None for the flattened tensor.
        keepdim: Whether the reduced axes stay, with length 1.

    Returns:
        An int64 tensor of the remaining shape.

    Raises:
        ValueError: A reduced axis has no elements.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.argmax(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [1, 0]

    Source: MindSpore's `mindspore.ops.argmax`.
    """
    check_tensor(input)
    check_bool(keepdim, "keepdim")
    place = _axis_with_elements(input, dim, "dim")
    index = device_namespace(input._data).argmax(input._data, axis=place, keepdims=keepdim)
    return cast_to(wrap(index, input), dtypes.int64)  # it is int32 where addresses have 32 bits


def argmin(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first minimum along an axis.

    Args:
        input: A tensor of any shape.
        axis: The axis; None for the flattened tensor.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        An int64 tensor of the remaining shape.

    Raises:
        ValueError: A reduced axis has no elements.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.argmin(Tensor([[1.0, 3.0], [4.0, 2.0]]), 1).tolist()
        [0, 1]

    Source: MindSpore's `mindspore.ops.argmin`.
    """
    check_tensor(input)
    check_bool(keepdims, "keepdims")
    place = _axis_with_elements(input, axis)
    index = device_namespace(input._data).argmin(input._data, axis=place, keepdims=keepdims)
    return cast_to(wrap(index, input), dtypes.int64)  # it is int32 where addresses have 32 bits


def _extremum_and_index(
    x: Tensor,
    axis: int | None,
    keepdims: bool,
    extremum: Callable[[Tensor, None, bool], Tensor],
    index_of_extremum: Callable[[Tensor, int | None, bool], Tensor],
) -> tuple[Tensor, Tensor]:
    check_bool(keepdims, "keepdims")
    place = _axis_with_elements(x, axis)
    if place is None:
        return extremum(x, None, keepdims), index_of_extremum(x, None, keepdims)
    indices = index_of_extremum(x, place, True)
    values = gather_elements(x, place, indices)
    return (values, indices) if keepdims else (squeeze(values, place), squeeze(indices, place))


def _with_initial(
    x: Tensor,
    initial: Number | None,
    mask: Tensor | None,
    extremum: Callable[[Tensor, Number], Tensor],
) -> Tensor:
    """Return the elements that count for a maximum or minimum, or `initial` where that does."""
    if initial is None:
        if mask is not None:
            raise value_error(initial, "initial", "be a number if 'where' is given")
        return x
    check_type(initial, (bool, int, float), "initial")
    bounded = extremum(x, initial)
    if mask is None:
        return bounded
    check_category(mask, dtypes.BOOL, "where")
    try:
        return where(mask, bounded, initial)
    except ValueError:
        raise broadcast_error(x.shape, mask.shape) from None


def _axis_with_elements(x: Tensor, axis: int | None, name: str = "axis") -> int | None:
    place = None if axis is None else normalize_axis_index(axis, x.ndim or 1, name)
    check_nonempty(x.shape, place if x.ndim else None)
    return place if x.ndim else None


def _axes_with_elements(x: Tensor, axis: Axis, name: str = "axis") -> Axis:
    axes = normalize_axis_tuple(axis, x.ndim, name)
    check_nonempty(x.shape, axes)
    return axes


def prod(
    input: Tensor, axis: Axis = None, keep_dims: bool = False, dtype: dtypes.DTypeLike | None = None
) -> Tensor:
    """Return the product over axes.

    Args:
        input: A tensor of any shape.
        axis: The axis or axes to reduce; None for all.
        keep_dims: Whether the reduced axes stay, with length 1.
        dtype: The type to multiply in; by default int64 for bools and integers, but uint64 and
            float types stay.

    Returns:
        A tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.prod(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0).tolist()
        [3.0, 8.0]

    Source: MindSpore's `mindspore.ops.prod`.
    """
    check_tensor(input)
    check_bool(keep_dims, "keep_dims")
    named = normalize_axis_tuple(axis, input.ndim)
    given = _in_type_of_results(input, dtype)
    x = half_to_float32(given)
    axes = range(x.ndim) if named is None else (named,) if isinstance(named, int) else named
    others = [i for i in range(x.ndim) if i not in axes]
    lengths = [x.shape[i] for i in others]
    count = math.prod(x.shape[i] for i in axes)
    factors = reshape(permute(x, (*axes, *others)), (count, *lengths))
    if not count:
        factors = add(apply1(rules.sum, factors, 0, True), 1)
    # One half is multiplied by the other, so that the gradient is correct where factors are 0.
    while factors.shape[0] > 1:
        half = factors.shape[0] // 2
        pairs = mul(getitem(factors, slice(half)), getitem(factors, slice(half, 2 * half)))
        odd = getitem(factors, slice(2 * half, None))
        factors = concat([pairs, odd]) if odd.shape[0] else pairs
    if keep_dims:
        lengths = [1 if i in axes else n for i, n in enumerate(x.shape)]
    return cast_to(reshape(factors, lengths), dtype_of(given))


def _in_type_of_results(x: Tensor, dtype: dtypes.DTypeLike | None) -> Tensor:
    """Return `x` in the type to add or multiply in."""
    if dtype is not None:
        return cast_to(x, dtypes.as_dtype(dtype))
    current = dtype_of(x)
    return (
        x
        if current.category == dtypes.FLOAT or current is dtypes.uint64
        else cast_to(x, dtypes.int64)
    )


def count_nonzero(
    x: Tensor,
    axis: Axis = (),
    keep_dims: bool = False,
    dtype: dtypes.DTypeLike = dtypes.int32,
) -> Tensor:
    """Return the number of elements over axes that are not 0.

    Args:
        x: A tensor of any shape.
        axis: The axis or axes to reduce; None and () for all.
        keep_dims: Whether the reduced axes stay, with length 1.
        dtype: The type of the number.

    Returns:
        A tensor of the remaining shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.count_nonzero(Tensor([[0, 1], [2, 3]]), 0).tolist()
        [1, 2]

    Source: MindSpore's `mindspore.ops.count_nonzero`.
    """
    check_tensor(x, "x")
    axes = normalize_axis_tuple(axis, x.ndim)
    check_bool(keep_dims, "keep_dims")
    counted = cast_to(not_equal(x, 0), dtypes.int64)
    return cast_to(apply1(rules.sum, counted, axes, keep_dims), dtypes.as_dtype(dtype))


def cumsum(x: Tensor, axis: int, dtype: dtypes.DTypeLike | None = None) -> Tensor:
    """Return the cumulative sum along an axis.

    Args:
        x: A tensor of numbers with at least one axis.
        axis: The axis.
        dtype: The type to sum in; None for that of `x`.

    Returns:
        A tensor of the same shape.

    Raises:
        TypeError: `x` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.cumsum(Tensor([1, 2, 3]), 0).tolist()
        [1, 3, 6]

    Source: MindSpore's `mindspore.ops.cumsum`.
    """
    check_numbers(x, "x")
    place = normalize_axis_index(axis, x.ndim, "axis")
    result_type = dtype_of(x) if dtype is None else dtypes.as_dtype(dtype)
    # numpy adds small integers up in a type of its own choice.
    return cast_to(apply1(rules.cumsum, cast_to(x, result_type), place), result_type)


def cumprod(input: Tensor, dim: int, dtype: dtypes.DTypeLike | None = None) -> Tensor:
    """Return the cumulative product along an axis.

    Args:
        input: A tensor with at least one axis.
        dim: The axis.
        dtype: The type to multiply in; by default int64 for bools and integers, but uint64 and
            float types stay.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.cumprod(Tensor([1, 2, 3]), 0).tolist()
        [1, 2, 6]

    Source: MindSpore's `mindspore.ops.cumprod`.
    """
    check_tensor(input)
    place = normalize_axis_index(dim, input.ndim, "dim")
    factors = _in_type_of_results(input, dtype)
    x = half_to_float32(factors)
    # Each product is multiplied by the one that ends before it, so that products of 2, 4, … factors
    # follow, and the gradient is correct where factors are 0.
    before, size = (slice(None),) * place, 1
    while size < x.shape[place]:
        first, last = (getitem(x, (*before, part)) for part in (slice(size), slice(size, None)))
        x = concat([first, mul(last, getitem(x, (*before, slice(-size))))], place)
        size *= 2
    return cast_to(x, dtype_of(factors))


def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Return the sorted elements along an axis and their indices.

    The sort is stable; NaN counts as the largest.

    Args:
        input_x: A tensor of numbers with at least one axis.
        axis: The axis.
        descending: Whether the largest come first.

    Returns:
        The sorted elements, and the int32 index of each along the axis; both of the same shape.

    Raises:
        TypeError: `input_x` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.sort(Tensor([3, 1, 2]))]
        [[1, 2, 3], [1, 2, 0]]

    Source: MindSpore's `mindspore.ops.sort`.
    """
    check_numbers(input_x, "input_x")
    place = normalize_axis_index(axis, input_x.ndim, "axis")
    check_bool(descending, "descending")
    indices = _argsort(input_x, place, descending)
    return gather_elements(input_x, place, indices), indices


def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Return the indices that sort the elements along an axis; the sort is stable.

    Args:
        input: A tensor of numbers with at least one axis.
        axis: The axis.
        descending: Whether the largest come first.

    Returns:
        An int32 tensor of the same shape.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.argsort(Tensor([3, 1, 2])).tolist()
        [1, 2, 0]

    Source: MindSpore's `mindspore.ops.argsort`.
    """
    check_numbers(input)
    place = normalize_axis_index(axis, input.ndim, "axis")
    check_bool(descending, "descending")
    return _argsort(input, place, descending)


def topk(
    input: Tensor, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """Return the `k` largest elements along an axis, in order, and their indices.

    Args:
        input: A tensor of numbers with at least one axis.
        k: How many elements.
        dim: The axis; None for the last one.
        largest: False for the smallest elements, the smallest first.
        sorted: Accepted and ignored: the elements are always in order.

    Returns:
        The elements, and their int32 indices along the axis.

    Raises:
        TypeError: `input` is a tensor of bools.
        ValueError: `k` is not from 1 to the length of the axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> [x.tolist() for x in ops.topk(Tensor([3, 1, 2]), 2)]
        [[3, 2], [0, 2]]

    Source: MindSpore's `mindspore.ops.topk`.
    """
    check_numbers(input)
    place = normalize_axis_index(-1 if dim is None else dim, input.ndim, "dim")
    check_int(k, "k", low=1, high=input.shape[place])
    check_bool(largest, "largest")
    check_bool(sorted, "sorted")
    order = _argsort(input, place, largest)
    first = wrap(order._data[(slice(None),) * place + (slice(k),)], input)
    return gather_elements(input, place, first), first


def _argsort(x: Tensor, axis: int, descending: bool) -> Tensor:
    """Return the indices that sort `x` along an axis; the order of equal elements stays."""
    xp = device_namespace(x._data)
    if not descending:
        order = xp.argsort(x._data, axis=axis, kind="stable")
    else:
        # Reverse, sort and reverse, so that equal elements stay in their order.
        reverse = (slice(None),) * axis + (slice(None, None, -1),)
        order = xp.argsort(x._data[reverse], axis=axis, kind="stable")[reverse]
        order = (x.shape[axis] - 1) - order
    return wrap(xp.astype(order, dtypes.int32.numpy_dtype), x)


@in_float32
def var(input: Tensor, axis: Axis = None, ddof: int | bool = 0, keepdims: bool = False) -> Tensor:
    """Return the variance over axes: the mean square of the distance from the mean.

    Args:
        input: A tensor of floats.
        axis: The axis or axes to reduce; None for all.
        ddof: Subtracted from the number of elements that the sum of squares is divided by; 1 gives
            the unbiased estimate.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        A tensor of the remaining shape and the same type.

    Raises:
        TypeError: `input` does not hold floats.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.var(Tensor([1.0, 3.0])).item(), ops.var(Tensor([1.0, 3.0]), ddof=1).item()
        (1.0, 2.0)

    Source: MindSpore's `mindspore.ops.var`.
    """
    return _variance(input, axis, ddof, keepdims)


@in_float32
def std(input: Tensor, axis: Axis = None, ddof: int | bool = 0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation over axes; its derivative where it is 0 is 0.

    Args:
        input: A tensor of floats.
        axis: The axis or axes to reduce; None for all.
        ddof: As in `var`.
        keepdims: Whether the reduced axes stay, with length 1.

    Returns:
        A tensor of the remaining shape and the same type.

    Raises:
        TypeError: `input` does not hold floats.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.std(Tensor([1.0, 3.0])).item()
        1.0

    Source: MindSpore's `mindspore.ops.std`.
    """
    return root(_variance(input, axis, ddof, keepdims), 2)


def _variance(x: Tensor, axis: Axis, ddof: int, keepdims: bool) -> Tensor:
    check_category(x, dtypes.FLOAT)
    axes = normalize_axis_tuple(axis, x.ndim)
    check_type(ddof, (int, bool), "ddof")
    check_bool(keepdims, "keepdims")
    squares = apply1(elementwise.square, sub(x, apply1(rules.mean, x, axes, True)))
    value = apply1(rules.mean, squares, axes, keepdims)
    if not ddof:
        return value
    count = math.prod(x.shape) // (math.prod(value.shape) or 1)
    if count <= ddof:
        warn_at_caller(
            f"For '{caller()}', the argument 'ddof' should be less than the number of elements, "
            f"{count}, but got {ddof}: the result is infinite or NaN."
        )
    return mul(value, count / (count - ddof) if count > ddof else inf)


def root(x: Tensor, degree: float) -> Tensor:
    """Return the root of `x`, whose infinite derivative at 0 is replaced by 0."""
    nothing = equal(x, 0)
    some = where(nothing, 1, x)
    root = sqrt(some) if degree == 2 else pow(some, 1 / degree)
    return where(nothing, 0, root)
