"""Functions of each element, and their derivatives, against mpmath over all finite numbers.

The error is measured in units in the last place of the exact result; in the range of subnormal
numbers, the unit is the smallest of them. Limits above 8 units are in the table `INHERENT`.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, ops
from minispore.engine.array import HostArray
from minispore.ops import elementwise
from tests.helpers.floats import floats

# mpmath has no annotations.
mp: Any = import_module("mpmath").mp
Exact: TypeAlias = Any
Function: TypeAlias = Callable[[Exact], Exact]
Floats: TypeAlias = HostArray
Mask = NDArray[np.bool_]

# Those of rounding functions are zero.
pytestmark = pytest.mark.filterwarnings("ignore:The gradients are all zero:UserWarning")
seeds = st.integers(0, 2**32 - 1)
LIMIT = 8.0
DTYPES = (np.float16, np.float32, np.float64)
few = settings(max_examples=max(settings().max_examples // 5, 2))


class Reference(NamedTuple):
    """A function of real numbers, its derivative, and where it is defined."""

    value: Function
    slope: Function
    low: float = -np.inf
    high: float = np.inf


def sigmoid(x: Exact) -> Exact:
    return 1 / (1 + mp.exp(-x))


def square_of_sech(x: Exact) -> Exact:
    return mp.sech(x) ** 2


def softplus(x: Exact) -> Exact:
    return mp.log1p(mp.exp(x))


def limited(x: Exact) -> Exact:
    """Return x, or a number at which a function that approaches its limits is there."""
    return min(max(x, -1000), 1000)


def erfc(x: Exact) -> Exact:
    return mp.erfc(limited(x))


def gaussian(x: Exact) -> Exact:
    return 2 / mp.sqrt(mp.pi) * mp.exp(-(limited(x) ** 2))


def normal(x: Exact) -> Exact:
    return mp.exp(-(limited(x) ** 2) / 2) / mp.sqrt(2 * mp.pi)


def probability(x: Exact) -> Exact:
    return erfc(-x / mp.sqrt(2)) / 2


def gelu_argument(x: Exact) -> Exact:
    """Return the argument of the sigmoid in the approximation of gelu."""
    return mp.sqrt(8 / mp.pi) * (x + mp.mpf(0.044715) * x**3)


def slope_of_gelu_argument(x: Exact) -> Exact:
    return mp.sqrt(8 / mp.pi) * (1 + 3 * mp.mpf(0.044715) * x**2)


def tanhshrink(x: Exact) -> Exact:
    return x**3 / 3 if abs(x) < mp.mpf(10) ** -20 else x - mp.tanh(x)


def times_sigmoid(z: Function, slope: Function) -> Reference:
    """Return the reference of x · sigmoid(z(x))."""
    return Reference(
        lambda x: x * sigmoid(z(x)),
        lambda x: sigmoid(z(x)) * (1 + x * slope(x) * sigmoid(-z(x))),
    )


def where(condition: Callable[[Exact], bool], first: Function, second: Function) -> Function:
    return lambda x: first(x) if condition(x) else second(x)


def constant(number: float) -> Function:
    return lambda x: mp.mpf(number)


def identity(x: Exact) -> Exact:
    return x


zero, one = constant(0.0), constant(1.0)
A, B = mp.mpf(1.6732632423543772), mp.mpf(1.0507009873554805)


def power(n: float) -> Function:
    return lambda x: x**n


def slope_of_power(n: float) -> Function:
    return lambda x: n * x ** (n - 1)


def exponential_linear(alpha: Exact, scale: Exact) -> Reference:
    return Reference(
        where(lambda x: x >= 0, lambda x: scale * x, lambda x: scale * alpha * mp.expm1(x)),
        where(lambda x: x >= 0, constant(scale), lambda x: scale * alpha * mp.exp(x)),
    )


def clipped(low: float, high: float, at_bounds: float) -> Reference:
    """Return the reference of a function that limits its argument."""

    def slope(x: Exact) -> Exact:
        return mp.mpf(at_bounds if x in (low, high) else low < x < high)

    return Reference(lambda x: min(max(x, low), high), slope)


def rounded(function: Function) -> Reference:
    return Reference(function, zero)


def half_to_even(x: Exact) -> Exact:
    return mp.nint(x)


def truncated(x: Exact) -> Exact:
    return mp.sign(x) * mp.floor(abs(x))


# Of powers and of products, with the lowest base. float16 can represent them all. Below 1e-28, the
# derivative is infinite already where it is still in the range of float32.
EXPONENTS = (
    (-16.5, 0.0), (-0.3125, 1e-28), (0.3125, 0.0), (1.5, 0.0), (16.5, 0.0),
    (-16, 0.0), (-7, 0.0), (-2, 0.0), (-1, 0.0),
    (2, -np.inf), (3, -np.inf), (5, -np.inf), (16, -np.inf),
)  # fmt: skip
RELU = where(lambda x: x > 0, identity, zero)
STEP = where(lambda x: x > 0, one, zero)
REFERENCES: dict[str, Reference] = {
    "asin": Reference(mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), -1, 1),
    "acos": Reference(mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)), -1, 1),
    "atan": Reference(mp.atan, lambda x: 1 / (1 + x * x)),
    "asinh": Reference(
        lambda x: mp.sign(x) * mp.log1p(abs(x) + x * x / (1 + mp.sqrt(1 + x * x))),
        lambda x: 1 / mp.sqrt(1 + x * x),
    ),
    "acosh": Reference(mp.acosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), 1),
    "atanh": Reference(
        lambda x: (mp.log1p(x) - mp.log1p(-x)) / 2, lambda x: 1 / ((1 - x) * (1 + x)), -1, 1
    ),
    "erf": Reference(mp.erf, gaussian),
    "erfc": Reference(erfc, lambda x: -gaussian(x)),
    "abs": Reference(abs, mp.sign),
    "ceil": rounded(mp.ceil),
    "floor": rounded(mp.floor),
    "trunc": rounded(truncated),
    "round": rounded(half_to_even),
    "sign": rounded(mp.sign),
    "frac": Reference(lambda x: x - truncated(x), one),
    "celu": exponential_linear(1, 1),
    "elu": exponential_linear(1, 1),
    "selu": exponential_linear(A, B),
    "cos": Reference(mp.cos, lambda x: -mp.sin(x)),
    "sin": Reference(mp.sin, mp.cos),
    "tan": Reference(mp.tan, lambda x: 1 + mp.tan(x) ** 2),
    "cosh": Reference(mp.cosh, mp.sinh),
    "sinh": Reference(mp.sinh, mp.cosh),
    "tanh": Reference(mp.tanh, square_of_sech),
    "tanhshrink": Reference(tanhshrink, lambda x: mp.tanh(x) ** 2),
    "exp": Reference(mp.exp, mp.exp),
    "exp2": Reference(lambda x: mp.mpf(2) ** x, lambda x: mp.log(2) * mp.mpf(2) ** x),
    "expm1": Reference(mp.expm1, mp.exp),
    "log": Reference(mp.log, lambda x: 1 / x, 0),
    "log10": Reference(mp.log10, lambda x: 1 / (x * mp.log(10)), 0),
    "log1p": Reference(mp.log1p, lambda x: 1 / (1 + x), -1),
    "log2": Reference(lambda x: mp.log(x) / mp.log(2), lambda x: 1 / (x * mp.log(2)), 0),
    "gelu": Reference(lambda x: x * probability(x), lambda x: probability(x) + x * normal(x)),
    "gelu(tanh)": times_sigmoid(gelu_argument, slope_of_gelu_argument),
    "silu": times_sigmoid(identity, one),
    "mish": Reference(
        lambda x: x * mp.tanh(softplus(x)),
        lambda x: mp.tanh(softplus(x)) + x * square_of_sech(softplus(x)) * sigmoid(x),
    ),
    "sigmoid": Reference(sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    "logsigmoid": Reference(lambda x: -softplus(-x), lambda x: sigmoid(-x)),
    # Above its threshold of 20, softplus is x by definition.
    "softplus": Reference(
        where(lambda x: x > 20, identity, softplus), where(lambda x: x > 20, one, sigmoid)
    ),
    "softsign": Reference(lambda x: x / (1 + abs(x)), lambda x: 1 / (1 + abs(x)) ** 2),
    "hardsigmoid": Reference(
        lambda x: min(max(x + 3, 0), 6) / 6,
        where(lambda x: -3 < x < 3, constant(mp.mpf(1) / 6), zero),
    ),
    "hardswish": Reference(
        lambda x: x * min(max(x + 3, 0), 6) / 6,
        where(lambda x: -3 <= x <= 3, lambda x: (2 * x + 3) / 6, where(lambda x: x > 3, one, zero)),
    ),
    "hardtanh": clipped(-1.0, 1.0, 0.5),
    "relu": Reference(RELU, STEP),
    "relu6": Reference(lambda x: min(max(x, 0), 6), where(lambda x: 0 < x <= 6, one, zero)),
    "leaky_relu": Reference(
        lambda x: max(x, x * mp.mpf(0.2)),
        where(lambda x: x == 0, constant(0.6), where(lambda x: x > 0, one, constant(0.2))),
    ),
    "hardshrink": Reference(
        where(lambda x: abs(x) > 0.5, identity, zero), where(lambda x: abs(x) > 0.5, one, zero)
    ),
    "softshrink": Reference(
        lambda x: x - min(max(x, -0.5), 0.5), where(lambda x: abs(x) > 0.5, one, zero)
    ),
    "clip": clipped(-0.75, 2.5, 1.0),
    "reciprocal": Reference(lambda x: 1 / x, lambda x: -1 / x**2, 0),
    "rsqrt": Reference(lambda x: 1 / mp.sqrt(x), lambda x: -1 / (2 * x * mp.sqrt(x)), 0),
    "sqrt": Reference(mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), 0),
    "square": Reference(lambda x: x * x, lambda x: 2 * x),
    "prelu": Reference(
        where(lambda x: x > 0, identity, lambda x: x / 4),
        where(lambda x: x > 0, one, constant(0.25)),
    ),
    # Not of `elementwise`:
    "neg": Reference(lambda x: -x, constant(-1.0)),
    "softmax": Reference(sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    "log_softmax": Reference(lambda x: -softplus(-x), lambda x: sigmoid(-x)),
    "logsumexp": Reference(softplus, sigmoid),
    "binary_cross_entropy_with_logits 0": Reference(softplus, sigmoid),
    "binary_cross_entropy_with_logits 1": Reference(lambda x: softplus(-x), lambda x: -sigmoid(-x)),
    "SoftMarginLoss": Reference(lambda x: softplus(-x), lambda x: -sigmoid(-x)),
    "cross_entropy": Reference(softplus, sigmoid),
    **{f"pow {n}": Reference(power(n), slope_of_power(n), low) for n, low in EXPONENTS},
    "div": Reference(lambda x: 3 / x, lambda x: -3 / x**2, 0),
}


def with_zero(x: Tensor) -> Tensor:
    """Return rows of 0 and an element of `x`."""
    return ops.stack([x * 0.0, x], -1)


def bce(x: Tensor, target: float) -> Tensor:
    return ops.binary_cross_entropy_with_logits(x, x * 0.0 + target, reduction="none")


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "clip": lambda x: ops.clip(x, -0.75, 2.5),
    "gelu(tanh)": lambda x: ops.gelu(x, "tanh"),
    "prelu": lambda x: ops.prelu(x, Tensor([0.25], x.dtype)),
    "softmax": lambda x: ops.softmax(with_zero(x))[..., 1],
    "log_softmax": lambda x: ops.log_softmax(with_zero(x))[..., 1],
    "logsumexp": lambda x: ops.logsumexp(with_zero(x), -1),
    "cross_entropy": lambda x: ops.cross_entropy(
        with_zero(x), ops.zeros(x.shape, ms.int32), reduction="none"
    ),
    "binary_cross_entropy_with_logits 0": lambda x: bce(x, 0.0),
    "binary_cross_entropy_with_logits 1": lambda x: bce(x, 1.0),
    "SoftMarginLoss": lambda x: ms.nn.SoftMarginLoss("none")(x, ops.ones_like(x)),
    "div": lambda x: ops.div(3.0, x),
    **{
        name: partial(ops.pow, exponent=float(name[4:]))
        for name in REFERENCES
        if name.startswith("pow ")
    },
}
# What has no float result, or is no function of an element.
OTHERS = {"cast", "isfinite", "isinf", "isnan", "stop_gradient"}


def usual(x: Floats) -> Floats:
    return np.full(x.shape, LIMIT)


class Inherent(NamedTuple):
    """Where the limit of 8 units is not kept, and why.

    Attributes:
        reason: Why.
        value: The limit for the value, of x.
        slope: The limit for the derivative, of x.
        size: The size of the terms of which the derivative is the sum: its unit is that of the
            largest of them if it is small itself.
    """

    reason: str
    value: Callable[[Floats], Floats] = usual
    slope: Callable[[Floats], Floats] = usual
    size: float = 0.0


def units_in_last_place(exact: Exact, dtype: type[np.floating]) -> Exact:
    """Return the distance of neighbouring floats at an exact number."""
    info = np.finfo(dtype)
    exponent = mp.frexp(exact)[1] - 1 if exact else -(1 << 20)
    return mp.ldexp(1, max(exponent, int(info.minexp)) - info.nmant)


def error(actual: float, exact: Exact, dtype: type[np.floating], size: float) -> float:
    """Return the error in units in the last place; infinity is the number after the largest."""
    after = mp.ldexp(1, int(np.finfo(dtype).maxexp))
    exact = min(max(exact, -after), after)
    number = mp.sign(actual) * after if np.isinf(actual) else mp.mpf(actual)
    if mp.isnan(number):
        return np.inf
    return float(
        abs(number - exact) / units_in_last_place(min(max(abs(exact), size), after / 2), dtype)
    )


def times_subnormal(start: float) -> Callable[[Floats], Floats]:
    """Return the limit for a product of x and a factor that is subnormal in float32 from `start`.

    The factor is rounded by half a unit, which x multiplies.
    """
    return lambda x: LIMIT - np.where(x < start, 0.5 * np.maximum(x, -1000), 0.0)


def rounded_argument(x: Floats) -> Floats:
    near = np.clip(x, -40, 40)
    size: Floats = np.abs(near + 0.044715 * near**3)
    return LIMIT + 6.5 * size


FAR, NEAR = times_subnormal(-86.0), times_subnormal(-12.5)
PRODUCTS = "Each of up to 15 products is rounded by half a unit of a number of another size."
INHERENT = {
    "silu": Inherent("A subnormal sigmoid times x; a zero at -1.278.", FAR, FAR, 0.25),
    "mish": Inherent("A subnormal factor times x; a zero at -1.192.", FAR, FAR, 0.25),
    "gelu": Inherent("A subnormal factor times x; a zero at -0.752.", NEAR, NEAR, 0.25),
    "gelu(tanh)": Inherent(
        "The argument of an exponential is rounded; a zero at -0.752.",
        rounded_argument, rounded_argument, 0.25,
    ),
    "softmax": Inherent("1 - p of the class with a probability p of almost 1.", size=1.0),
    "log_softmax": Inherent("1 - p of the class with a probability p of almost 1.", size=1.0),
    "pow -16.5": Inherent("A subnormal power times the exponent.", slope=lambda x: 16.5 + 0 * x),
    "pow 16.5": Inherent("A subnormal power times the exponent.", slope=lambda x: 16.5 + 0 * x),
    "pow 16": Inherent(PRODUCTS, lambda x: 15.0 + 0 * x, lambda x: 15.0 + 0 * x),
    "pow -16": Inherent(PRODUCTS, lambda x: 15.0 + 0 * x, lambda x: 15.0 + 0 * x),
}  # fmt: skip
# The products of a power overflow where the result is 0.
OVERFLOWING = {"pow -16", "pow -7"}


# Where formulas change, functions overflow or become subnormal, and multiples of π/2.
MARKS = (
    0.0, 1e-30, 1e-20, 1e-10, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.25, 0.375, 0.5, 0.75, 1.0, 1.19,
    1.278, 1.5, np.pi / 2, 2.0, 2.5, 3.0, np.pi, 4.0, 5.0, 5.9, 6.0, 6.1, 8.0, 9.0, 9.2, 10.0,
    11.0, 12.0, 13.0, 15.0, 17.3, 20.0, 25.0, 30.0, 40.0, 44.0, 50.0, 80.0, 87.3, 88.7, 89.4,
    95.0, 103.0, 104.0, 200.0, 355.0, 373.0, 700.0, 709.7, 720.0, 740.0, 745.1, 1e3, 1e4, 6e4,
    1e10, 1e18, 1e22, 1e30, 3e38, 1e100, 1e200,
)  # fmt: skip


def marked(dtype: type[np.floating]) -> Floats:
    """Return the marks with their neighbours, of both signs, and the ends of the range."""
    info = np.finfo(dtype)
    with np.errstate(over="ignore"):
        marks = np.array([*MARKS, info.tiny, info.smallest_subnormal, info.max], dtype)
        next_to = [np.nextafter(marks, dtype(end)) for end in (0, np.inf)]
    near = np.concatenate([marks, *next_to])
    return finite(np.concatenate([near, -near]))


def drawn(dtype: type[np.floating], seed: int) -> Floats:
    """Return numbers of any bits, and such of usual size."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 256, 16 * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    usual = [rng.uniform(-12, 12, 16), rng.uniform(-120, 120, 8), 10.0 ** rng.uniform(-8, 3, 8)]
    return finite(np.concatenate([bits, *[x.astype(dtype) for x in usual]]))


