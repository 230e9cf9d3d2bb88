"""Functions of two tensors beyond arithmetic: angles, truncated remainders, x · log(y)."""

from __future__ import annotations

from math import inf

from minispore.engine import dtypes
from minispore.engine.dispatch import (
    Values,
    apply2,
    as_float,
    check_numbers,
    dtype_of,
    in_float32,
    promote_operands,
)
from minispore.engine.rules import angles
from minispore.engine.rules import arithmetic as rules
from minispore.ops.arithmetic import mul, neg, sub, trunc_divide, where
from minispore.ops.comparison import equal, less, less_equal, logical_and, logical_or
from minispore.ops.elementwise import log
from minispore.ops.manipulation import broadcast_shape
from minispore.ops.tensors import Tensor

__all__ = ["arctan2", "atan2", "fmod", "xlogy"]


def atan2(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the angles of the points (other, input) with the positive first axis, in radians.

    Args:
        input: The second coordinates: a tensor or a number.
        other: The first coordinates: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape, of a float type, with numbers from -π to π.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.atan2(Tensor([0.0, 1.0]), Tensor([-1.0, 1.0])).asnumpy().round(4).tolist()
        [3.1415998935699463, 0.7853999733924866]

    Source: MindSpore's `mindspore.ops.atan2`.
    """
    y, x = promote_operands(input, other)
    return apply2(angles.atan2, as_float(y), as_float(x))


arctan2 = atan2


def fmod(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the remainder of the division rounded towards zero, which has the sign of `input`.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: The operands are bools.
        ValueError: A divisor of integers is 0. On a GPU the result is the library's.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.fmod(Tensor([7.5, -7.5]), 2).tolist(), ops.fmod(Tensor([7, -7]), 2).tolist()
        ([1.5, -1.5], [1, -1])

    Source: MindSpore's `mindspore.ops.fmod`.
    """
    return _fmod(input, other)


@in_float32
def _fmod(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    x, y = promote_operands(input, other)
    check_numbers(x)
    broadcast_shape(x.shape, y.shape)
    if dtype_of(x).category != dtypes.FLOAT:
        return sub(x, mul(y, trunc_divide(x, y)))
    # That of the sizes is exact.
    is_below = less(x, 0)
    rest = apply2(rules.remainder, where(is_below, neg(x), x), where(less(y, 0), neg(y), y))
    return where(is_below, neg(rest), rest)


def xlogy(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return `input * log(other)`, which is 0 where `input` is, unless `other` is NaN.

    Args:
        input: The factors: a tensor or a number.
        other: The arguments of the logarithm: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape, of a float type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.xlogy(Tensor([0.0, 2.0]), Tensor([0.0, 1.0])).tolist()
        [0.0, 0.0]

    Source: MindSpore's `mindspore.ops.xlogy`.
    """
    return _xlogy(input, other)


@in_float32
def _xlogy(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    x, y = promote_operands(input, other)
    x, y = as_float(x), as_float(y)
    broadcast_shape(x.shape, y.shape)
    is_infinite = logical_or(less_equal(y, 0), equal(y, inf))
    return mul(x, log(where(logical_and(equal(x, 0), is_infinite), 1.0, y)))
