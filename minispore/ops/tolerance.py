"""Comparison of numbers up to rounding, and numbers in place of NaN and infinities."""

from __future__ import annotations

from math import inf

import numpy as np

from minispore.engine import dtypes
from minispore.engine.array import Array, device_namespace
from minispore.engine.dispatch import (
    Number,
    apply_nondifferentiable,
    cast_to,
    check_tensor,
    dtype_of,
    half_to_float32,
    promote_operands,
)
from minispore.ops.arithmetic import where
from minispore.ops.comparison import equal
from minispore.ops.elementwise import isnan
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_bool, check_number, check_type

__all__ = ["isclose", "nan_to_num"]


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Return where `|input - other| <= atol + rtol * |other|`; infinities are close if equal.

    Args:
        input: A tensor of any shape.
        other: A tensor whose shape broadcasts with that of `input`.
        rtol: The factor of the size of `other`, of at least 0.
        atol: The difference that is allowed at 0, of at least 0.
        equal_nan: Whether NaN is close to NaN.

    Returns:
        A bool tensor of the broadcast shape.

    Raises:
        ValueError: The shapes do not broadcast, or a tolerance is negative.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.isclose(Tensor([1.0, 2.0]), Tensor([1.000001, 2.1])).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.isclose`.
    """
    check_tensor(input)
    check_tensor(other, "other")
    check_number(rtol, "rtol", low=0)
    check_number(atol, "atol", low=0)
    check_bool(equal_nan, "equal_nan")
    x, y = promote_operands(input, other)
    if dtype_of(x).category != dtypes.FLOAT:
        x, y = cast_to(x, dtypes.float64), cast_to(y, dtypes.float64)

    def are_close(x: Array, y: Array) -> Array:
        xp = device_namespace(x)
        finite = xp.logical_and(xp.isfinite(x), xp.isfinite(y))
        # Differences of infinities are NaN.
        near, far = xp.where(finite, x, 0.0), xp.where(finite, y, 0.0)
        close = xp.abs(near - far) <= rtol * xp.abs(far) + atol
        close = xp.logical_or(xp.logical_and(finite, close), xp.equal(x, y))
        return (
            xp.logical_or(close, xp.logical_and(xp.isnan(x), xp.isnan(y))) if equal_nan else close
        )

    return apply_nondifferentiable(are_close, half_to_float32(x), half_to_float32(y))


def nan_to_num(
    input: Tensor,
    nan: Number | None = None,
    posinf: Number | None = None,
    neginf: Number | None = None,
) -> Tensor:
    """Return `input` with numbers in place of NaN and infinities, where the derivative is 0.

    Args:
        input: A tensor of any shape.
        nan: The number in place of NaN; None for 0.
        posinf: The number in place of infinity; None for the largest one of the type.
        neginf: The number in place of -infinity; None for the smallest one of the type.

    Returns:
        A tensor of the same shape and type; integers and bools are `input` itself.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.nan_to_num(Tensor([float("nan"), float("inf"), 1.0]), posinf=9.0).tolist()
        [0.0, 9.0, 1.0]

    Source: MindSpore's `mindspore.ops.nan_to_num`.
    """
    check_tensor(input)
    for value, name in ((nan, "nan"), (posinf, "posinf"), (neginf, "neginf")):
        if value is not None:
            check_type(value, (int, float, bool), name)
    dtype = dtype_of(input)
    if dtype.category != dtypes.FLOAT:
        return input
    limit = float(np.finfo(dtype.name).max)
    x = where(isnan(input), 0.0 if nan is None else float(nan), input)
    x = where(equal(input, inf), limit if posinf is None else float(posinf), x)
    return where(equal(input, -inf), -limit if neginf is None else float(neginf), x)
