"""Functions of each element. Integers are computed as float32 where a float is needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Literal, TypeVar
from typing import cast as as_type

import numpy as np

from minispore import engine
from minispore.engine import dtypes
from minispore.engine.array import device_namespace
from minispore.engine.dispatch import (
    Number,
    Variable,
    apply1,
    as_float,
    broadcast_error,
    cast_to,
    check_fits,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
    promote_operands,
    share,
    wrap,
)
from minispore.engine.rules import elementwise as rules
from minispore.engine.rules import shape as shape_rules
from minispore.ops.arithmetic import add, div, maximum, minimum, mul, neg, pow, sub, where
from minispore.ops.comparison import (
    greater,
    greater_equal,
    less,
    less_equal,
    logical_or,
    not_equal,
)
from minispore.utils.checks import check_number, check_one_of, check_type, map_items

if TYPE_CHECKING:
    from minispore.ops.tensors import Tensor

__all__ = [
    "asin", "acos", "atan", "asinh", "acosh", "atanh", "arcsin", "arccos", "arctan", "arcsinh",
    "arccosh", "arctanh", "erfc", "abs", "absolute", "prelu", "cast", "ceil", "celu", "clamp",
    "clip", "cos", "cosh", "elu", "erf", "exp", "exp2", "expm1", "floor", "frac", "gelu",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "isfinite", "isinf", "isnan",
    "leaky_relu", "log", "log10", "log1p", "log2", "logsigmoid", "mish", "reciprocal", "relu",
    "relu6", "round", "rsqrt", "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softplus",
    "softshrink", "softsign", "sqrt", "square", "stop_gradient", "tan", "tanh", "tanhshrink",
    "trunc",
]  # fmt: skip

V = TypeVar("V")
Function = TypeVar("Function", bound=Callable[..., object])
_BOUND = (Variable, int, float, type(None))
_FLOAT_SECTIONS = """

Args:
    {arguments}

Returns:
    A tensor of the same shape, of a float type.

Examples:
    >>> from minispore import Tensor, ops
    >>> f"{{ops.{name}(Tensor({x})):.4f}}"
    '{value:.4f}'

