"""Tensors with elements or slices put or added at indices: the reverse of gathering."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Array, Shape, to_device_of, to_host
from minispore.engine.dispatch import (
    Number,
    Variable,
    apply1,
    cast_exactly,
    check_category,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
    shape_error,
    wrap,
)
from minispore.engine.rules import indexing as rules
from minispore.ops.arithmetic import add, where
from minispore.ops.indexing import as_values_for, places_along, setitem
from minispore.ops.manipulation import (
    as_shape,
    broadcast_to,
    normalize_axis_index,
    reshape,
    take_places,
)
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    INT32_MAX,
    caller,
    check_bool,
    check_int,
    check_one_of,
    check_type,
)

__all__ = [
    "index_add", "scatter", "scatter_add", "scatter_nd", "tensor_scatter_add",
    "tensor_scatter_elements", "unsorted_segment_sum",
]  # fmt: skip


def scatter(input: Tensor, axis: int, index: Tensor, src: Tensor | Number) -> Tensor:
    """Return `input` with the elements of `src` at the indices along an axis.

    Args:
        input: A tensor with at least one axis.
        axis: The axis along which `index` selects.
        index: A tensor of integers with as many axes as `input`: where each element of `src` goes.
        src: A tensor of the shape of `index`, or a number.

    Returns:
        A tensor of the shape and type of `input`; gradients flow to the elements that remain and to
        `src`.

    Raises:
        ValueError: The shapes do not fit.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.scatter(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0], [1]]), 9).tolist()
        [[9, 2], [3, 9]]

    Source: MindSpore's `mindspore.ops.scatter`.
    """
    check_tensor(input)
    places = places_along(input, axis, index, "axis")
    return _put(input, places, _check_source(src, index))


def _put(x: Tensor, places: tuple[object, ...], values: Tensor | Number) -> Tensor:
    """Return `x` with values at places."""
    try:
        return setitem(x, places, values)
    except IndexError as error:
        raise IndexError(f"For '{caller()}', {error}") from None


def _check_source(src: Tensor | Number, index: Tensor) -> Tensor | Number:
    if not isinstance(src, Variable):
        check_type(src, (Variable, int, float), "src")
    elif src.shape != index.shape:
        raise shape_error(src, "src", f"have the shape {index.shape} of 'index'")
    return src


def add_along_axis(input: Tensor, axis: int, index: Tensor, src: Tensor | Number) -> Tensor:
    """Return `input` with the elements of `src` added at the indices along an axis."""
    check_tensor(input)
    places = places_along(input, axis, index, "axis")
    values = broadcast_to(as_values_for(input, _check_source(src, index)), index.shape)
    return _added(input, values, places)


@in_float32
def _added(x: Tensor, values: Tensor, places: tuple[object, ...]) -> Tensor:
    """Return `x` with values added at places, of which some may be the same."""
    try:
        return add(x, apply1(rules.scatter_add, values, places, x.shape))
    except IndexError as error:
        raise IndexError(f"For '{caller()}', {error}.") from None


def tensor_scatter_elements(
    input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """Return `input_x` with the elements of `updates` put or added at indices along an axis.

    Args:
        input_x: A tensor with at least one axis.
        indices: A tensor of integers with as many axes as `input_x`: where each element goes.
        updates: A tensor of the shape of `indices`.
        axis: The axis along which `indices` selects.
        reduction: "none" to put the elements there, or "add" to add them.

    Returns:
        A tensor of the shape and type of `input_x`.

    Raises:
        ValueError: The shapes do not fit.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> x, places = Tensor([[1, 2], [3, 4]]), Tensor([[0], [1]])
        >>> ops.tensor_scatter_elements(x, places, Tensor([[5], [6]]), 1, "add").tolist()
        [[6, 2], [3, 10]]

    Source: MindSpore's `mindspore.ops.tensor_scatter_elements`.
    """
    check_tensor(input_x, "input_x")
    check_tensor(updates, "updates")
    check_one_of(reduction, ("none", "add"), "reduction")
    places = places_along(input_x, axis, indices, "axis", "indices")
    if updates.shape != indices.shape:
        raise shape_error(updates, "updates", f"have the shape {indices.shape} of 'indices'")
    if reduction == "add":
        return _added(input_x, cast_exactly(updates, dtype_of(input_x)), places)
    return _put(input_x, places, updates)


def tensor_scatter_add(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Return `input_x` with elements or slices added at positions; equal ones accumulate.

    Args:
        input_x: A tensor with at least one axis.
        indices: A tensor of integers, of shape (…, k) and two axes or more. Its last axis holds the
            indices along the first k axes of `input_x`; negative ones count from the end.
        updates: What is added, of shape (…, *input_x.shape[k:]).

    Returns:
        A tensor of the shape and type of `input_x`; gradients flow to it and to `updates`.

    Raises:
        ValueError: The shapes do not fit.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> x, places = Tensor([[1, 2], [3, 4]]), Tensor([[0, 0], [0, 0]])
        >>> ops.tensor_scatter_add(x, places, Tensor([5, 6])).tolist()
        [[12, 2], [3, 4]]

    Source: MindSpore's `mindspore.ops.tensor_scatter_add`.
    """
    check_tensor(input_x, "input_x")
    check_tensor(updates, "updates")
    places = _positions(indices, input_x.shape, updates)
    return _added(input_x, cast_exactly(updates, dtype_of(input_x)), places)


