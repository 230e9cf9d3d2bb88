"""Indexing: any part of a tensor, and a tensor with any part replaced."""

from __future__ import annotations

from math import prod
from types import EllipsisType
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    HostArray,
    device_namespace,
    device_of,
    is_ndarray,
    to_device,
    to_device_of,
    to_host,
)
from minispore.engine.dispatch import (
    Number,
    Values,
    Variable,
    apply1,
    apply3,
    array_from_values,
    broadcast_error,
    cast_exactly,
    check_category,
    check_fits,
    check_tensor,
    dtype_of,
    promote_operands,
    shape_error,
    wrap,
)
from minispore.engine.rules import indexing as rules
from minispore.engine.rules.arithmetic import where
from minispore.engine.rules.shape import reshape
from minispore.ops.manipulation import (
    broadcast_shape,
    broadcast_to,
    normalize_axis_index,
    permute,
)
from minispore.utils.checks import (
    INT32_MAX,
    as_items,
    as_tuple,
    caller,
    check_bool,
    check_int,
    check_type,
    describe_value,
)

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "diagonal", "gather", "gather_elements", "gather_nd", "index_select", "masked_fill",
    "masked_select", "nonzero", "one_hot", "tril", "triu",
]  # fmt: skip

_BASIC_ITEMS: tuple[type, ...] = (int, slice, EllipsisType, np.integer)


def getitem(input: Tensor, index: object) -> Tensor:
    """Return `input[index]` for ints, slices, None, `...`, bools, and lists or tensors of ints."""
    key = as_index(index, input._data)
    try:
        return apply1(rules.getitem, input, key)
    except IndexError as error:
        raise IndexError(
            f"A tensor of shape {input.shape} has no [{_on_one_line(index)}]: {error}."
        ) from None


def setitem(input: Tensor, index: object, value: Tensor | Values) -> Tensor:
    """Return `input` with `value` at `index` as a new tensor; both receive a gradient."""
    values = as_values_for(input, value)
    xp = device_namespace(input._data)
    # For each element of the result the position of its value, or -1 where the element is kept. The
    # array library's own assignment writes the positions, so each index has its usual meaning, also
    # one that contains an element twice.
    count = prod(values.shape)
    places = xp.reshape(xp.arange(0, count, 1, dtypes.int64.numpy_dtype), values.shape)
    source = wrap(xp.full(input.shape, -1, dtypes.int64.numpy_dtype), input)
    assign_at(source, index, wrap(places, input))
    if values.ndim:
        flat = apply1(reshape, values, (count,))
        values = getitem(flat, source) if count else input
    return apply3(where, wrap(source._data < 0, input), input, values)


def assign_at(input: Tensor, index: object, value: Tensor | Values) -> None:
    """Write `value` at `index` into the memory of `input`, without recording."""
    key = as_index(index, input._data)
    values = as_values_for(input, value)
    try:
        # The values may be on another device.
        data = to_device(values._data, device_of(input._data))
        device_namespace(input._data).assign(input._data, key, data)
    except (IndexError, ValueError) as error:
        raise type(error)(f"For item assignment at [{_on_one_line(index)}]: {error}.") from None


def _on_one_line(index: object) -> str:
    return " ".join(repr(index).split())