Source: MindSpore's `mindspore.ops.{name}`.
"""


def _documented(x: float, value: float, **others: str) -> Callable[[Function], Function]:
    """Return a decorator that completes the docstring of a function whose results are floats.

    Args:
        x: The element in the example.
        value: The function's value there, to four digits.
        **others: What the arguments after the tensor are.
    """

    def complete(function: Function) -> Function:
        tensor = "A tensor of any shape; integers and bools are computed as float32."
        texts = (tensor, *others.values())
        names = signature(function).parameters
        arguments = "\n    ".join(
            f"{name}: {text}" for name, text in zip(names, texts, strict=True)
        )
        sections = _FLOAT_SECTIONS.format(
            arguments=arguments, name=function.__name__, x=x, value=value
        )
        function.__doc__ = (function.__doc__ or "") + sections
        return function

    return complete


@_documented(1.0, 2.7183)
def exp(input: Tensor) -> Tensor:
    """Return e raised to the power of each element."""
    return apply1(rules.exp, as_float(input))


@_documented(10.0, 2.3026)
def log(input: Tensor) -> Tensor:
    """Return the natural logarithm of each element."""
    return apply1(rules.log, as_float(input))


@_documented(1.0, 0.6931)
def log1p(input: Tensor) -> Tensor:
    """Return log(1 + x) for each element x, which is as accurate for small ones."""
    return apply1(rules.log1p, as_float(input))


@_documented(8.0, 3.0)
@in_float32
def log2(input: Tensor) -> Tensor:
    """Return the logarithm to the base 2 of each element."""
    return div(apply1(rules.log, as_float(input)), math.log(2.0))


@_documented(100.0, 2.0)
@in_float32
def log10(input: Tensor) -> Tensor:
    """Return the logarithm to the base 10 of each element."""
    return div(apply1(rules.log, as_float(input)), math.log(10.0))


@_documented(3.0, 8.0)
def exp2(input: Tensor) -> Tensor:
    """Return 2 raised to the power of each element."""
    return pow(2.0, as_float(input))


@_documented(4.0, 0.25)
def reciprocal(input: Tensor) -> Tensor:
    """Return 1 / x for each element x."""
    return div(1.0, as_float(input))


@_documented(4.0, 0.5)
@in_float32
def rsqrt(input: Tensor) -> Tensor:
    """Return 1 / sqrt(x) for each element x."""
    return div(1.0, apply1(rules.sqrt, as_float(input)))


@_documented(2.0, 1.4142)
def sqrt(x: Tensor) -> Tensor:
    """Return the square root of each element."""
    return apply1(rules.sqrt, as_float(x, "x"))


def square(input: Tensor) -> Tensor:
    """Return the square of each element.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.square(Tensor([2, -3])).tolist()
        [4, 9]

    Source: MindSpore's `mindspore.ops.square`.
    """
    check_tensor(input)
    return apply1(rules.square, input)


def abs(input: Tensor) -> Tensor:
    """Return the absolute value of each element; its derivative at 0 is 0.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.abs(Tensor([2, -3])).tolist()
        [2, 3]

    Source: MindSpore's `mindspore.ops.abs`.
    """
    check_tensor(input)
    return apply1(rules.absolute, input)


absolute = abs


def sign(input: Tensor) -> Tensor:
    """Return -1, 0 or 1 for each element; the gradient is zero.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.sign(Tensor([2, 0, -3])).tolist()
        [1, 0, -1]

    Source: MindSpore's `mindspore.ops.sign`.
    """
    check_numbers(input)
    return apply1(rules.sign, input)


@_documented(1.0, 0.7616)
def tanh(input: Tensor) -> Tensor:
    """Return the hyperbolic tangent of each element."""
    return apply1(rules.tanh, as_float(input))


@_documented(1.0, 1.1752)
@in_float32
def sinh(input: Tensor) -> Tensor:
    """Return the hyperbolic sine of each element."""
    return apply1(rules.sinh, as_float(input))


@_documented(1.0, 1.5431)
@in_float32
def cosh(input: Tensor) -> Tensor:
    """Return the hyperbolic cosine of each element."""
    return apply1(rules.cosh, as_float(input))


@_documented(1.0, 0.2384)
@in_float32
def tanhshrink(input: Tensor) -> Tensor:
    """Return x - tanh(x) for each element x."""
    return apply1(rules.tanhshrink, as_float(input))


@_documented(1.0, 0.8415)
def sin(input: Tensor) -> Tensor:
    """Return the sine of each element, in radians."""
    return apply1(rules.sin, as_float(input))


@_documented(1.0, 0.5403)
def cos(input: Tensor) -> Tensor:
    """Return the cosine of each element, in radians."""
    return apply1(rules.cos, as_float(input))


@_documented(1.0, 1.5574)
def tan(input: Tensor) -> Tensor:
    """Return the tangent of each element, in radians."""
    return apply1(rules.tan, as_float(input))


@_documented(0.5, 0.5236)
def asin(input: Tensor) -> Tensor:
    """Return the inverse sine of each element, in radians."""
    return apply1(rules.asin, as_float(input))


arcsin = asin


@_documented(0.5, 1.0472)
def acos(input: Tensor) -> Tensor:
    """Return the inverse cosine of each element, in radians."""
    return apply1(rules.acos, as_float(input))


arccos = acos


@_documented(0.5, 0.4636)
def atan(input: Tensor) -> Tensor:
    """Return the inverse tangent of each element, in radians."""
    return apply1(rules.atan, as_float(input))


arctan = atan


@_documented(0.5, 0.4812)
def asinh(input: Tensor) -> Tensor:
    """Return the inverse hyperbolic sine of each element."""
    return apply1(rules.asinh, as_float(input))


arcsinh = asinh


@_documented(2.0, 1.317)
def acosh(input: Tensor) -> Tensor:
    """Return the inverse hyperbolic cosine of each element."""
    return apply1(rules.acosh, as_float(input))


arccosh = acosh


@_documented(0.5, 0.5493)
def atanh(input: Tensor) -> Tensor:
    """Return the inverse hyperbolic tangent of each element."""
    return apply1(rules.atanh, as_float(input))


arctanh = atanh


@_documented(1.0, 0.7311)
def sigmoid(input: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x)) for each element x."""
    return apply1(rules.sigmoid, as_float(input))


