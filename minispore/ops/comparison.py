"""Comparison and logic, with bool results and no gradients."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from minispore.engine import dtypes
from minispore.engine.array import Array, device_namespace
from minispore.engine.dispatch import (
    Values,
    apply_nondifferentiable,
    check_tensor,
    dtype_of,
    promote_operands,
    wrap,
)
from minispore.ops._primitive import primitive
from minispore.utils.checks import caller

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalNot",
    "LogicalOr", "NotEqual", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "eq",
    "equal", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lt", "ne", "not_equal",
]  # fmt: skip


def equal(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return whether two elements are equal.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.equal(Tensor([1, 2]), 2).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.equal`.
    """
    return _apply("equal", input, other)


eq = equal
Equal: Final = primitive("Equal", equal)


def not_equal(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return whether two elements differ.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.not_equal(Tensor([1, 2]), 2).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.not_equal`.
    """
    return _apply("not_equal", input, other)


ne = not_equal
NotEqual: Final = primitive("NotEqual", not_equal)


def less(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return whether `input < other`, elementwise.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.less(Tensor([1, 2]), 2).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.less`.
    """
    return _apply("less", input, other, operator.lt)


lt = less
Less: Final = primitive("Less", less)


def less_equal(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return whether `input <= other`, elementwise.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.less_equal(Tensor([1, 2]), 1).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.less_equal`.
    """
    return _apply("less_equal", input, other, operator.le)


le = less_equal
LessEqual: Final = primitive("LessEqual", less_equal)


def greater(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return whether `input > other`, elementwise.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.greater(Tensor([1, 2]), 1).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.greater`.
    """
    return _apply("greater", input, other, operator.gt)


gt = greater
Greater: Final = primitive("Greater", greater)


def greater_equal(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return whether `input >= other`, elementwise.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.greater_equal(Tensor([1, 2]), 2).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.greater_equal`.
    """
    return _apply("greater_equal", input, other, operator.ge)


ge = greater_equal
GreaterEqual: Final = primitive("GreaterEqual", greater_equal)


def logical_and(input: Tensor | bool, other: Tensor | bool) -> Tensor:
    """Return whether both elements are true; a number is true unless it is 0.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.logical_and(Tensor([True, False]), Tensor([True, True])).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.logical_and`.
    """
    return _apply("logical_and", input, other)


LogicalAnd: Final = primitive("LogicalAnd", logical_and)


def logical_or(input: Tensor | bool, other: Tensor | bool) -> Tensor:
    """Return whether at least one of two elements is true.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.logical_or(Tensor([True, False]), Tensor([True, True])).tolist()
        [True, True]

    Source: MindSpore's `mindspore.ops.logical_or`.
    """
    return _apply("logical_or", input, other)


LogicalOr: Final = primitive("LogicalOr", logical_or)


def logical_xor(input: Tensor | bool, other: Tensor | bool) -> Tensor:
    """Return whether exactly one of two elements is true.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A bool tensor of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.logical_xor(Tensor([True, False]), Tensor([True, True])).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.logical_xor`.
    """
    return _apply("logical_xor", input, other)


def logical_not(input: Tensor) -> Tensor:
    """Return whether each element is false.

    Args:
        input: A tensor of any shape.

    Returns:
        A bool tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.logical_not(Tensor([True, False])).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.logical_not`.
    """
    check_tensor(input)
    return wrap(device_namespace(input._data).logical_not(input._data), input)


LogicalNot: Final = primitive("LogicalNot", logical_not)


def bitwise_and(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the bits that are set in both elements; of bools the logical and.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: An operand holds floats.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.bitwise_and(Tensor([6, 7]), 3).tolist()
        [2, 3]

    Source: MindSpore's `mindspore.ops.bitwise_and`.
    """
    return _apply_bitwise("bitwise_and", input, other)


def bitwise_or(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the bits that are set in at least one element; of bools the logical or.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: An operand holds floats.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.bitwise_or(Tensor([6, 4]), 3).tolist()
        [7, 7]

    Source: MindSpore's `mindspore.ops.bitwise_or`.
    """
    return _apply_bitwise("bitwise_or", input, other)


def bitwise_xor(input: Tensor | Values, other: Tensor | Values) -> Tensor:
    """Return the bits that are set in exactly one element; of bools the exclusive or.

    Args:
        input: The left operand: a tensor or a number.
        other: The right operand: a tensor or a number; at least one is a tensor.

    Returns:
        A tensor of the broadcast shape and the promoted type.

    Raises:
        TypeError: An operand holds floats.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.bitwise_xor(Tensor([6, 7]), 3).tolist()
        [5, 4]

    Source: MindSpore's `mindspore.ops.bitwise_xor`.
    """
    return _apply_bitwise("bitwise_xor", input, other)


def bitwise_not(input: Tensor) -> Tensor:
    """Return each element with every bit inverted; of bools the logical not.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `input` holds floats.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.bitwise_not(Tensor([0, 1])).tolist()
        [-1, -2]

    Source: MindSpore's `mindspore.ops.bitwise_not`.
    """
    check_tensor(input)
    _check_no_floats(input)
    return wrap(device_namespace(input._data).bitwise_invert(input._data), input)


def _apply(
    name: str,
    input: Tensor | Values,
    other: Tensor | Values,
    compute: Callable[[Array, Array], Array] | None = None,
) -> Tensor:
    """Return `compute` of two operands; by default the array library's function `name`."""
    x, y = promote_operands(input, other)
    return apply_nondifferentiable(compute or getattr(device_namespace(x._data), name), x, y)


def _apply_bitwise(name: str, input: Tensor | Values, other: Tensor | Values) -> Tensor:
    x, y = promote_operands(input, other)
    _check_no_floats(x)
    return _apply(name, x, y)


def _check_no_floats(x: Tensor) -> None:
    if dtype_of(x).category == dtypes.FLOAT:
        raise TypeError(
            f"For '{caller()}', the operands must be integers or bools, but got floats."
        )