def gather(input_params: Tensor, input_indices: Tensor, axis: int, batch_dims: int = 0) -> Tensor:
    """Return the slices of `input_params` along an axis that the indices select.

    Args:
        input_params: A tensor with at least one axis.
        input_indices: A tensor of integers of any shape; negative ones count from the end.
        axis: The axis, which does not come before the first `batch_dims`.
        batch_dims: The number of first axes that both have, of equal lengths: each slice along them
            is gathered from with its own indices.

    Returns:
        A tensor in which the axis is replaced by the other axes of `input_indices`.

    Raises:
        ValueError: The first `batch_dims` lengths are not equal.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.gather(Tensor([[1, 2], [3, 4]]), Tensor([1, 1]), 0).tolist()
        [[3, 4], [3, 4]]

    Source: MindSpore's `mindspore.ops.gather`.
    """
    check_tensor(input_params, "input_params")
    place = normalize_axis_index(axis, input_params.ndim, "axis")
    check_category(input_indices, dtypes.INTEGER, "input_indices")
    check_int(batch_dims, "batch_dims", low=0, high=min(place, input_indices.ndim))
    batch = input_params.shape[:batch_dims]
    if batch != input_indices.shape[:batch_dims]:
        raise ValueError(
            f"For 'gather', the first {batch_dims} lengths of 'input_params' and 'input_indices' "
            f"must be equal, but the shapes are {input_params.shape} and {input_indices.shape}."
        )
    if not batch_dims:
        index = (slice(None),) * place + (input_indices._data,)
        return getitem_at(input_params, index)
    # One index for all batch axes, broadcast with the indices; numpy puts their axes first.
    inner = place - batch_dims
    others = (1,) * (input_indices.ndim - batch_dims)
    places = np.arange(prod(batch)).reshape(*batch, *others)
    flat = apply1(reshape, input_params, (prod(batch), *input_params.shape[batch_dims:]))
    rows = to_device_of(places, flat._data)
    index = (rows, *(slice(None),) * inner, input_indices._data)
    found = getitem_at(flat, index)
    count = input_indices.ndim
    order = (*range(batch_dims), *range(count, count + inner), *range(batch_dims, count))
    return permute(found, (*order, *range(count + inner, found.ndim))) if inner else found


def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return, for each position of `index`, the element of `input` there with `index` along `dim`.

    Args:
        input: A tensor with at least one axis.
        dim: The axis along which `index` selects.
        index: A tensor of integers with as many axes as `input`.

    Returns:
        A tensor of the shape of `index` and the type of `input`.

    Raises:
        ValueError: `index` has another number of axes than `input`.
        IndexError: An index is out of range, or `index` is longer than `input` along another axis.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.gather_elements(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0], [1]])).tolist()
        [[1], [4]]

    Source: MindSpore's `mindspore.ops.gather_elements`.
    """
    check_tensor(input)
    if isinstance(index, Variable) and not (input.ndim or index.ndim):
        # As tensors of one element.
        first, place = apply1(reshape, input, (1,)), apply1(reshape, index, (1,))
        return apply1(reshape, gather_elements(first, dim, place), ())
    places = places_along(input, dim, index, "dim")
    return getitem_at(input, places)


def gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    """Return the elements or slices of `input_x` at positions.

    Args:
        input_x: A tensor with at least one axis.
        indices: A tensor of integers. Its last axis holds the indices along the first axes of
            `input_x`; negative ones count from the end.

    Returns:
        A tensor of the shape of `indices` without the last axis, and of the further axes.

    Raises:
        ValueError: `indices` has no axis, or more indices than `input_x` has axes.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.gather_nd(Tensor([[1, 2], [3, 4]]), Tensor([[0, 1], [1, 0]])).tolist()
        [2, 3]

    Source: MindSpore's `mindspore.ops.gather_nd`.
    """
    check_tensor(input_x, "input_x")
    check_category(indices, dtypes.INTEGER, "indices")
    count = indices.shape[-1] if indices.ndim else 0
    if not 0 < count <= input_x.ndim:
        raise ValueError(
            f"For 'gather_nd', the last length of 'indices' must be from 1 to {input_x.ndim}, the "
            f"number of axes of 'input_x', but the shape is {indices.shape}."
        )
    index = tuple(indices._data[..., i] for i in range(count))
    return getitem_at(input_x, index)


def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """Return the slices of `input` along an axis that the indices select.

    Args:
        input: A tensor with at least one axis.
        axis: The axis.
        index: A tensor of integers with one axis; negative ones count from the end.

    Returns:
        A tensor in which the axis has the length of `index`.

    Raises:
        ValueError: `index` does not have one axis.
        IndexError: An index is out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.index_select(Tensor([[1, 2], [3, 4]]), 1, Tensor([1])).tolist()
        [[2], [4]]

    Source: MindSpore's `mindspore.ops.index_select`.
    """
    check_tensor(input)
    place = normalize_axis_index(axis, input.ndim, "axis")
    check_category(index, dtypes.INTEGER, "index")
    if index.ndim != 1:
        raise shape_error(index, "index", "have one axis")
    return getitem_at(input, (slice(None),) * place + (index._data,))


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements at which `mask` is true.

    Args:
        input: A tensor of any shape.
        mask: A bool tensor whose shape broadcasts with that of `input`.

    Returns:
        A tensor with one axis.

    Raises:
        TypeError: `mask` does not hold bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.masked_select(Tensor([1, 2, 3]), Tensor([True, False, True])).tolist()
        [1, 3]

    Source: MindSpore's `mindspore.ops.masked_select`.
    """
    check_tensor(input)
    check_category(mask, dtypes.BOOL, "mask")
    shape = broadcast_shape(input.shape, mask.shape)
    chosen = broadcast_to(wrap(mask._data, mask), shape)._data
    return apply1(rules.getitem, broadcast_to(input, shape), (chosen,))