@_documented(1.0, 0.8427)
def erf(input: Tensor) -> Tensor:
    """Return the error function of each element."""
    return apply1(engine.erf, as_float(input))


@_documented(1.0, 0.1573)
def erfc(input: Tensor) -> Tensor:
    """Return 1 - erf(x) for each element x, without the rounding of that difference."""
    return apply1(engine.erfc, as_float(input))


@_documented(1.0, 1.7183)
def expm1(input: Tensor) -> Tensor:
    """Return exp(x) - 1 for each element x, which is as accurate for small ones."""
    return apply1(rules.expm1, as_float(input))


@in_float32
def softplus(input: Tensor, beta: Number = 1, threshold: Number = 20) -> Tensor:
    """Return log(1 + exp(beta * x)) / beta for each element x: a smooth `relu`.

    Args:
        input: A tensor of any shape; integers and bools are computed as float32.
        beta: The scale, not 0; the larger, the closer to `relu`.
        threshold: Where `beta * x` exceeds it, x itself is returned.

    Returns:
        A tensor of the same shape, of a float type.

    Raises:
        ValueError: `beta` is 0.

    Examples:
        >>> from minispore import Tensor, ops
        >>> f'{ops.softplus(Tensor(1.0)).item():.4f}'
        '1.3133'

    Source: MindSpore's `mindspore.ops.softplus`.
    """
    x = as_float(input)
    check_type(beta, (int, float), "beta")
    check_type(threshold, (int, float), "threshold")
    if beta == 0:
        raise ValueError("For 'softplus', the argument 'beta' must not be 0.")
    if beta == 1 and threshold >= 20 and dtype_of(x) is dtypes.float32:
        return apply1(rules.softplus, x)  # which is rounded to x from 17 on
    scaled = mul(x, beta)
    smooth = div(apply1(rules.softplus, scaled), beta)
    return where(greater(scaled, threshold), x, smooth)


def relu(input: Tensor) -> Tensor:
    """Return max(x, 0) for each element x; the derivative at 0 is 0.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.relu(Tensor([2, -3])).tolist()
        [2, 0]

    Source: MindSpore's `mindspore.ops.relu`.
    """
    check_tensor(input)
    if dtype_of(input) is dtypes.bool_:
        return copy(input)
    return apply1(rules.relu, input)


@_documented(-1.0, -0.2, alpha="The slope below 0, a number.")
def leaky_relu(input: Tensor, alpha: float = 0.2) -> Tensor:
    """Return x for each element x >= 0, and alpha * x below."""
    x = as_float(input)
    check_type(alpha, (int, float), "alpha")
    return apply1(rules.leaky_relu, x, alpha)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return x for each element x > 0, and `weight * x` elsewhere.

    Args:
        input: A tensor of any shape; integers and bools are computed as float32.
        weight: The slopes, one for each channel (the second axis of `input`), or a single one.

    Returns:
        A tensor of the same shape, of a float type.

    Raises:
        ValueError: `weight` has not one axis, or another length.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.prelu(Tensor([[-1.0, -4.0]]), Tensor([0.5, 0.25])).tolist()
        [[-0.5, -1.0]]

    Source: MindSpore's `mindspore.ops.prelu`.
    """
    x = as_float(input)
    check_tensor(weight, "weight")
    channels = x.shape[1:2]
    if weight.shape not in ((1,), channels):
        raise ValueError(
            f"For 'prelu', the shape of 'weight' must be (1,) or that of the channels of 'input', "
            f"{channels}, but got {weight.shape}."
        )
    factors = apply1(shape_rules.reshape, weight, (*weight.shape, *(1,) * (x.ndim - 2))[: x.ndim])
    return where(greater(x, 0), x, mul(factors, x))


@_documented(7.0, 6.0)
def relu6(x: Tensor) -> Tensor:
    """Return min(max(x, 0), 6) for each element x."""
    return apply1(rules.clip, apply1(rules.relu, as_float(x, "x")), None, 6.0)


@_documented(1.0, 0.8413, approximate="'none', or 'tanh' for an approximation by tanh.")
@in_float32
def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """Return x P(X <= x) for each element x, where X is normally distributed."""
    x = as_float(input)
    check_one_of(approximate, ("none", "tanh"), "approximate")
    if approximate == "tanh":
        # Half of 1 + tanh is the sigmoid of the double argument.
        near = apply1(rules.clip, x, -1e3, 1e3)
        factor = mul(add(mul(apply1(rules.square, near), 0.044715), 1.0), math.sqrt(8 / math.pi))
        probability = apply1(rules.sigmoid, mul(near, factor))
    else:
        probability = apply1(engine.normal_cdf, x)
    return mul(x, probability)


@_documented(-1.0, -0.6321, alpha="The negative of the limit at -inf, a number.")
def elu(input_x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x for each element x >= 0, and alpha * (exp(x) - 1) below."""
    check_type(alpha, (int, float), "alpha")
    return _exponential_linear(as_float(input_x, "input_x"), alpha, 1.0)


