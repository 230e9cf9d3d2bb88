"""Tensors made from nothing but a shape or a range."""

from collections.abc import Sequence
from typing import TypeAlias

from minispore import _dtype
from minispore._array import Array, current
from minispore._dtype import DType, DTypeLike
from minispore._functional.axes import as_shape
from minispore._functional.operands import Number
from minispore._functional.variable import Variable
from minispore.common.tensor import Tensor

Size: TypeAlias = int | Sequence[int]


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
    return _tensor(current().zeros(_size(size, "zeros"), _type(dtype, "zeros").numpy_dtype))


def ones(shape: Size, dtype: DTypeLike | None = None) -> Tensor:
    """Ones; float32 unless told otherwise.

    >>> from minispore import ops
    >>> ops.ones(2)
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  1.00000000e+00])

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    return _tensor(current().ones(_size(shape, "ones"), _type(dtype, "ones").numpy_dtype))


def full(size: Size, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value everywhere, of the value's type unless told otherwise.

    >>> from minispore import ops
    >>> ops.full(2, 7)
    Tensor(shape=[2], dtype=Int64, value= [7, 7])

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    chosen = _of_numbers(fill_value) if dtype is None else _dtype.as_dtype(dtype, "full")
    return _tensor(current().full(_size(size, "full"), fill_value, chosen.numpy_dtype))


def zeros_like(input: Variable, *, dtype: DTypeLike | None = None) -> Tensor:
    """Zeros of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.zeros_like(Tensor([1, 2]))
    Tensor(shape=[2], dtype=Int64, value= [0, 0])

    Raises:
        TypeError: `dtype` is no data type.
    """
    return zeros(input.shape, _like(input, dtype, "zeros_like"))


def ones_like(input: Variable, *, dtype: DTypeLike | None = None) -> Tensor:
    """Ones of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.ones_like(Tensor([1, 2]))
    Tensor(shape=[2], dtype=Int64, value= [1, 1])

    Raises:
        TypeError: `dtype` is no data type.
    """
    return ones(input.shape, _like(input, dtype, "ones_like"))


def full_like(input: Variable, fill_value: Number, *, dtype: DTypeLike | None = None) -> Tensor:
    """One value everywhere, of the shape and type of `input`.

    >>> from minispore import Tensor, ops
    >>> ops.full_like(Tensor([1, 2]), 7)
    Tensor(shape=[2], dtype=Int64, value= [7, 7])

    Raises:
        TypeError: `dtype` is no data type.
    """
    return full(input.shape, fill_value, dtype=_like(input, dtype, "full_like"))


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """Ones on the diagonal of `n` rows and `m` columns (as many as rows if None).

    >>> from minispore import ops
    >>> ops.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Raises:
        TypeError: A length is no int, or `dtype` no data type.
        ValueError: A length is negative.
    """
    rows, columns = _size((n, n if m is None else m), "eye")
    return _tensor(current().eye(rows, columns, dtype=_type(dtype, "eye").numpy_dtype))


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
        ValueError: `step` is 0.
    """
    first, last = (0, start) if end is None else (start, end)
    if step == 0:
        raise ValueError("For 'arange', the argument 'step' must not be 0.")
    chosen = _of_numbers(first, last, step) if dtype is None else _dtype.as_dtype(dtype, "arange")
    return _tensor(current().arange(first, last, step, chosen.numpy_dtype))


def _tensor(data: Array) -> Tensor:
    tensor = object.__new__(Tensor)
    tensor._data, tensor._node = data, None
    return tensor


def _type(dtype: DTypeLike | None, owner: str) -> DType:
    return _dtype.float32 if dtype is None else _dtype.as_dtype(dtype, owner)


def _like(x: Variable, dtype: DTypeLike | None, owner: str) -> DType:
    return _dtype.of(x._data.dtype) if dtype is None else _dtype.as_dtype(dtype, owner)


def _of_numbers(*numbers: Number) -> DType:
    if any(isinstance(x, float) for x in numbers):
        return _dtype.float32
    return _dtype.bool_ if all(isinstance(x, bool) for x in numbers) else _dtype.int64


def _size(size: Size, owner: str) -> tuple[int, ...]:
    lengths = as_shape(size, owner)
    if any(n < 0 for n in lengths):
        raise ValueError(f"For '{owner}', no length may be negative, but got {size!r}.")
    return lengths
