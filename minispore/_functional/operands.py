"""From what a user writes beside a tensor to two operands of one type."""

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minispore import _dtype
from minispore._array import beside, device_namespace, namespace
from minispore._checks import as_items, described
from minispore._dtype import DType
from minispore._functional.apply import apply1
from minispore._functional.values import on_host
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules import elementwise as rules

Number: TypeAlias = int | float | bool
# What may stand beside a tensor.
Values: TypeAlias = Number | Sequence[Number] | np.generic | NDArray[np.generic]

# The type that numbers bring with them, by category.
_OF_NUMBERS = (_dtype.bool_, _dtype.int64, _dtype.float32)
_HALF = _dtype.float16.numpy_dtype


def dtype_of(x: Variable) -> DType:
    """The data type of a variable's elements."""
    return _dtype.of(x._data.dtype)


def cast_to(x: T, dtype: DType) -> T:
    """`x` in another type; differentiable between float types, a constant otherwise."""
    own = x._data.dtype
    if own == dtype.numpy_dtype:
        return x
    if dtype.category == _dtype.FLOAT == _dtype.of(own).category:
        return apply1(rules.cast, x, dtype.numpy_dtype)
    return wrap(namespace(x._data).astype(x._data, dtype.numpy_dtype), x)


def widen(x: T) -> T:
    """Return `x` in float32 if it is float16, in which sums and squares overflow; else itself."""
    return cast_to(x, _dtype.float32) if x._data.dtype == _HALF else x


def as_float(x: T, owner: str, name: str = "input") -> T:
    """`x`, the argument `name` of the function `owner`, if it is of a float type; else in float32.

    Raises:
        TypeError: It is no variable.
    """
    if not isinstance(x, Variable):
        check_tensor(x, owner, name)
    return x if _dtype.of(x._data.dtype).category == _dtype.FLOAT else cast_to(x, _dtype.float32)


def check_numbers(x: Variable, owner: str) -> None:
    """Raise TypeError if the elements are bools."""
    if x._data.dtype == np.bool_:
        raise TypeError(f"For '{owner}', the operands must be numbers, but got bools.")


def pair(x: T | Values, y: T | Values, owner: str) -> tuple[T, T]:
    """Both operands as variables of their common type.

    A number, or a list of numbers, takes the tensor's type, unless that cannot hold its kind: a
    float beside integers makes float32, an integer beside bools int64. A numpy array counts as a
    tensor of its type.

    Raises:
        TypeError: Neither is a tensor, or one is neither a tensor nor a number.
    """
    if isinstance(x, Variable):
        if isinstance(y, Variable):
            m, n = x._data.dtype, y._data.dtype
            # The same object almost always, which is seen faster.
            if m is n or m == n:
                return x, y
            common = _dtype.promote(dtype_of(x), dtype_of(y), owner)
            return cast_to(x, common), cast_to(y, common)
        return _beside(x, y, owner)
    if isinstance(y, Variable):
        right, left = _beside(y, x, owner)
        return left, right
    raise TypeError(
        f"For '{owner}', at least one operand must be a Tensor, "
        f"but got {described(x)} and {described(y)}."
    )


def _beside(x: T, other: object, owner: str) -> tuple[T, T]:
    if isinstance(other, np.ndarray):
        array = on_host(cast("object", other), owner)
        _dtype.of(array.dtype, owner)
        return pair(x, wrap(beside(array, x._data), x), owner)
    value, category = _numbers(other, owner)
    own = dtype_of(x)
    common = own if own.category >= category else _OF_NUMBERS[category]
    left = cast_to(x, common)
    try:
        right = device_namespace(left._data).asarray(value, common.numpy_dtype)
    except OverflowError:
        raise ValueError(
            f"For '{owner}', the number {other} does not fit the tensor's type {common!r}."
        ) from None
    return left, wrap(right, x)


def _numbers(other: object, owner: str) -> tuple[Number | NDArray[np.generic], int]:
    """A number, or a list of numbers as an array, and its category."""
    if isinstance(other, float):
        return other, _dtype.FLOAT
    if isinstance(other, bool):
        return other, _dtype.BOOL
    if isinstance(other, int):
        return other, _dtype.INTEGER
    if isinstance(other, np.generic):
        return _numbers(cast("object", other.item()), owner)
    if as_items(other) is not None:
        array = on_host(other, owner)
        return array, _dtype.of(array.dtype).category
    raise TypeError(
        f"For '{owner}', an operand beside a Tensor must be a Tensor or a number, "
        f"but got {described(other)}."
    )