def finite(x: Floats) -> Floats:
    return x[np.isfinite(x)]


def check(name: str, dtype: type[np.floating], x: Floats) -> None:
    """Assert that value and derivative at the points are right, without a warning in vain."""
    reference = REFERENCES[name]
    x = x[(x >= reference.low) & (x <= reference.high)]
    if np.isfinite(reference.low):
        x = x[x != reference.low]
    if np.isfinite(reference.high):
        x = x[x != reference.high]
    with mp.workprec(200):
        exact = [(reference.value(mp.mpf(float(a))), reference.slope(mp.mpf(float(a)))) for a in x]
    # Only what itself overflows may warn.
    limit = float(np.finfo(dtype).max)
    is_in_range = np.array([max(abs(value), abs(slope)) < limit for value, slope in exact], bool)
    value, slope = np.empty((2, len(x)))
    strict: Literal["raise", "ignore"] = "ignore" if name in OVERFLOWING else "raise"
    parts: list[tuple[Mask, Literal["raise", "ignore"]]] = [
        (is_in_range, strict),
        (~is_in_range, "ignore"),
    ]
    for part, mode in parts:
        with np.errstate(over=mode, invalid=mode, divide=mode):
            y, dy = ms.value_and_grad(FUNCTIONS.get(name) or getattr(ops, name))(Tensor(x[part]))
        assert y.dtype == dy.dtype == Tensor(x).dtype
        value[part], slope[part] = floats(y), floats(dy)
    inherent = INHERENT.get(name, Inherent(""))
    for which, actual, limits, size in (
        (0, value, inherent.value, 0.0),
        (1, slope, inherent.slope, inherent.size),
    ):
        errors = np.array(
            [error(a, e[which], dtype, size) for a, e in zip(actual, exact, strict=True)]
        )
        # Where the value overflows, the derivative may.
        overflows = [which == 1 and abs(e[0]) >= limit for e in exact]
        errors[np.array(overflows, bool) & np.isinf(actual)] = 0
        allowed = limits(x.astype(np.float64))
        for i in np.argsort(errors - allowed)[::-1][:1]:
            kind = ("value", "derivative")[which]
            message = (
                f"{kind} of {name} at {x[i]!r}: {actual[i]!r}, not {mp.nstr(exact[i][which], 17)}"
            )
            assert errors[i] <= allowed[i], (
                f"{message}: {errors[i]:.1f} units, {allowed[i]:.1f} allowed"
            )


