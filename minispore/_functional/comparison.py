"""Comparison and logic: results of type bool, through which no gradient flows."""

import operator

from minispore import _dtype
from minispore._array import Axis, device_namespace
from minispore._checks import check_bool
from minispore._functional.apply import constant
from minispore._functional.axes import as_axes
from minispore._functional.operands import Values, pair
from minispore._functional.variable import T, check_tensor, wrap


def equal(input: T | Values, other: T | Values) -> T:
    """Where both are equal.

    >>> from minispore import Tensor, ops
    >>> ops.equal(Tensor([1, 2]), 2)
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "equal")
    return constant(device_namespace(x._data).equal, x, y, "equal")


def not_equal(input: T | Values, other: T | Values) -> T:
    """Where both differ.

    >>> from minispore import Tensor, ops
    >>> ops.not_equal(Tensor([1, 2]), 2)
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "not_equal")
    return constant(device_namespace(x._data).not_equal, x, y, "not_equal")


def less(input: T | Values, other: T | Values) -> T:
    """Where `input` is smaller than `other`.

    >>> from minispore import Tensor, ops
    >>> ops.less(Tensor([1, 2]), 2)
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "less")
    return constant(operator.lt, x, y, "less")


def less_equal(input: T | Values, other: T | Values) -> T:
    """Where `input` is at most `other`.

    >>> from minispore import Tensor, ops
    >>> ops.less_equal(Tensor([1, 2]), 1)
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "less_equal")
    return constant(operator.le, x, y, "less_equal")


def greater(input: T | Values, other: T | Values) -> T:
    """Where `input` is larger than `other`.

    >>> from minispore import Tensor, ops
    >>> ops.greater(Tensor([1, 2]), 1)
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "greater")
    return constant(operator.gt, x, y, "greater")


def greater_equal(input: T | Values, other: T | Values) -> T:
    """Where `input` is at least `other`.

    >>> from minispore import Tensor, ops
    >>> ops.greater_equal(Tensor([1, 2]), 2)
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "greater_equal")
    return constant(operator.ge, x, y, "greater_equal")


def logical_and(input: T | bool, other: T | bool) -> T:
    """Where both hold; a number holds unless it is 0.

    >>> from minispore import Tensor, ops
    >>> ops.logical_and(Tensor([True, False]), Tensor([True, True]))
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "logical_and")
    return constant(device_namespace(x._data).logical_and, x, y, "logical_and")


def logical_or(input: T | bool, other: T | bool) -> T:
    """Where either holds.

    >>> from minispore import Tensor, ops
    >>> ops.logical_or(Tensor([True, False]), Tensor([True, True]))
    Tensor(shape=[2], dtype=Bool, value= [ True,  True])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "logical_or")
    return constant(device_namespace(x._data).logical_or, x, y, "logical_or")


def logical_xor(input: T | bool, other: T | bool) -> T:
    """Where one of both holds, but not the other.

    >>> from minispore import Tensor, ops
    >>> ops.logical_xor(Tensor([True, False]), Tensor([True, True]))
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "logical_xor")
    return constant(device_namespace(x._data).logical_xor, x, y, "logical_xor")


def logical_not(input: T) -> T:
    """Where `input` does not hold.

    >>> from minispore import Tensor, ops
    >>> ops.logical_not(Tensor([True, False]))
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: `input` is no tensor.
    """
    check_tensor(input, "logical_not")
    return wrap(device_namespace(input._data).logical_not(input._data), input)


def bitwise_and(input: T | Values, other: T | Values) -> T:
    """The bits set in both; for bools, logical and.

    >>> from minispore import Tensor, ops
    >>> ops.bitwise_and(Tensor([6, 7]), 3)
    Tensor(shape=[2], dtype=Int64, value= [2, 3])

    Raises:
        TypeError: An operand holds floats.
    """
    x, y = _bits(input, other, "bitwise_and")
    return constant(device_namespace(x._data).bitwise_and, x, y, "bitwise_and")


def bitwise_or(input: T | Values, other: T | Values) -> T:
    """The bits set in either; for bools, logical or.

    >>> from minispore import Tensor, ops
    >>> ops.bitwise_or(Tensor([6, 4]), 3)
    Tensor(shape=[2], dtype=Int64, value= [7, 7])

    Raises:
        TypeError: An operand holds floats.
    """
    x, y = _bits(input, other, "bitwise_or")
    return constant(device_namespace(x._data).bitwise_or, x, y, "bitwise_or")


def bitwise_xor(input: T | Values, other: T | Values) -> T:
    """The bits set in one but not in the other; for bools, exclusive or.

    >>> from minispore import Tensor, ops
    >>> ops.bitwise_xor(Tensor([6, 7]), 3)
    Tensor(shape=[2], dtype=Int64, value= [5, 4])

    Raises:
        TypeError: An operand holds floats.
    """
    x, y = _bits(input, other, "bitwise_xor")
    return constant(device_namespace(x._data).bitwise_xor, x, y, "bitwise_xor")


def bitwise_not(input: T) -> T:
    """The other bits; for bools, logical not.

    >>> from minispore import Tensor, ops
    >>> ops.bitwise_not(Tensor([0, 1]))
    Tensor(shape=[2], dtype=Int64, value= [-1, -2])

    Raises:
        TypeError: An operand holds floats.
    """
    check_tensor(input, "bitwise_not")
    x, _ = _bits(input, False, "bitwise_not")
    return wrap(device_namespace(x._data).bitwise_invert(x._data), x)


def all(input: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """Whether all elements hold, over `axis`.

    >>> from minispore import Tensor, ops
    >>> ops.all(Tensor([[True, False], [True, True]]), 1)
    Tensor(shape=[2], dtype=Bool, value= [False,  True])

    Raises:
        TypeError: `input` is no tensor, an axis no int, or `keep_dims` no bool.
        ValueError: An axis is out of range or named twice.
    """
    check_tensor(input, "all")
    check_bool(keep_dims, "keep_dims", "all")
    axes = as_axes(axis, input.ndim, "all")
    xp = device_namespace(input._data)
    return wrap(xp.all(input._data, axis=axes, keepdims=keep_dims), input)


def any(input: T, axis: Axis = None, keep_dims: bool = False) -> T:
    """Whether any element holds, over `axis`.

    >>> from minispore import Tensor, ops
    >>> ops.any(Tensor([[True, False], [False, False]]), 1)
    Tensor(shape=[2], dtype=Bool, value= [ True, False])

    Raises:
        TypeError: `input` is no tensor, an axis no int, or `keep_dims` no bool.
        ValueError: An axis is out of range or named twice.
    """
    check_tensor(input, "any")
    check_bool(keep_dims, "keep_dims", "any")
    axes = as_axes(axis, input.ndim, "any")
    xp = device_namespace(input._data)
    return wrap(xp.any(input._data, axis=axes, keepdims=keep_dims), input)


def _bits(x: T | Values, y: T | Values, owner: str) -> tuple[T, T]:
    left, right = pair(x, y, owner)
    if _dtype.of(left._data.dtype).category == _dtype.FLOAT:
        raise TypeError(f"For '{owner}', the operands must be integers or bools, but got floats.")
    return left, right