@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Return the indices of the elements other than 0.

    Args:
        input: A tensor with at least one axis.
        as_tuple: Whether to return the indices along each axis, as a tuple.

    Returns:
        An int64 tensor with a row of indices for each such element, or a tuple of its columns.

    Raises:
        ValueError: `input` has no axes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.nonzero(Tensor([[0, 3], [4, 0]])).tolist()
        [[0, 1], [1, 0]]

    Source: MindSpore's `mindspore.ops.nonzero`.
    """
    check_tensor(input)
    check_bool(as_tuple, "as_tuple")
    if input.ndim == 0:
        raise ValueError("For 'nonzero', the argument 'input' must have axes, but has none.")
    indices = [to_device_of(i, input._data) for i in np.nonzero(to_host(input._data))]
    if as_tuple:
        return tuple(wrap(i, input) for i in indices)
    return wrap(device_namespace(input._data).stack(indices, axis=1), input)


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return the diagonals of the matrices along two axes.

    Args:
        input: A tensor with at least two axes.
        offset: Which diagonal: 1 is the one above the main diagonal.
        dim1: The axis of the rows.
        dim2: The axis of the columns.

    Returns:
        A tensor without the two axes, and with the diagonals along a new last axis.

    Raises:
        ValueError: The axes are equal, or out of range.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.diagonal(Tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]

    Source: MindSpore's `mindspore.ops.diagonal`.
    """
    check_tensor(input)
    check_int(offset, "offset")
    row = normalize_axis_index(dim1, input.ndim, "dim1")
    column = normalize_axis_index(dim2, input.ndim, "dim2")
    if row == column:
        raise ValueError(f"For 'diagonal', 'dim1' and 'dim2' must differ, but both are {dim1}.")
    others = [i for i in range(input.ndim) if i not in {row, column}]
    x = permute(input, (*others, row, column))
    length = max(0, min(x.shape[-2] + min(offset, 0), x.shape[-1] - max(offset, 0)))
    xp, counted = device_namespace(x._data), dtypes.int64.numpy_dtype
    if not length:
        nothing = apply1(rules.getitem, x, (..., slice(0), slice(0)))
        return apply1(reshape, nothing, (*x.shape[:-2], 0))
    places = xp.arange(0, length, 1, counted)
    return apply1(rules.getitem, x, (..., places + max(-offset, 0), places + max(offset, 0)))


