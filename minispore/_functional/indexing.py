"""Indexing: any part of a tensor, and a tensor with any part replaced."""

from math import prod
from types import EllipsisType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype
from minispore._array import Array, beside, device_namespace, place, target_of, to_host
from minispore._checks import as_items, check_int, check_type, described
from minispore._functional.apply import apply1, apply3
from minispore._functional.axes import check_axis
from minispore._functional.operands import Number, Values, cast_to, dtype_of, pair
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules import indexing as rules
from minispore._rules.arithmetic import where
from minispore._rules.shape import reshape

_PLAIN = (int, slice, EllipsisType, np.integer)


def getitem(input: T, index: object) -> T:
    """`input[index]`: integers, slices, None, `...`, bools, and lists or tensors of indices."""
    key = as_index(index, input._data)
    try:
        return apply1(rules.getitem, input, key)
    except IndexError as error:
        raise IndexError(f"A tensor of shape {input.shape} has no [{index!r}]: {error}.") from None


def setitem(input: T, index: object, value: T | Values) -> T:
    """`input` with `value` at `index`, as a new tensor; differentiable by both."""
    values = _like(input, value)
    xp = device_namespace(input._data)
    # For each element of the result its place among the values, or -1 where it stays what it was.
    # The places are put there by the array library's own assignment, so whatever that takes for an
    # index is right here too, also one that names an element twice.
    count = prod(values.shape)
    places = xp.reshape(xp.arange(0, count, 1, _dtype.int64.numpy_dtype), values.shape)
    source = wrap(xp.full(input.shape, -1, _dtype.int64.numpy_dtype), input)
    assign_at(source, index, wrap(places, input))
    if values.ndim:
        flat = apply1(reshape, values, (count,))
        values = getitem(flat, source) if count else input
    return apply3(where, wrap(source._data < 0, input), input, values)


def assign_at(input: Variable, index: object, value: Variable | Values) -> None:
    """Write `value` at `index` into the memory of `input`; nothing is recorded."""
    key = as_index(index, input._data)
    values = _like(input, value)
    try:
        # A copy is what is asked for, from wherever the values are.
        data = place(values._data, target_of(input._data), "setitem")
        device_namespace(input._data).assign(input._data, key, data)
    except (IndexError, ValueError) as error:
        raise type(error)(f"For item assignment at [{index!r}]: {error}.") from None


def gather(input_params: T, input_indices: Variable, axis: int, batch_dims: int = 0) -> T:
    """The parts of `input_params` along `axis` that `input_indices` names, in its shape.

    >>> from minispore import Tensor, ops
    >>> ops.gather(Tensor([[1, 2], [3, 4]]), Tensor([1, 1]), 0).tolist()
    [[3, 4], [3, 4]]

    Raises:
        TypeError: An argument is no tensor, or the indices are no integers.
        ValueError: `batch_dims` is not 0, or `axis` is out of range.
        IndexError: An index is out of range.
    """
    check_tensor(input_params, "gather", "input_params")
    check_int(batch_dims, "batch_dims", "gather", low=0, high=0)
    place = check_axis(axis, input_params.ndim, "axis", "gather")
    _check_integers(input_indices, "input_indices", "gather")
    return _taken(input_params, (slice(None),) * place + (input_indices._data,), "gather")


def gather_elements(input: T, dim: int, index: Variable) -> T:
    """For each place of `index` the element of `input` at that place, but at `index` in `dim`.

    >>> from minispore import Tensor, ops
    >>> ops.gather_elements(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0], [1]])).tolist()
    [[1], [4]]

    Raises:
        TypeError: An argument is no tensor, or the indices are no integers.
        ValueError: `index` has another number of axes than `input`, or `dim` is out of range.
        IndexError: An index is out of range, or `index` is longer than `input` along another axis.
    """
    check_tensor(input, "gather_elements")
    _check_integers(index, "index", "gather_elements")
    if index.ndim != input.ndim:
        raise ValueError(
            f"For 'gather_elements', 'index' must have {input.ndim} axes like 'input', "
            f"but its shape is {index.shape}."
        )
    place = check_axis(dim, input.ndim, "dim", "gather_elements")
    places: list[object] = [
        index._data if axis == place else _along(axis, index) for axis in range(index.ndim)
    ]
    return _taken(input, tuple(places), "gather_elements")