@_documented(-1.0, -0.6321, alpha="The negative of the limit at -inf, a number other than 0.")
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Return x for each element x >= 0, and alpha * (exp(x / alpha) - 1) below."""
    check_type(alpha, (int, float), "alpha")
    if alpha == 0:
        raise ValueError("For 'celu', the argument 'alpha' must not be 0.")
    return _exponential_linear(as_float(x, "x"), alpha, alpha)


@_documented(-1.0, -1.1113)
@in_float32
def selu(input_x: Tensor) -> Tensor:
    """Return `1.0507 * elu(x, 1.6733)` for each element x."""
    x = as_float(input_x, "input_x")
    return mul(_exponential_linear(x, 1.6732632423543772, 1.0), 1.0507009873554805)


@in_float32
def _exponential_linear(x: Tensor, alpha: float, scale: float) -> Tensor:
    """Return x >= 0, and alpha * (exp(x / scale) - 1) below, where nothing overflows."""
    below = apply1(rules.expm1, div(apply1(rules.clip, x, None, 0.0), scale))
    return where(greater_equal(x, 0), x, mul(below, alpha))


@_documented(1.0, 0.7311)
@in_float32
def silu(input: Tensor) -> Tensor:
    """Return x * sigmoid(x) for each element x, also called swish."""
    x = as_float(input)
    return mul(x, apply1(rules.sigmoid, x))


@_documented(1.0, 0.8651)
@in_float32
def mish(x: Tensor) -> Tensor:
    """Return x * tanh(softplus(x)) for each element x."""
    values = as_float(x, "x")
    return mul(values, apply1(rules.tanh, apply1(rules.softplus, values)))


@_documented(1.0, 0.5)
@in_float32
def softsign(x: Tensor) -> Tensor:
    """Return x / (1 + |x|) for each element x."""
    return apply1(rules.softsign, as_float(x, "x"))


@_documented(1.0, -0.3133)
def logsigmoid(x: Tensor) -> Tensor:
    """Return log(sigmoid(x)) for each element x, without overflow."""
    values = as_float(x, "x")
    return neg(apply1(rules.softplus, neg(values)))


@_documented(1.0, 0.6667)
@in_float32
def hardsigmoid(input: Tensor) -> Tensor:
    """Return min(max(x / 6 + 0.5, 0), 1) for each element x."""
    x = as_float(input)
    return where(greater_equal(x, 3), 1.0, div(apply1(rules.relu, add(x, 3.0)), 6.0))


@_documented(1.0, 0.6667)
@in_float32
def hardswish(input: Tensor) -> Tensor:
    """Return x * hardsigmoid(x) for each element x."""
    return apply1(rules.hardswish, as_float(input))


def hardtanh(input: Tensor, min_val: Number = -1.0, max_val: Number = 1.0) -> Tensor:
    """Return each element limited to [min_val, max_val]; the derivative at the bounds is 1/2.

    Args:
        input: A tensor of any shape.
        min_val: The lower bound; for integers and bools it is cut to an integer.
        max_val: The upper bound; for integers and bools it is cut to an integer.

    Returns:
        A tensor of the same shape and type.

    Raises:
        ValueError: A bound of integers is infinite or NaN.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.hardtanh(Tensor([-2.0, 0.5])).tolist()
        [-1.0, 0.5]

    Source: MindSpore's `mindspore.ops.hardtanh`.
    """
    check_tensor(input)
    check_type(min_val, (int, float), "min_val")
    check_type(max_val, (int, float), "max_val")
    if dtype_of(input).category == dtypes.FLOAT:
        return minimum(maximum(input, min_val), max_val)
    try:
        low, high = int(min_val), int(max_val)
    except (OverflowError, ValueError):
        raise ValueError(
            "For 'hardtanh', the bounds of integers must be finite, "
            f"but got {min_val} and {max_val}."
        ) from None
    return cast_to(clip(input, low, high), dtype_of(input))


@_documented(1.0, 0.5, lambd="The threshold, at least 0.")
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return each element moved towards 0 by `lambd`, and 0 for smaller ones."""
    x = as_float(input)
    check_number(lambd, "lambd", low=0.0)
    return sub(x, apply1(rules.clip, x, -lambd, lambd))


