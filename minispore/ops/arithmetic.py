"""Arithmetic of two operands, which are broadcast; one of them may be a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    device_namespace,
    host_branch,
    host_check,
    is_host,
    to_host,
)
from minispore.engine.dispatch import (
    Number,
    Values,
    apply1,
    apply2,
    apply3,
    apply_nondifferentiable,
    array_from_values,
    as_float,
    check_numbers,
    check_tensor,
    dtype_of,
    promote_operands,
    wrap,
)
from minispore.engine.rules import arithmetic as rules
from minispore.engine.rules import elementwise
from minispore.utils.checks import caller, check_one_of, check_type

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "add", "div", "divide", "floor_divide", "maximum", "minimum", "mul", "multiply", "neg",
    "negative", "pow", "remainder", "select", "sub", "subtract", "where",
]  # fmt: skip


def add(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return `input + other`, elementwise and broadcast.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.add(Tensor([1.0, 2.0]), 1).tolist()
        [2.0, 3.0]

    Source: MindSpore's `mindspore.ops.add`.
    """
    x, y = promote_operands(input, other)
    return apply2(rules.add, x, y)


def sub(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return `input - other`, elementwise and broadcast.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: The operands are bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.sub(Tensor([1.0, 2.0]), 1).tolist()
        [0.0, 1.0]

    Source: MindSpore's `mindspore.ops.sub`.
    """
    x, y = promote_operands(input, other)
    check_numbers(x)
    return apply2(rules.subtract, x, y)


def subtract(input: Tensor | Values, other: Tensor | Values, *, alpha: Number = 1) -> Tensor:
    """Return `input - alpha * other`, elementwise and broadcast.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.
        alpha: The factor, an int for operands of integers.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: The operands are bools, or `alpha` is a float for integers.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.subtract(Tensor([5, 6]), Tensor([1, 2]), alpha=2).tolist()
        [3, 2]

    Source: MindSpore's `mindspore.ops.subtract`.
    """
    x, y = scale_other(input, other, alpha)
    check_numbers(x)
    return apply2(rules.subtract, x, y)


def scale_other(
    input: Tensor | Values, other: Tensor | Values, alpha: Number
) -> tuple[Tensor, Tensor]:
    """Return both operands in their common type, the second one multiplied by `alpha`."""
    check_type(alpha, (int, float), "alpha")
    x, y = promote_operands(input, other)
    if alpha == 1:
        return x, y
    check_numbers(y)
    if isinstance(alpha, float) and dtype_of(y).category != dtypes.FLOAT:
        raise TypeError(
            f"For '{caller()}', the argument 'alpha' must be an int for operands of integers, "
            f"but got {alpha}."
        )
    return x, mul(y, alpha)


def mul(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return `input * other`, elementwise and broadcast.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.mul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist()
        [3.0, 8.0]

    Source: MindSpore's `mindspore.ops.mul`.
    """
    x, y = promote_operands(input, other)
    return apply2(rules.multiply, x, y)


multiply = mul


def div(
    input: Tensor | Values,
    other: Tensor | Values,
    *,
    rounding_mode: Literal["floor", "trunc"] | None = None,
) -> Tensor:
    """Return `input / other`, elementwise and broadcast.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.
        rounding_mode: "floor" is `floor_divide`. "trunc" rounds the quotient towards zero; its
            gradient is zero.

    Returns:
        A tensor of the broadcast shape, of a float type; with `rounding_mode` of the promoted type.

    Raises:
        TypeError: The operands are bools, with `rounding_mode`.
        ValueError: A divisor of integers is 0, with `rounding_mode`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.div(Tensor([7, -7]), 2).tolist()
        [3.5, -3.5]
        >>> ops.div(Tensor([7, -7]), 2, rounding_mode="trunc").tolist()
        [3, -3]

    Source: MindSpore's `mindspore.ops.div`.
    """
    x, y = promote_operands(input, other)
    if rounding_mode is not None:
        check_one_of(rounding_mode, ("floor", "trunc"), "rounding_mode")
        return _floor_divide(x, y) if rounding_mode == "floor" else trunc_divide(x, y)
    return apply2(rules.divide, as_float(x), as_float(y))


divide = div


def floor_divide(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the quotient rounded down, elementwise and broadcast; its gradient is zero.

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
        >>> ops.floor_divide(Tensor([7, -7]), 2).tolist()
        [3, -4]

    Source: MindSpore's `mindspore.ops.floor_divide`.
    """
    return _floor_divide(*promote_operands(input, other))


def _floor_divide(x: Tensor, y: Tensor) -> Tensor:
    """Return ⌊x / y⌋ of the exact quotient."""
    if _are_integers(x, y):
        return apply_nondifferentiable(device_namespace(x._data).floor_divide, x, y)
    return apply_nondifferentiable(_floor_of_floats, x, y)


def _floor_of_floats(x: Array, y: Array) -> Array:
    # The floor of a quotient that was rounded may be 1 too large. numpy's function corrects that,
    # and gives NaN for an infinite dividend.
    xp = device_namespace(x)
    quotient = xp.divide(x, y)
    finite = xp.logical_and(xp.isfinite(quotient), xp.isfinite(y))
    exact = xp.floor_divide(xp.where(finite, x, 0.0), xp.where(finite, y, 1.0))
    return xp.where(finite, exact, xp.floor(quotient))


def trunc_divide(x: Tensor, y: Tensor) -> Tensor:
    """Return x / y rounded towards zero: of integers the exact quotient."""
    xp = device_namespace(x._data)
    if not _are_integers(x, y):
        return wrap(xp.trunc(apply_nondifferentiable(xp.divide, x, y)._data), x)
    floor = apply_nondifferentiable(xp.floor_divide, x, y)
    rest = apply_nondifferentiable(xp.remainder, x, y)._data
    is_below = xp.logical_and(floor._data < 0, xp.not_equal(rest, xp.zeros_like(rest)))
    return wrap(floor._data + xp.astype(is_below, floor._data.dtype), x)


def _are_integers(x: Tensor, y: Tensor) -> bool:
    """Return whether two operands are integers, of which the divisors are not 0.

    Raises:
        TypeError: They are bools.
        ValueError: A divisor is 0.
    """
    check_numbers(x)
    if dtype_of(x).category == dtypes.FLOAT:
        return False
    # Not on a device, where the check would synchronize.
    if is_host(y._data):
        host_check(_check_no_zero, y._data)
    return True


def _check_no_zero(y: Array, function: str | None = None) -> None:
    if not to_host(y).all():
        raise ValueError(f"For '{function or caller()}', a divisor of integers must not be 0.")


def remainder(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return `input - (input // other) * other`, which has the sign of `other`.

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
        >>> ops.remainder(Tensor([7, -7]), 2).tolist()
        [1, 1]

    Source: MindSpore's `mindspore.ops.remainder`.
    """
    x, y = promote_operands(input, other)
    if _are_integers(x, y):
        return apply_nondifferentiable(device_namespace(x._data).remainder, x, y)
    return apply2(rules.remainder, x, y)


def pow(input: Tensor | Values, exponent: Tensor | Values) -> Tensor:
    """Return `input` to the power `exponent`, elementwise and broadcast.

    A negative power of an integer is cut to an integer: 0 except for 1 and -1.

    Args:
        input: The left operand: a tensor or a number.
        exponent: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: The operands are bools.
        ValueError: A power of the integer 0 is negative, and so infinite.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.pow(Tensor([1.0, 2.0]), 3).tolist()
        [1.0, 8.0]

    Source: MindSpore's `mindspore.ops.pow`.
    """
    x, y = promote_operands(input, exponent)
    check_numbers(x)
    if (
        isinstance(exponent, int | float)
        and exponent in _BY_PRODUCTS
        and dtype_of(x).category == dtypes.FLOAT
    ):
        # float16 is multiplied in float32, where an intermediate result has no error that counts.
        return apply1(elementwise.integer_power, x, int(exponent))
    if dtype_of(x).category < dtypes.FLOAT and host_branch(_any_below_zero, y._data):
        # numpy raises an error.
        power = apply_nondifferentiable(_power_of_integers, x, y)
        if is_host(x._data):
            host_check(_check_no_infinite_power, x._data, y._data)
        return power
    return apply2(rules.pow, x, y)


# The exponents for which products are faster than a power and as accurate.
_BY_PRODUCTS: Final = {*range(-16, 0), *range(2, 17)}


def _power_of_integers(x: Array, y: Array) -> Array:
    xp = device_namespace(x)
    negative = y < 0
    # A power of 1 or -1 depends on whether the exponent is odd.
    power = x ** xp.where(negative, xp.remainder(y, xp.ones_like(y) * 2), y)
    is_fraction = xp.logical_and(negative, xp.logical_or(x > 1, x < -1))
    return xp.where(is_fraction, xp.zeros_like(power), power)


def _check_no_infinite_power(x: Array, y: Array, function: str | None = None) -> None:
    if ((to_host(x) == 0) & (to_host(y) < 0)).any():
        raise ValueError(
            f"For '{function or caller()}', a power of the integer 0 must not be negative."
        )


def _any_below_zero(x: Array) -> bool:
    return bool(to_host(device_namespace(x).any(x < 0)))


def neg(input: Tensor) -> Tensor:
    """Return `-input`.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.neg(Tensor([1, -2])).tolist()
        [-1, 2]

    Source: MindSpore's `mindspore.ops.neg`.
    """
    check_numbers(input)
    return apply1(rules.negative, input)


negative = neg


def maximum(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the larger of two elements; equal elements each receive half of the gradient.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.maximum(Tensor([1, 4]), Tensor([2, 3])).tolist()
        [2, 4]

    Source: MindSpore's `mindspore.ops.maximum`.
    """
    x, y = promote_operands(input, other)
    return apply2(rules.maximum, x, y)


def minimum(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the smaller of two elements; equal elements each receive half of the gradient.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.minimum(Tensor([1, 4]), Tensor([2, 3])).tolist()
        [1, 3]

    Source: MindSpore's `mindspore.ops.minimum`.
    """
    x, y = promote_operands(input, other)
    return apply2(rules.minimum, x, y)


def where(condition: Tensor, input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return elements of `input` where `condition` is true, and of `other` elsewhere.

    Args:
        condition: A tensor of bools, or of numbers that count as true unless they are 0.
        input: A tensor or a number.
        other: A tensor or a number.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.where(Tensor([True, False]), Tensor([1.0, 2.0]), 0.0).tolist()
        [1.0, 0.0]

    Source: MindSpore's `mindspore.ops.where`.
    """
    check_tensor(condition, "condition")
    if isinstance(input, int | float) and isinstance(other, int | float):
        data = array_from_values(input, None, condition._data)
        x, y = promote_operands(wrap(data, condition), other)
    else:
        x, y = promote_operands(input, other)
    return apply3(rules.where, wrap(condition._data, x), x, y)


select = where