def scatter_nd(indices: Tensor, updates: Tensor, shape: Sequence[int]) -> Tensor:
    """Return zeros with elements or slices added at positions; equal ones accumulate.

    Args:
        indices: As in `tensor_scatter_add`.
        updates: What is added, of shape (…, *shape[k:]).
        shape: The shape of the result.

    Returns:
        A tensor of that shape and the type of `updates`.

    Raises:
        ValueError: The shapes do not fit.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.scatter_nd(Tensor([[0], [2], [2]]), Tensor([1, 2, 3]), (4,)).tolist()
        [1, 0, 5, 0]

    Source: MindSpore's `mindspore.ops.scatter_nd`.
    """
    check_tensor(updates, "updates")
    lengths = as_shape(shape)
    for length in lengths:
        check_int(length, "shape", low=0, high=INT32_MAX)
    places = _positions(indices, lengths, updates)
    try:
        return apply1(rules.scatter_add, updates, places, lengths)
    except IndexError as error:
        raise IndexError(f"For 'scatter_nd', {error}.") from None


def _positions(indices: Tensor, shape: Shape, updates: Tensor) -> tuple[Array, ...]:
    """Return the index that the last axis of `indices` holds, for updates of a matching shape."""
    check_category(indices, dtypes.INTEGER, "indices")
    if indices.ndim < 2 or not 0 < indices.shape[-1] <= len(shape):
        raise ValueError(
            f"For '{caller()}', the argument 'indices' must have two axes or more, and its last "
            f"length be from 1 to {len(shape)}, but its shape is {indices.shape}."
        )
    count = indices.shape[-1]
    expected = indices.shape[:-1] + shape[count:]
    if updates.shape != expected:
        raise shape_error(updates, "updates", f"have the shape {expected}")
    return tuple(indices._data[..., i] for i in range(count))


def index_add(
    x: Tensor,
    indices: Tensor,
    y: Tensor,
    axis: int,
    use_lock: bool = True,
    check_index_bound: bool = True,
) -> Tensor:
    """Add slices to those of `x` that the indices select along an axis, in the memory of `x`.

    Args:
        x: A Parameter or another tensor with at least one axis.
        indices: A tensor of integers with one axis, in which an index may be repeated; negative
            ones count from the end.
        y: The slices: a tensor of the shape of `x`, but of the length of `indices` along the axis.
        axis: The axis.
        use_lock: Accepted for compatibility with MindSpore, without effect.
        check_index_bound: Accepted for compatibility, without effect: indices are always checked.

    Returns:
        The new elements of `x` as a tensor, from which gradients flow to the former ones and `y`.

    Raises:
        ValueError: The shapes do not fit.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Parameter, Tensor, ops
        >>> x = Parameter(Tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> ops.index_add(x, Tensor([1]), Tensor([[10.0, 20.0]]), 0).tolist()
        [[1.0, 2.0], [13.0, 24.0]]
        >>> x.tolist()
        [[1.0, 2.0], [13.0, 24.0]]

    Source: MindSpore's `mindspore.ops.index_add`.
    """
    check_tensor(x, "x")
    check_tensor(y, "y")
    place = normalize_axis_index(axis, x.ndim, "axis")
    check_category(indices, dtypes.INTEGER, "indices")
    check_bool(use_lock, "use_lock")
    check_bool(check_index_bound, "check_index_bound")
    if indices.ndim != 1:
        raise shape_error(indices, "indices", "have one axis")
    expected = (*x.shape[:place], *indices.shape, *x.shape[place + 1 :])
    if y.shape != expected:
        raise shape_error(y, "y", f"have the shape {expected}")
    return _written(x, y, (*(slice(None),) * place, indices._data))


