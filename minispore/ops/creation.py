"""Tensors created from a shape or a range."""

from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Final, TypeAlias, TypeVarTuple

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    DeviceNamespace,
    current_namespace,
    device_namespace,
    from_host,
    to_host,
)
from minispore.engine.dispatch import (
    Number,
    array_from_values,
    cast_exactly,
    check_fits,
    check_tensor,
    dtype_of,
)
from minispore.engine.dtypes import DType, DTypeLike
from minispore.ops._primitive import primitive
from minispore.ops.manipulation import as_shape
from minispore.ops.tensors import Tensor, tensor_of
from minispore.utils.checks import caller, check_int, check_type, type_error

__all__ = [
    "Fill", "Ones", "OnesLike", "Zeros", "ZerosLike", "arange", "eye", "fill", "full", "full_like",
    "linspace", "ones", "ones_like", "scalar_to_tensor", "tuple_to_array", "zeros", "zeros_like",
]  # fmt: skip

Size: TypeAlias = int | Sequence[int] | Tensor
Ts = TypeVarTuple("Ts")


def zeros(size: Size, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor of zeros.

    Args:
        size: The shape, an int or ints.
        dtype: The data type; None for float32.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import ops
        >>> ops.zeros((1, 2)).tolist()
        [[0.0, 0.0]]

    Source: MindSpore's `mindspore.ops.zeros`.
    """
    lengths = parse_shape(size, "size")
    return tensor_from_array(current_namespace().zeros, lengths, _type(dtype))


Zeros: Final = primitive("Zeros", zeros)


def ones(shape: Size, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor of ones.

    Args:
        shape: The shape, an int or ints.
        dtype: The data type; None for float32.

    Returns:
        A tensor of that shape and type.

    Examples:
        >>> from minispore import ops
        >>> ops.ones(2).tolist()
        [1.0, 1.0]

    Source: MindSpore's `mindspore.ops.ones`.
    """
    lengths = parse_shape(shape, "shape")
    return tensor_from_array(current_namespace().ones, lengths, _type(dtype))


Ones: Final = primitive("Ones", ones)


def full(size: Size, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """Return a tensor filled with a number.

    Args:
        size: The shape, an int or ints.
        fill_value: The number.
        dtype: The data type; None for int64, float32 or bool, whichever holds the number.

    Returns:
        A tensor of that shape and type.

    Raises:
        ValueError: The type cannot hold the number.

    Examples:
        >>> from minispore import ops
        >>> ops.full(2, 7).tolist()
        [7, 7]

    Source: MindSpore's `mindspore.ops.full`.
    """
    check_type(fill_value, (int, float, bool), "fill_value")
    chosen = _type(dtype, _default_dtype(fill_value))
    lengths = parse_shape(size, "size")
    return _filled(current_namespace(), lengths, fill_value, chosen)


def scalar_to_tensor(input_x: Number, dtype: DTypeLike = dtypes.float32) -> Tensor:
    """Return a number as a tensor without axes.

    Args:
        input_x: The number.
        dtype: The data type.

    Returns:
        A tensor.

    Raises:
        ValueError: The type cannot hold the number.

    Examples:
        >>> from minispore import ops
        >>> ops.scalar_to_tensor(3).item()
        3.0

    Source: MindSpore's `mindspore.ops.scalar_to_tensor`.
    """
    check_type(input_x, (int, float, bool), "input_x")
    return tensor_of(array_from_values(input_x, dtypes.as_dtype(dtype)))


def tuple_to_array(input_x: tuple[Number, ...]) -> Tensor:
    """Return a tuple of numbers as a tensor with one axis.

    Args:
        input_x: A tuple of ints or of floats.

    Returns:
        A tensor of int32 or float32.

    Raises:
        TypeError: `input_x` is not such a tuple.

    Examples:
        >>> from minispore import ops
        >>> ops.tuple_to_array((1, 2))
        Tensor(shape=[2], dtype=Int32, value= [1, 2])

    Source: MindSpore's `mindspore.ops.tuple_to_array`.
    """
    kinds: set[type] = {type(item) for item in input_x} if isinstance(input_x, tuple) else set()
    if kinds not in ({int}, {float}):
        raise type_error(input_x, "input_x", "be a tuple of ints or of floats")
    return Tensor(input_x, dtypes.int32 if kinds == {int} else dtypes.float32)


def zeros_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Return zeros in the shape of a tensor.

    Args:
        input: A tensor of any shape.
        dtype: The data type; None for that of `input`.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.zeros_like(Tensor([1, 2])).tolist()
        [0, 0]

    Source: MindSpore's `mindspore.ops.zeros_like`.
    """
    chosen = _like(input, dtype)
    return tensor_from_array(device_namespace(input._data).zeros, input.shape, chosen)


ZerosLike: Final = primitive("ZerosLike", zeros_like)


def ones_like(input: Tensor, *, dtype: DTypeLike | None = None) -> Tensor:
    """Return ones in the shape of a tensor.

    Args:
        input: A tensor of any shape.
        dtype: The data type; None for that of `input`.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ones_like(Tensor([1, 2])).tolist()
        [1, 1]

    Source: MindSpore's `mindspore.ops.ones_like`.
    """
    chosen = _like(input, dtype)
    return tensor_from_array(device_namespace(input._data).ones, input.shape, chosen)


OnesLike: Final = primitive("OnesLike", ones_like)


def full_like(input: Tensor, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """Return a number in the shape of a tensor.

    Args:
        input: A tensor of any shape.
        fill_value: The number.
        dtype: The data type; None for that of `input`.

    Returns:
        A tensor of the same shape and type.

    Raises:
        ValueError: The type cannot hold the number.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.full_like(Tensor([1, 2]), 7).tolist()
        [7, 7]

    Source: MindSpore's `mindspore.ops.full_like`.
    """
    chosen = _like(input, dtype)
    check_type(fill_value, (int, float, bool), "fill_value")
    return _filled(device_namespace(input._data), input.shape, fill_value, chosen)


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Return a matrix with ones on its diagonal and zeros elsewhere.

    Args:
        n: The number of rows.
        m: The number of columns; None for `n`.
        dtype: The data type; None for float32.

    Returns:
        A tensor of shape (n, m).

    Examples:
        >>> from minispore import ops
        >>> ops.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]

    Source: MindSpore's `mindspore.ops.eye`.
    """
    rows = check_int(n, "n", low=0)
    columns = rows if m is None else check_int(m, "m", low=0)
    make = partial(current_namespace().eye, dtype=_type(dtype))
    return tensor_from_array(make, rows, columns)


def arange(
    start: Number = 0,
    end: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """Return the numbers from `start` up to, but not including, `end`.

    Args:
        start: The first number; with one argument, the end of a range that starts at 0.
        end: The end of the range.
        step: The distance between numbers.
        dtype: The data type; None for int64 or, if a number is a float, float32.

    Returns:
        A tensor with one axis.

    Raises:
        ValueError: `step` is 0, the range is infinite, or the type cannot hold its numbers.

    Examples:
        >>> from minispore import ops
        >>> ops.arange(3).tolist()
        [0, 1, 2]

    Source: MindSpore's `mindspore.ops.arange`.
    """
    check_type(start, (int, float, bool), "start")
    check_type(end, (int, float, bool, NoneType), "end")
    check_type(step, (int, float, bool), "step")
    first, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise ValueError("For 'arange', the argument 'step' must not be 0.")
    if (last - first if step > 0 else first - last) >= 2**62 * abs(step):
        # From 2**63 on, numpy would return an empty array.
        raise ValueError(
            f"For 'arange', there are too many numbers from {first} to {last} with step {step}."
        )
    natural = _default_dtype(first, last, step)
    chosen = natural if dtype is None else dtypes.as_dtype(dtype)
    # Made in a type that holds the numbers, of which those of integers are cut.
    made = natural if natural is dtypes.int64 else chosen
    made = made if made.category != dtypes.INTEGER or made is natural else dtypes.float64
    make = current_namespace().arange
    return cast_exactly(tensor_from_array(make, first, last, step, made.numpy_dtype), chosen)


def linspace(start: Number | Tensor, end: Number | Tensor, steps: int) -> Tensor:
    """Return equally spaced numbers from `start` to `end`, both included.

    Args:
        start: A number, or a tensor without axes.
        end: A number, or a tensor without axes.
        steps: How many numbers.

    Returns:
        A float32 tensor of shape (steps,).

    Raises:
        ValueError: `steps` is not positive.

    Examples:
        >>> from minispore import ops
        >>> ops.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]

    Source: MindSpore's `mindspore.ops.linspace`.
    """
    first, last = _end(start, "start"), _end(end, "end")
    check_int(steps, "steps", low=1)
    return tensor_from_array(
        lambda: from_host(np.linspace(float(first), float(last), steps, dtype=np.float32)),
    )


def tensor_from_array(make: Callable[[*Ts], Array], *args: *Ts) -> Tensor:
    """Return a tensor of the array that the array library makes.

    Raises:
        ValueError: There are too many elements, or the type cannot hold a value.
    """
    try:
        return tensor_of(make(*args))
    except (ValueError, OverflowError) as error:
        raise ValueError(f"For '{caller()}', no such tensor can be made: {error}.") from None


def _filled(
    xp: DeviceNamespace[Array], shape: tuple[int, ...], number: Number, dtype: object
) -> Tensor:
    check_fits(number, dtypes.from_array_dtype(dtype))
    return tensor_from_array(xp.full, shape, number, dtype)


def _type(dtype: DTypeLike | None, default: DType = dtypes.float32) -> object:
    """Return the array library's type for a user's, or for the default if that is None."""
    return (default if dtype is None else dtypes.as_dtype(dtype)).numpy_dtype


def _like(x: Tensor, dtype: DTypeLike | None) -> object:
    """Return the array library's type for a user's, or that of `x` if that is None."""
    check_tensor(x)
    return _type(dtype, dtype_of(x))


def _default_dtype(*numbers: Number) -> DType:
    """Return the data type of a tensor of these numbers."""
    if any(isinstance(x, float) for x in numbers):
        return dtypes.float32
    return dtypes.bool_ if all(isinstance(x, bool) for x in numbers) else dtypes.int64


def _end(value: Number | Tensor, name: str) -> float:
    """Return an end of a range, a number or a tensor without axes, as a number."""
    if not isinstance(value, Tensor):
        check_type(value, (int, float, bool, Tensor), name)
        return value
    if dtype_of(value).category != dtypes.FLOAT:
        raise TypeError(
            f"For 'linspace', a Tensor '{name}' must be of floats, but got {dtype_of(value)!r}."
        )
    if value.ndim:
        raise ValueError(
            f"For 'linspace', a Tensor '{name}' must have no axes, but its shape is {value.shape}."
        )
    return float(to_host(value._data).item())


def parse_shape(size: object, name: str) -> tuple[int, ...]:
    """Return a user's shape as a tuple of lengths.

    Raises:
        TypeError: A length is not an int.
        ValueError: A length is negative.
    """
    lengths = as_shape(size.tolist() if isinstance(size, Tensor) else size, name)
    if any(n < 0 for n in lengths):
        raise ValueError(f"For '{caller()}', no length may be negative, but got {size!r}.")
    return lengths


def fill(type: DTypeLike, shape: Size, value: Number | Tensor) -> Tensor:
    """Return a tensor filled with a number.

    Args:
        type: The data type.
        shape: The shape, an int or ints.
        value: The number, or a tensor of one element; it is converted to the type.

    Returns:
        A tensor of that shape and type.

    Raises:
        ValueError: The type cannot hold the number, or `value` has several elements.

    Examples:
        >>> import minispore as ms
        >>> from minispore import ops
        >>> ops.fill(ms.float32, (2,), 7).tolist()
        [7.0, 7.0]

    Source: MindSpore's `mindspore.ops.fill`.
    """
    check_type(value, (int, float, bool, Tensor), "value")
    if isinstance(value, Tensor) and value.size != 1:
        raise type_error(value, "value", "have one element", ValueError)
    number = value.item() if isinstance(value, Tensor) else value
    lengths = parse_shape(shape, "shape")
    chosen = dtypes.as_dtype(type, "type").numpy_dtype
    return _filled(current_namespace(), lengths, number, chosen)


Fill: Final = primitive("Fill", fill)
