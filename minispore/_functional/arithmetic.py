"""Arithmetic of two operands; either may be a Python number."""

from typing import Literal

from minispore import _dtype
from minispore._array import device_namespace, to_host
from minispore._checks import check_one_of
from minispore._functional.apply import apply1, apply2, apply3, constant
from minispore._functional.operands import Values, as_float, check_numbers, dtype_of, pair
from minispore._functional.variable import T, Variable, check_tensor, wrap
from minispore._rules import arithmetic as rules


def add(input: T | Values, other: T | Values) -> T:
    """`input + other`, element by element, with broadcasting.

    >>> from minispore import Tensor, ops
    >>> ops.add(Tensor([1.0, 2.0]), 1)
    Tensor(shape=[2], dtype=Float32, value= [ 2.00000000e+00,  3.00000000e+00])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "add")
    return apply2(rules.add, x, y)


def sub(input: T | Values, other: T | Values) -> T:
    """`input - other`, element by element, with broadcasting.

    >>> from minispore import Tensor, ops
    >>> ops.sub(Tensor([1.0, 2.0]), 1)
    Tensor(shape=[2], dtype=Float32, value= [ 0.00000000e+00,  1.00000000e+00])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "sub")
    check_numbers(x, "sub")
    return apply2(rules.subtract, x, y)


def mul(input: T | Values, other: T | Values) -> T:
    """`input * other`, element by element, with broadcasting.

    >>> from minispore import Tensor, ops
    >>> ops.mul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    Tensor(shape=[2], dtype=Float32, value= [ 3.00000000e+00,  8.00000000e+00])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "mul")
    return apply2(rules.multiply, x, y)


def div(
    input: T | Values,
    other: T | Values,
    *,
    rounding_mode: Literal["floor", "trunc"] | None = None,
) -> T:
    """`input / other`, element by element; integers are divided as float32.

    >>> from minispore import Tensor, ops
    >>> ops.div(Tensor([7, -7]), 2)
    Tensor(shape=[2], dtype=Float32, value= [ 3.50000000e+00, -3.50000000e+00])

    Args:
        input: The dividend.
        other: The divisor.
        rounding_mode: "floor" or "trunc" rounds the quotient down or towards zero.

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: `rounding_mode` is none of these, or the shapes do not broadcast.
    """
    x, y = pair(input, other, "div")
    if rounding_mode is not None:
        check_one_of(rounding_mode, ("floor", "trunc"), "rounding_mode", "div")
        xp = device_namespace(x._data)
        quotient = constant(xp.divide, as_float(x, "div"), as_float(y, "div"), "div")._data
        rounded = xp.floor(quotient) if rounding_mode == "floor" else xp.trunc(quotient)
        return wrap(xp.astype(rounded, x._data.dtype), x)
    return apply2(rules.divide, as_float(x, "div"), as_float(y, "div"))


def floor_divide(input: T | Values, other: T | Values) -> T:
    """The quotient rounded down, of the operands' type; its gradient is zero.

    >>> from minispore import Tensor, ops
    >>> ops.floor_divide(Tensor([7, -7]), 2)
    Tensor(shape=[2], dtype=Int64, value= [ 3, -4])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "floor_divide")
    check_numbers(x, "floor_divide")
    return constant(device_namespace(x._data).floor_divide, x, y, "floor_divide")


def remainder(input: T | Values, other: T | Values) -> T:
    """What `floor_divide` leaves over, with the divisor's sign: `input - (input // other) * other`.

    >>> from minispore import Tensor, ops
    >>> ops.remainder(Tensor([7, -7]), 2)
    Tensor(shape=[2], dtype=Int64, value= [1, 1])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "remainder")
    check_numbers(x, "remainder")
    xp = device_namespace(x._data)
    if dtype_of(x).category < _dtype.FLOAT:
        return constant(xp.remainder, x, y, "remainder")
    return apply2(rules.remainder, x, y)


def pow(input: T | Values, exponent: T | Values) -> T:
    """`input` to the power `exponent`, element by element, with broadcasting.

    >>> from minispore import Tensor, ops
    >>> ops.pow(Tensor([1.0, 2.0]), 3)
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  8.00000000e+00])

    A negative power of integers is what integers can hold of it: 0 except for 1 and -1.

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, exponent, "pow")
    check_numbers(x, "pow")
    xp = device_namespace(x._data)
    if dtype_of(x).category < _dtype.FLOAT and _any_below_zero(y):
        # numpy refuses; the quotient is computed as a float and cut.
        power = xp.astype(x._data, _dtype.float64.numpy_dtype) ** y._data
        return wrap(xp.astype(xp.trunc(power), x._data.dtype), x)
    return apply2(rules.pow, x, y)


def _any_below_zero(x: Variable) -> bool:
    return bool(to_host(device_namespace(x._data).any(x._data < 0)))


def neg(input: T) -> T:
    """`-input`.

    >>> from minispore import Tensor, ops
    >>> ops.neg(Tensor([1, -2]))
    Tensor(shape=[2], dtype=Int64, value= [-1,  2])

    Raises:
        TypeError: `input` is no tensor, or of bools.
    """
    check_tensor(input, "neg")
    check_numbers(input, "neg")
    return apply1(rules.negative, input)


def maximum(input: T | Values, other: T | Values) -> T:
    """The larger of both, element by element; equal ones take half of the gradient each.

    >>> from minispore import Tensor, ops
    >>> ops.maximum(Tensor([1, 4]), Tensor([2, 3]))
    Tensor(shape=[2], dtype=Int64, value= [2, 4])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "maximum")
    return apply2(rules.maximum, x, y)


def minimum(input: T | Values, other: T | Values) -> T:
    """The smaller of both, element by element; equal ones take half of the gradient each.

    >>> from minispore import Tensor, ops
    >>> ops.minimum(Tensor([1, 4]), Tensor([2, 3]))
    Tensor(shape=[2], dtype=Int64, value= [1, 3])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    x, y = pair(input, other, "minimum")
    return apply2(rules.minimum, x, y)


def where(condition: Variable, input: T | Values, other: T | Values) -> T:
    """`input` where `condition` holds, `other` elsewhere.

    >>> from minispore import Tensor, ops
    >>> ops.where(Tensor([True, False]), Tensor([1.0, 2.0]), 0.0)
    Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  0.00000000e+00])

    Raises:
        TypeError: No operand is a tensor, or one is neither a tensor nor a number.
        ValueError: The shapes do not broadcast.
    """
    check_tensor(condition, "where", "condition")
    x, y = pair(input, other, "where")
    return apply3(rules.where, wrap(condition._data, x), x, y)