def test_every_function_of_an_element_has_a_reference() -> None:
    functions = {getattr(ops, name).__name__ for name in elementwise.__all__ if name[0].islower()}
    assert functions - OTHERS == (REFERENCES.keys() & vars(elementwise).keys()) - {"neg", "div"}


@pytest.mark.parametrize("name", REFERENCES)
def test_value_and_derivative_are_right_where_formulas_change(name: str) -> None:
    for dtype in DTYPES:
        check(name, dtype, marked(dtype))


@pytest.mark.parametrize("name", REFERENCES)
@few
@given(seed=seeds)
def test_value_and_derivative_are_right_for_all_finite_numbers(name: str, seed: int) -> None:
    for dtype in DTYPES:
        check(name, dtype, drawn(dtype, seed))


# Without a limit, or the product of 0 and an infinity, as in PyTorch.
NAN_AT_INFINITY = {
    "sin", "cos", "tan", "frac", "silu", "mish", "gelu", "gelu(tanh)", "softsign", "hardswish",
    "softmax", "log_softmax", "logsumexp", "cross_entropy",
    "binary_cross_entropy_with_logits 0", "binary_cross_entropy_with_logits 1", "SoftMarginLoss",
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
@np.errstate(all="ignore")
def test_infinities_nan_and_negative_zero(name: str) -> None:
    reference, function = REFERENCES[name], FUNCTIONS.get(name) or getattr(ops, name)
    low, high = reference.low, reference.high
    limits = {
        end: float(np.clip(float(mp.sign(limit) * min(abs(limit), 1e3)), -200, 200))
        for end in (-np.inf, np.inf)
        if low <= end <= high and name not in NAN_AT_INFINITY
        for limit in [reference.value(np.sign(end) * mp.mpf(10) ** 300)]
    }
    is_odd = low < 0 and reference.slope(mp.mpf(0)) > 0 and reference.value(mp.mpf(0)) == 0
    for dtype in DTYPES:
        value = floats(function(Tensor(np.array([np.nan, -0.0, -np.inf, np.inf], dtype))))
        assert np.isnan(value[0])
        if is_odd and name != "frac":
            assert value[1:2].tobytes() == np.array([-0.0]).tobytes()
        for end, actual in ((-np.inf, value[2]), (np.inf, value[3])):
            if end in limits:
                # More than 200 is infinite.
                expected = np.sign(limits[end]) * np.inf if abs(limits[end]) == 200 else limits[end]
                np.testing.assert_allclose(actual, expected, 4 * float(np.finfo(dtype).eps), 1e-30)
            elif end < low < 0 or high < end:
                assert np.isnan(actual)
