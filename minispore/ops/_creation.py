"""Tensors made from nothing but a shape or a range."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVarTuple

from minispore import _dtype
from minispore._array import Array, current, device_namespace
from minispore._checks import check_int, check_type
from minispore._dtype import DType, DTypeLike
from minispore._functional.axes import as_shape
from minispore._functional.operands import Number
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
    return _made("zeros", current().zeros, _size(size, "size", "zeros"), _type(dtype, "zeros"))


def ones(shape: Size, dtype: DTypeLike | None = None) -> Tensor:
    """Ones; float32 unless told otherwise.

    >>> from minispore import ops
    >>> ops.ones(2)
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  1.00000000e+00])

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    return _made("ones", current().ones, _size(shape, "shape", "ones"), _type(dtype, "ones"))


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
    lengths = _size(size, "size", "full")
    return _made("full", current().full, lengths, fill_value, chosen.numpy_dtype)


def zeros_like(input: Variable, *, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.zeros_like(Tensor([1, 2]))
    Tensor(shape=[2], dtype=Int64, value= [0, 0])

    Raises:
        TypeError: `input` is no tensor, or `dtype` no data type.
    """
    chosen = _like(input, dtype, "zeros_like")
    return _made("zeros_like", device_namespace(input._data).zeros, input.shape, chosen)


def ones_like(input: Variable, *, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.ones_like(Tensor([1, 2]))
    Tensor(shape=[2], dtype=Int64, value= [1, 1])

    Raises:
        TypeError: `input` is no tensor, or `dtype` no data type.
    """
    chosen = _like(input, dtype, "ones_like")
    return _made("ones_like", device_namespace(input._data).ones, input.shape, chosen)


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
    return _made("full_like", device_namespace(input._data).full, input.shape, fill_value, chosen)


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
    return _made("eye", make, rows, columns)


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
    chosen = _of_numbers(first, last, step) if dtype is None else _dtype.as_dtype(dtype, "arange")
    return _made("arange", current().arange, first, last, step, chosen.numpy_dtype)


def _made(owner: str, make: Callable[[*Ts], Array], *args: *Ts) -> Tensor:
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


def _size(size: Size, name: str, owner: str) -> tuple[int, ...]:
    lengths = as_shape(size, owner, name)
    if any(n < 0 for n in lengths):
        raise ValueError(f"For '{owner}', no length may be negative, but got {size!r}.")
    return lengths