def one_hot(
    indices: Tensor,
    depth: int,
    on_value: Tensor | Number = 1,
    off_value: Tensor | Number = 0,
    axis: int = -1,
) -> Tensor:
    """Return `on_value` at each index of a new axis, and `off_value` elsewhere.

    An index out of range has no `on_value`.

    Args:
        indices: A tensor of integers.
        depth: The length of the new axis: the number of classes.
        on_value: A number, or a tensor of one element.
        off_value: A number, or a tensor of one element.
        axis: The position of the new axis.

    Returns:
        A tensor with one more axis than `indices`.

    Raises:
        ValueError: `depth` is negative, or a value has more than one element.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.one_hot(Tensor([0, 2]), 3).tolist()
        [[1, 0, 0], [0, 0, 1]]

    Source: MindSpore's `mindspore.ops.one_hot`.
    """
    check_category(indices, dtypes.INTEGER, "indices")
    check_int(depth, "depth", low=0, high=INT32_MAX)
    check_int(axis, "axis", low=-1, high=indices.ndim)
    place = indices.ndim if axis == -1 else axis
    xp = device_namespace(indices._data)
    on, off = _as_number(on_value, "on_value"), _as_number(off_value, "off_value")
    if isinstance(on_value, Variable):
        dtype = dtype_of(on_value)
    else:
        floats = isinstance(on, float) or isinstance(off, float)
        dtype = dtypes.float32 if floats else dtypes.int64
    # Few enough classes are counted in the type of the indices, whatever it is.
    counted = indices._data.dtype if depth <= 1 << 7 else dtypes.int64.numpy_dtype
    classes = xp.arange(0, depth, 1, counted)
    column = xp.reshape(classes, (depth,) + (1,) * (indices.ndim - place))
    hit = xp.equal(xp.expand_dims(indices._data, axis=place), column)
    if on == 1 and off == 0:
        return wrap(xp.astype(hit, dtype.numpy_dtype), indices)
    for value in (on, off):
        check_fits(value, dtype)
    either = [xp.asarray(value, dtype.numpy_dtype) for value in (on, off)]
    return wrap(xp.where(hit, *either), indices)


def masked_fill(input_x: Tensor, mask: Tensor, value: Tensor | Number) -> Tensor:
    """Return `value` where `mask` is true, and `input_x` elsewhere.

    Args:
        input_x: A tensor of any shape.
        mask: A bool tensor whose shape broadcasts with that of `input_x`.
        value: A number, or a tensor without axes, to which a gradient flows as well.

    Returns:
        A tensor of the broadcast shape and the type of `input_x`.

    Raises:
        TypeError: `mask` does not hold bools, or the type of `input_x` cannot hold `value`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), -1.0).tolist()
        [-1.0, 2.0]

    Source: MindSpore's `mindspore.ops.masked_fill`.
    """
    check_tensor(input_x, "input_x")
    check_category(mask, dtypes.BOOL, "mask")
    if not isinstance(value, Variable):
        check_type(value, (Variable, bool, int, float), "value")
        filling = promote_operands(input_x, value)[1]
    elif value.ndim:
        raise ValueError(
            f"For '{caller()}', a Tensor 'value' must have no axes, but its shape is {value.shape}."
        )
    else:
        filling = value
    dtype = dtype_of(input_x)
    if dtype_of(filling).category > dtype.category:
        raise TypeError(
            f"For '{caller()}', the argument 'value' must fit the type of 'input_x', {dtype!r}, "
            f"but got {dtype_of(filling)!r}."
        )
    filling = cast_exactly(filling, dtype)
    try:
        return apply3(where, wrap(mask._data, input_x), filling, input_x)
    except ValueError:
        raise broadcast_error(input_x.shape, mask.shape) from None


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the lower triangles of matrices, with zeros above a diagonal.

    Args:
        input: Matrices, of shape (…, rows, columns).
        diagonal: The last diagonal that is kept; 1 is the one above the main diagonal.

    Returns:
        A tensor of the same shape and type.

    Raises:
        ValueError: `input` has fewer than two axes.

    Examples:
        >>> from minispore import ops
        >>> ops.tril(ops.ones((2, 3))).tolist()
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]

    Source: MindSpore's `mindspore.ops.tril`.
    """
    return _triangle(input, diagonal, "lower")


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the upper triangles of matrices, with zeros below a diagonal.

    Args:
        input: Matrices, of shape (…, rows, columns).
        diagonal: The first diagonal that is kept; 1 is the one above the main diagonal.

    Returns:
        A tensor of the same shape and type.

    Raises:
        ValueError: `input` has fewer than two axes.

    Examples:
        >>> from minispore import ops
        >>> ops.triu(ops.ones((2, 3)), 1).tolist()
        [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]

    Source: MindSpore's `mindspore.ops.triu`.
    """
    return _triangle(input, diagonal, "upper")