def one_hot(
    indices: T,
    depth: int,
    on_value: Variable | Number = 1,
    off_value: Variable | Number = 0,
    axis: int = -1,
) -> T:
    """A new axis of length `depth` that is `on_value` at the index and `off_value` elsewhere.

    Out-of-range indices have no `on_value`.

    >>> from minispore import Tensor, ops
    >>> ops.one_hot(Tensor([0, 2]), 3).tolist()
    [[1, 0, 0], [0, 0, 1]]

    Raises:
        TypeError: The indices are no tensor of integers, `depth` or `axis` is no int, or a value
            neither a tensor nor a number.
        ValueError: `depth` is negative, `axis` out of range, or a value of more than one element.
    """
    _check_integers(indices, "indices", "one_hot")
    check_int(depth, "depth", "one_hot", low=0, high=(1 << 31) - 1)
    check_int(axis, "axis", "one_hot", low=-1, high=indices.ndim)
    place = indices.ndim if axis == -1 else axis
    xp = device_namespace(indices._data)
    if isinstance(on_value, Variable):
        dtype = dtype_of(on_value)
    else:
        dtype = _dtype.int64 if isinstance(on_value, int) else _dtype.float32
    # Few enough classes are counted in the type of the indices, whatever it is.
    counted = indices._data.dtype if depth <= 1 << 7 else _dtype.int64.numpy_dtype
    classes = xp.arange(0, depth, 1, counted)
    column = xp.reshape(classes, (depth,) + (1,) * (indices.ndim - place))
    hit = xp.equal(xp.expand_dims(indices._data, axis=place), column)
    on, off = _number(on_value, "on_value"), _number(off_value, "off_value")
    if on == 1 and off == 0:
        return wrap(xp.astype(hit, dtype.numpy_dtype), indices)
    try:
        either = [xp.asarray(value, dtype.numpy_dtype) for value in (on, off)]
    except (OverflowError, ValueError):
        raise ValueError(
            f"For 'one_hot', 'on_value' and 'off_value' must fit into {dtype!r}, "
            f"but got {on} and {off}."
        ) from None
    return wrap(xp.where(hit, *either), indices)


def as_index(index: object, array: Array) -> tuple[object, ...]:
    """A user's index as a tuple of what `array` understands.

    Raises:
        IndexError: Something in it cannot index.
    """
    items = cast("tuple[object, ...]", index) if isinstance(index, tuple) else (index,)
    return tuple(_as_item(item, array) for item in items)


def _as_item(item: object, array: Array) -> object:
    if item is None or isinstance(item, _PLAIN):
        return cast("object", item)
    if isinstance(item, Variable):
        if dtype_of(item).category == _dtype.FLOAT:
            raise IndexError("A tensor that indexes must hold integers or bools, not floats.")
        return item._data
    places = _on_host(item)
    if places is not None and places.dtype.kind in "biu":
        return beside(places, array)
    if places is None and hasattr(item, "dtype") and hasattr(item, "__getitem__"):
        # Arrays of a library that a rule was written in.
        return item
    raise IndexError(
        "A tensor is indexed by integers, slices, `...`, None, bools, and lists or tensors of "
        f"integers or bools, but got {described(item)}."
    )


def _on_host(item: object) -> NDArray[np.generic] | None:
    items = as_items(item)
    if items is not None:
        try:
            return np.array(items, None if items else np.int64)
        except ValueError:  # lists of several lengths
            return None
    return cast("NDArray[np.generic]", item) if isinstance(item, np.ndarray) else None


def _along(axis: int, x: Variable) -> Array:
    """The indices of `x` along an axis, in a shape that broadcasts with it."""
    xp = device_namespace(x._data)
    indices = xp.arange(0, x.shape[axis], 1, _dtype.int64.numpy_dtype)
    return xp.reshape(indices, (-1, *(1,) * (x.ndim - axis - 1)))


def _like(input: T, value: T | Values) -> T:
    """`value` as a variable of the type of `input`."""
    values = value if isinstance(value, Variable) else pair(input, value, "setitem")[1]
    if values.ndim and prod(values.shape) == 1:
        # One element fits everywhere, even where there are no axes.
        values = apply1(reshape, values, ())
    return cast_to(values, dtype_of(input))


def _taken(x: T, index: tuple[object, ...], owner: str) -> T:
    try:
        return apply1(rules.getitem, x, index)
    except IndexError as error:
        raise IndexError(f"For '{owner}', {error}.") from None


def _number(value: object, name: str) -> float:
    """A number, also out of a tensor of one element."""
    if isinstance(value, Variable):
        if prod(value.shape) != 1:
            raise ValueError(
                f"For 'one_hot', the argument '{name}' must have one element, but it is of shape "
                f"{value.shape}."
            )
        value = cast("object", to_host(value._data).item())
    if not isinstance(value, int | float):
        check_type(value, (Variable, int, float), name, "one_hot")
    return cast("float", value)


def _check_integers(x: Variable, name: str, owner: str) -> None:
    check_tensor(x, owner, name)
    if dtype_of(x).category != _dtype.INTEGER:
        raise TypeError(
            f"For '{owner}', the argument '{name}' must be a Tensor of integers, "
            f"but got {dtype_of(x)!r}."
        )
