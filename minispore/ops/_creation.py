"""Tensors made from nothing but a shape or a range."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVarTuple, cast

import numpy as np

from minispore import _dtype
from minispore._array import Array, current, device_namespace, from_host, to_host
from minispore._checks import check_int, check_type
from minispore._dtype import DType, DTypeLike
from minispore._functional.axes import as_shape
from minispore._functional.operands import Number, dtype_of
from minispore._functional.variable import Variable, check_tensor
from minispore.common.tensor import Tensor

Size: TypeAlias = int | Sequence[int]
Ts = TypeVarTuple("Ts")


def zeros(size: Size, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros; float32 unless told otherwise.

    >>> from minispore import ops
    >>> ops.zeros((1, 2))
    Tensor(shape=[1, 2], dtype=Float32, value=
    [[ 0.00000000e+00,  0.00000000e+00]])

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    return made("zeros", current().zeros, lengths_of(size, "size", "zeros"), _type(dtype, "zeros"))


def ones(shape: Size, dtype: DTypeLike | None = None) -> Tensor:
    """Ones; float32 unless told otherwise.

    >>> from minispore import ops
    >>> ops.ones(2)
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  1.00000000e+00])

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    return made("ones", current().ones, lengths_of(shape, "shape", "ones"), _type(dtype, "ones"))