@_documented(1.0, 1.0, lambd="The threshold.")
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Return each element, but 0 for those of absolute value up to `lambd`."""
    x = as_float(input)
    check_type(lambd, (int, float), "lambd")
    return where(less_equal(apply1(rules.absolute, x), lambd), 0.0, x)


def clip(
    input: Tensor, min: Tensor | Number | None = None, max: Tensor | Number | None = None
) -> Tensor:
    """Return `input` limited to the interval [min, max].

    Bounds may be tensors, which broadcast. Where `min` exceeds `max`, the result is `max`, and NaN
    where a bound is NaN. A float bound makes float32 of integers.

    Args:
        input: A tensor of any shape.
        min: The lower bound: a tensor, a number, or None for none.
        max: The upper bound: a tensor, a number, or None for none.

    Returns:
        A tensor of the shape of `input`.

    Raises:
        ValueError: Both bounds are None, a number does not fit the type of `input`, or the shapes
            do not broadcast.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.clip(Tensor([1, 2, 3, 4]), 2, 3).tolist()
        [2, 2, 3, 3]

    Source: MindSpore's `mindspore.ops.clip`.
    """
    check_tensor(input)
    if min is None and max is None:
        raise ValueError("For 'clip', at least one of 'min' and 'max' must be given, got neither.")
    if not isinstance(min, _BOUND):
        check_type(min, _BOUND, "min")
    if not isinstance(max, _BOUND):
        check_type(max, _BOUND, "max")
    floats = isinstance(min, float) or isinstance(max, float)
    is_nan = floats and any(isinstance(x, float) and math.isnan(x) for x in (min, max))
    if isinstance(min, Variable) or isinstance(max, Variable) or is_nan:
        value = input
        try:
            if min is not None:
                value, low = promote_operands(value, min)
                value = where(logical_or(less(value, low), not_equal(low, low)), low, value)
            if max is not None:
                value, high = promote_operands(value, max)
                value = where(logical_or(greater(value, high), not_equal(high, high)), high, value)
            return value
        except ValueError:
            bounds = [x.shape for x in (min, max) if isinstance(x, Variable)]
            raise broadcast_error(input.shape, *bounds) from None
    x = as_float(input) if floats else input
    if dtype_of(x).category == dtypes.INTEGER:
        # A bound beyond the end of the type's range limits nothing.
        limits = np.iinfo(dtype_of(x).name)
        min = None if min is None or min < limits.min else min
        max = None if max is None or max > limits.max else max
        for bound in (min, max):
            check_fits(bound or 0, dtype_of(x))
    return apply1(rules.clip, x, min, max)


clamp = clip


def floor(input: Tensor) -> Tensor:
    """Return the largest integer at most each element; the gradient is zero.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.floor(Tensor([1.5, -1.5])).tolist()
        [1.0, -2.0]

    Source: MindSpore's `mindspore.ops.floor`.
    """
    check_tensor(input)
    return wrap(device_namespace(input._data).floor(input._data), input)


def ceil(input: Tensor) -> Tensor:
    """Return the smallest integer at least each element; the gradient is zero.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.ceil(Tensor([1.5, -1.5])).tolist()
        [2.0, -1.0]

    Source: MindSpore's `mindspore.ops.ceil`.
    """
    check_numbers(input)
    return wrap(-device_namespace(input._data).floor(-input._data), input)


def trunc(input: Tensor) -> Tensor:
    """Return each element without its fraction; the gradient is zero.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.trunc(Tensor([1.5, -1.5])).tolist()
        [1.0, -1.0]

    Source: MindSpore's `mindspore.ops.trunc`.
    """
    check_numbers(input)
    return wrap(device_namespace(input._data).trunc(input._data), input)


def frac(x: Tensor) -> Tensor:
    """Return the fraction of each element, which has its sign.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `x` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.frac(Tensor([1.5, -1.5])).tolist()
        [0.5, -0.5]

    Source: MindSpore's `mindspore.ops.frac`.
    """
    check_numbers(x, "x")
    return sub(x, trunc(x))


def round(input: Tensor) -> Tensor:
    """Return each element rounded, halves to the even integer; the gradient is zero.

    Args:
        input: A tensor of any shape.

    Returns:
        A tensor of the same shape and type.

    Raises:
        TypeError: `input` is a tensor of bools.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.round(Tensor([0.5, 1.5, 2.7])).tolist()
        [0.0, 2.0, 3.0]

    Source: MindSpore's `mindspore.ops.round`.
    """
    check_numbers(input)
    return wrap(device_namespace(input._data).round(input._data), input)


def isnan(input: Tensor) -> Tensor:
    """Return whether each element is NaN.

    Args:
        input: A tensor of any shape.

    Returns:
        A bool tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.isnan(Tensor([1.0, float("nan")])).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.isnan`.
    """
    check_tensor(input)
    return wrap(device_namespace(input._data).isnan(input._data), input)


def isinf(input: Tensor) -> Tensor:
    """Return whether each element is infinite.

    Args:
        input: A tensor of any shape.

    Returns:
        A bool tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.isinf(Tensor([1.0, float("inf")])).tolist()
        [False, True]

    Source: MindSpore's `mindspore.ops.isinf`.
    """
    check_tensor(input)
    return wrap(device_namespace(input._data).isinf(input._data), input)


def isfinite(input: Tensor) -> Tensor:
    """Return whether each element is neither infinite nor NaN.

    Args:
        input: A tensor of any shape.

    Returns:
        A bool tensor of the same shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.isfinite(Tensor([1.0, float("inf")])).tolist()
        [True, False]

    Source: MindSpore's `mindspore.ops.isfinite`.
    """
    check_tensor(input)
    return wrap(device_namespace(input._data).isfinite(input._data), input)


def copy(input: Tensor) -> Tensor:
    """Return a copy of `input`, through which the gradient flows."""
    return apply1(rules.copy, input)


def cast(input: Tensor, dtype: dtypes.DTypeLike) -> Tensor:
    """Return `input` converted to another data type; differentiable between float types.

    Args:
        input: A tensor of any shape.
        dtype: The data type.

    Returns:
        A tensor of the same shape; `input` itself if it has the type.

    Examples:
        >>> import minispore as ms
        >>> from minispore import Tensor, ops
        >>> ops.cast(Tensor([1.7, -1.7]), ms.int32).tolist()
        [1, -1]

    Source: MindSpore's `mindspore.ops.cast`.
    """
    check_tensor(input)
    return cast_to(input, dtypes.as_dtype(dtype))


def stop_gradient(value: V) -> V:
    """Return `value` as a constant, through which no gradient flows.

    Args:
        value: A tensor; a tuple, list or dict, whose items are made constants; or any other value.

    Returns:
        For a tensor, one that shares its memory; any other value itself.

    Examples:
        >>> from minispore import Tensor, grad, ops
        >>> grad(lambda x: x * ops.stop_gradient(x))(Tensor(3.0)).item()
        3.0

    Source: MindSpore's `mindspore.ops.stop_gradient`.
    """
    return as_type("V", _constant(value))


def _constant(value: object) -> object:
    if isinstance(value, Variable):
        if value._node is None:
            return value
        constant = wrap(value._data, value)
        share(constant, value, is_constant=True)
        return constant
    return map_items(_constant, value)
