"""Comparison and logic: results of type bool, through which no gradient flows."""

from minispore import _dtype
from minispore._array import Axis, device_namespace
from minispore._functional.operands import Values, pair
from minispore._functional.variable import T, wrap


def equal(input: T | Values, other: T | Values) -> T:
    """Where both are equal."""
    x, y = pair(input, other, "equal")
    return wrap(device_namespace(x._data).equal(x._data, y._data), x)


def not_equal(input: T | Values, other: T | Values) -> T:
    """Where both differ."""
    x, y = pair(input, other, "not_equal")
    return wrap(device_namespace(x._data).not_equal(x._data, y._data), x)


def less(input: T | Values, other: T | Values) -> T:
    """Where `input` is smaller than `other`."""
    x, y = pair(input, other, "less")
    return wrap(x._data < y._data, x)


def less_equal(input: T | Values, other: T | Values) -> T:
    """Where `input` is at most `other`."""
    x, y = pair(input, other, "less_equal")
    return wrap(x._data <= y._data, x)


def greater(input: T | Values, other: T | Values) -> T:
    """Where `input` is larger than `other`."""
    x, y = pair(input, other, "greater")
    return wrap(x._data > y._data, x)


def greater_equal(input: T | Values, other: T | Values) -> T:
    """Where `input` is at least `other`."""
    x, y = pair(input, other, "greater_equal")
    return wrap(x._data >= y._data, x)


def logical_and(input: T, other: T | bool) -> T:
    """Where both hold; a number holds unless it is 0."""
    x, y = pair(input, other, "logical_and")
    return wrap(device_namespace(x._data).logical_and(x._data, y._data), x)


def logical_or(input: T, other: T | bool) -> T:
    """Where either holds."""
    x, y = pair(input, other, "logical_or")
    return wrap(device_namespace(x._data).logical_or(x._data, y._data), x)


def logical_xor(input: T, other: T | bool) -> T:
    """Where one of both holds, but not the other."""
    x, y = pair(input, other, "logical_xor")
    return wrap(device_namespace(x._data).logical_xor(x._data, y._data), x)


def logical_not(input: T) -> T:
    """Where `input` does not hold."""
    return wrap(device_namespace(input._data).logical_not(input._data), input)


def bitwise_and(input: T | Values, other: T | Values) -> T:
    """The bits set in both; for bools, logical and."""
    x, y = _bits(input, other, "bitwise_and")
    return wrap(device_namespace(x._data).bitwise_and(x._data, y._data), x)


def bitwise_or(input: T | Values, other: T | Values) -> T:
    """The bits set in either; for bools, logical or."""
    x, y = _bits(input, other, "bitwise_or")
    return wrap(device_namespace(x._data).bitwise_or(x._data, y._data), x)


def bitwise_xor(input: T | Values, other: T | Values) -> T:
    """The bits set in one but not in the other; for bools, exclusive or."""
    x, y = _bits(input, other, "bitwise_xor")
    return wrap(device_namespace(x._data).bitwise_xor(x._data, y._data), x)


def bitwise_not(input: T) -> T:
    """The other bits; for bools, logical not."""
    x, _ = _bits(input, False, "bitwise_not")
    return wrap(device_namespace(x._data).bitwise_invert(x._data), x)


def all(input: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """Whether all elements hold, over `axis`."""
    xp = device_namespace(input._data)
    return wrap(xp.all(input._data, axis=axis, keepdims=keep_dims), input)


def any(input: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """Whether any element holds, over `axis`."""
    xp = device_namespace(input._data)
    return wrap(xp.any(input._data, axis=axis, keepdims=keep_dims), input)


def _bits(x: T | Values, y: T | Values, owner: str) -> tuple[T, T]:
    left, right = pair(x, y, owner)
    if _dtype.of(left._data.dtype).category == _dtype.FLOAT:
        raise TypeError(f"For '{owner}', the operands must be integers or bools, but got floats.")
    return left, right