def _triangle(x: Tensor, diagonal: int, part: Literal["lower", "upper"]) -> Tensor:
    check_tensor(x)
    check_int(diagonal, "diagonal")
    if x.ndim < 2:
        raise shape_error(x, "input", "have two axes or more")
    rows, columns = x.shape[-2:]
    xp, counted = device_namespace(x._data), dtypes.int64.numpy_dtype
    row = xp.reshape(xp.arange(0, rows, 1, counted), (rows, 1))
    column = xp.arange(0, columns, 1, counted)
    # Beyond the corners nothing changes, and any number fits.
    edge = row + max(-rows - 1, min(columns, diagonal))
    inside = column <= edge if part == "lower" else column >= edge
    zero = xp.zeros((), x._data.dtype)
    return apply3(where, wrap(inside, x), x, wrap(zero, x))


def as_index(index: object, array: Array) -> tuple[object, ...]:
    """Return a user's index as a tuple of items that `array` can be indexed by.

    Raises:
        IndexError: Something in it cannot index.
    """
    return tuple(_as_item(item, array) for item in as_tuple(index))


def _as_item(item: object, array: Array) -> object:
    if item is None or isinstance(item, _BASIC_ITEMS):
        return item
    if isinstance(item, Variable):
        if dtype_of(item).category == dtypes.FLOAT:
            raise IndexError("A tensor that indexes must hold integers or bools, not floats.")
        return item._data
    places = _as_numpy_index(item)
    if places is not None and places.dtype.kind in "biu":
        return to_device_of(places, array)
    if places is None and hasattr(item, "dtype") and hasattr(item, "__getitem__"):
        # Arrays of a library that a rule was written in.
        return item
    raise IndexError(
        "A tensor is indexed by integers, slices, `...`, None, bools, and lists or tensors of "
        f"integers or bools, but got {describe_value(item)}."
    )


def _as_numpy_index(item: object) -> HostArray | None:
    items = as_items(item)
    if items is not None:
        try:
            return np.array(items, None if items else np.int64)
        except ValueError:  # lists of several lengths
            return None
    return item if is_ndarray(item) else None


def places_along(
    input: Tensor, axis: int, index: Tensor, name: str, index_name: str = "index"
) -> tuple[Array, ...]:
    """Return the position of each element of `index`, which selects along one axis."""
    check_category(index, dtypes.INTEGER, index_name)
    if index.ndim != input.ndim:
        raise ValueError(
            f"For '{caller()}', '{index_name}' must have {input.ndim} axes like the input, "
            f"but its shape is {index.shape}."
        )
    place = normalize_axis_index(axis, input.ndim, name)
    return tuple(index._data if i == place else _indices_along(i, index) for i in range(index.ndim))


def _indices_along(axis: int, x: Tensor) -> Array:
    """Return the indices of `x` along an axis, in a shape that broadcasts with it."""
    xp = device_namespace(x._data)
    indices = xp.arange(0, x.shape[axis], 1, dtypes.int64.numpy_dtype)
    return xp.reshape(indices, (-1, *(1,) * (x.ndim - axis - 1)))


def as_values_for(input: Tensor, value: Tensor | Values) -> Tensor:
    """Return `value` as a variable of the type of `input`; ValueError if that cannot hold it."""
    dtype = dtype_of(input)
    if isinstance(value, int):
        values = cast_exactly(promote_operands(input, value)[1], dtype)
    elif isinstance(value, Variable):
        values = cast_exactly(value, dtype)
    else:
        values = wrap(array_from_values(value, dtype, input._data, exactly=True), input)
    if values.ndim and prod(values.shape) == 1:
        # One element fits everywhere, even where there are no axes.
        values = apply1(reshape, values, ())
    return values


def getitem_at(x: Tensor, index: tuple[object, ...]) -> Tensor:
    try:
        return apply1(rules.getitem, x, index)
    except IndexError as error:
        raise IndexError(f"For '{caller()}', {error}.") from None


def _as_number(value: Variable | Number, name: str) -> float:
    """Return a number, also from a tensor of one element."""
    if isinstance(value, Variable):
        if prod(value.shape) != 1:
            raise ValueError(
                f"For 'one_hot', the argument '{name}' must have one element, but it is of shape "
                f"{value.shape}."
            )
        number: float = to_host(value._data).item()
        return number
    if not isinstance(value, int | float):
        check_type(value, (Variable, int, float), name)
    return value