def scatter_add(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Add slices to those of `input_x` along its first axis, in the memory of `input_x`.

    Args:
        input_x: A Parameter or another tensor with at least one axis.
        indices: A tensor of integers, in which an index may be repeated; negative ones count from
            the end.
        updates: The slices, of shape (*indices.shape, *input_x.shape[1:]).

    Returns:
        The new elements of `input_x` as a tensor, from which gradients flow to the former ones and
        `updates`.

    Raises:
        ValueError: The shapes do not fit.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Parameter, Tensor, ops
        >>> x = Parameter(Tensor([1.0, 2.0]))
        >>> ops.scatter_add(x, Tensor([1, 1]), Tensor([10.0, 20.0])).tolist()
        [1.0, 32.0]
        >>> x.tolist()
        [1.0, 32.0]

    Source: MindSpore's `mindspore.ops.scatter_add`.
    """
    check_tensor(input_x, "input_x")
    check_tensor(updates, "updates")
    check_category(indices, dtypes.INTEGER, "indices")
    if input_x.ndim == 0:
        raise shape_error(input_x, "input_x", "have axes")
    expected = indices.shape + input_x.shape[1:]
    if updates.shape != expected:
        raise shape_error(updates, "updates", f"have the shape {expected}")
    return _written(input_x, updates, (indices._data,))


def _written(x: Tensor, values: Tensor, places: tuple[object, ...]) -> Tensor:
    """Add values to `x` in its memory, and return its new elements."""
    result = _added(x, cast_exactly(values, dtype_of(x)), places)
    x[...] = result
    return result


def put_where(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Return `input` with the first elements of `source` where `mask` is true, in their order.

    Raises:
        ValueError: The mask does not broadcast to the shape of `input`, or `source` has too few
            elements.
    """
    check_tensor(source, "source")
    check_category(mask, dtypes.BOOL, "mask")
    chosen = to_host(broadcast_to(mask, input.shape)._data).reshape(-1)
    count, available = int(chosen.sum()), prod(source.shape)
    if count > available:
        raise ValueError(
            f"For '{caller()}', the argument 'source' must have an element for each of the {count} "
            f"that 'mask' chooses, but it has {available}."
        )
    if not count:
        return input
    # Where nothing is chosen, any element will do.
    places = np.where(chosen, np.cumsum(chosen) - 1, 0)
    values = take_places(reshape(cast_exactly(source, dtype_of(input)), (-1,)), 0, places)
    is_new = wrap(to_device_of(chosen.reshape(input.shape), input._data), input)
    return where(is_new, reshape(values, input.shape), input)


def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Return the sums of the slices of `input_x` with equal numbers.

    Args:
        input_x: A tensor of numbers.
        segment_ids: A tensor of integers, whose shape is that of the first axes of `input_x`: the
            number of the sum to which each slice is added; none if it is negative.
        num_segments: How many sums there are.

    Returns:
        A tensor of the same type with one axis of `num_segments` sums, and the further axes.

    Raises:
        ValueError: The shapes do not fit, or a number is not below `num_segments`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.unsorted_segment_sum(Tensor([1, 2, 3]), Tensor([0, 1, 0]), 2).tolist()
        [4, 2]

    Source: MindSpore's `mindspore.ops.unsorted_segment_sum`.
    """
    check_numbers(input_x, "input_x")
    check_category(segment_ids, dtypes.INTEGER, "segment_ids")
    check_int(num_segments, "num_segments", low=1, high=INT32_MAX)
    count = segment_ids.ndim
    if not count or input_x.shape[:count] != segment_ids.shape:
        raise ValueError(
            f"For '{caller()}', the shape of 'segment_ids' must be that of the first axes of "
            f"'input_x', {input_x.shape}, but is {segment_ids.shape}."
        )
    numbers = to_host(segment_ids._data)
    if (numbers >= num_segments).any():
        raise ValueError(
            f"For '{caller()}', 'segment_ids' must be below {num_segments}, the argument "
            f"'num_segments', but got {numbers.max()}."
        )
    # Negative numbers get a sum of their own, which is dropped.
    places = to_device_of(np.where(numbers < 0, num_segments, numbers), input_x._data)
    shape = (num_segments + 1, *input_x.shape[count:])
    return apply1(rules.getitem, apply1(rules.scatter_add, input_x, (places,), shape), (slice(-1),))