def full(size: Size, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value everywhere, of the value's type unless told otherwise.

    >>> from minispore import ops
    >>> ops.full(2, 7)
    Tensor(shape=[2], dtype=Int64, value= [7, 7])

    Raises:
        TypeError: A length is no int, `fill_value` no number, or `dtype` no data type.
        ValueError: A length is negative, or the type cannot hold the value.
    """
    check_type(fill_value, (int, float, bool), "fill_value", "full")
    chosen = _of_numbers(fill_value) if dtype is None else _dtype.as_dtype(dtype, "full")
    lengths = lengths_of(size, "size", "full")
    return made("full", current().full, lengths, fill_value, chosen.numpy_dtype)


def zeros_like(input: Variable, *, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.zeros_like(Tensor([1, 2]))
    Tensor(shape=[2], dtype=Int64, value= [0, 0])

    Raises:
        TypeError: `input` is no tensor, or `dtype` no data type.
    """
    chosen = _like(input, dtype, "zeros_like")
    return made("zeros_like", device_namespace(input._data).zeros, input.shape, chosen)


def ones_like(input: Variable, *, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.ones_like(Tensor([1, 2]))
    Tensor(shape=[2], dtype=Int64, value= [1, 1])

    Raises:
        TypeError: `input` is no tensor, or `dtype` no data type.
    """
    chosen = _like(input, dtype, "ones_like")
    return made("ones_like", device_namespace(input._data).ones, input.shape, chosen)


def full_like(input: Variable, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value everywhere, of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.full_like(Tensor([1, 2]), 7)
    Tensor(shape=[2], dtype=Int64, value= [7, 7])

    Raises:
        TypeError: `input` is no tensor, `fill_value` no number, or `dtype` no data type.
        ValueError: The type cannot hold the value.
    """
    chosen = _like(input, dtype, "full_like")
    check_type(fill_value, (int, float, bool), "fill_value", "full_like")
    return made("full_like", device_namespace(input._data).full, input.shape, fill_value, chosen)


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Ones on the diagonal of `n` rows and `m` columns (as many as rows if None).

    >>> from minispore import ops
    >>> ops.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    rows = check_int(n, "n", "eye", low=0)
    columns = rows if m is None else check_int(m, "m", "eye", low=0)
    make = partial(current().eye, dtype=_type(dtype, "eye"))
    return made("eye", make, rows, columns)


def arange(
    start: Number = 0,
    end: Number | None = None,
    step: Number = 1,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The numbers from `start` (0 if only one is given) up to but not including `end`.

    >>> from minispore import ops
    >>> ops.arange(3)
    Tensor(shape=[3], dtype=Int64, value= [0, 1, 2])

    Raises:
        TypeError: An argument is no number, or `dtype` no data type.
        ValueError: `step` is 0, or the range endless.
    """
    for name, value in (("start", start), ("end", end), ("step", step)):
        check_type(value, (int, float, bool), name, "arange", none=name == "end")
    first, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise ValueError("For 'arange', the argument 'step' must not be 0.")
    if (last - first if step > 0 else first - last) >= 2**62 * abs(step):
        # From 2**63 on, numpy would return an empty array.
        raise ValueError(
            f"For 'arange', there are too many numbers from {first} to {last} with step {step}."
        )
    chosen = _of_numbers(first, last, step) if dtype is None else _dtype.as_dtype(dtype, "arange")
    return made("arange", current().arange, first, last, step, chosen.numpy_dtype)


def linspace(start: Number | Tensor, end: Number | Tensor, steps: int) -> Tensor:
    """`steps` numbers (float32) at equal distances, the first `start` and the last `end`.

    >>> from minispore import ops
    >>> ops.linspace(0, 1, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]

    Source: MindSpore's `mindspore.ops.linspace`.

    Raises:
        TypeError: `start` or `end` is neither a number nor a tensor of floats, or `steps` no int.
        ValueError: `steps` is not positive, or a tensor has axes.
    """
    first, last = _end(start, "start"), _end(end, "end")
    check_int(steps, "steps", "linspace", low=1)
    return made(
        "linspace",
        lambda: from_host(np.linspace(float(first), float(last), steps, dtype=np.float32)),
    )


def made(owner: str, make: Callable[[*Ts], Array], *args: *Ts) -> Tensor:
    """A tensor of what the array library makes.

    Raises:
        ValueError: It cannot: there are too many elements, or the type cannot hold a value.
    """
    tensor = object.__new__(Tensor)
    try:
        tensor._data, tensor._node = make(*args), None
    except (ValueError, OverflowError) as error:
        raise ValueError(f"For '{owner}', no such tensor can be made: {error}.") from None
    return tensor


def _type(dtype: DTypeLike | None, owner: str) -> object:
    """The array library's type for a user's, float32 for None."""
    return (_dtype.float32 if dtype is None else _dtype.as_dtype(dtype, owner)).numpy_dtype


def _like(x: Variable, dtype: DTypeLike | None, owner: str) -> object:
    """The array library's type for a user's, that of `x` for None."""
    check_tensor(x, owner)
    return x._data.dtype if dtype is None else _dtype.as_dtype(dtype, owner).numpy_dtype


def _of_numbers(*numbers: Number) -> DType:
    if any(isinstance(x, float) for x in numbers):
        return _dtype.float32
    return _dtype.bool_ if all(isinstance(x, bool) for x in numbers) else _dtype.int64


def _end(value: object, name: str) -> float:
    """Where a range begins or ends, also out of a tensor."""
    if not isinstance(value, Variable):
        check_type(value, (int, float, bool, Tensor), name, "linspace")
        return cast("float", value)
    if dtype_of(value).category != _dtype.FLOAT:
        raise TypeError(
            f"For 'linspace', a Tensor '{name}' must be of floats, but got {dtype_of(value)!r}."
        )
    if value.ndim:
        raise ValueError(
            f"For 'linspace', a Tensor '{name}' must have no axes, but its shape is {value.shape}."
        )
    return cast("float", to_host(value._data).item())


def lengths_of(size: Size, name: str, owner: str) -> tuple[int, ...]:
    """A user's shape as a tuple of lengths.

    Raises:
        TypeError: A length is no int.
        ValueError: A length is negative.
    """
    lengths = as_shape(size, owner, name)
    if any(n < 0 for n in lengths):
        raise ValueError(f"For '{owner}', no length may be negative, but got {size!r}.")
    return lengths
