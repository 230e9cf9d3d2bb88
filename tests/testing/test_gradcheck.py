"""gradcheck and gradgradcheck: correct gradients pass, and each kind of error is reported."""

from collections.abc import Callable
from itertools import count
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Parameter, Tensor, nn, ops
from minispore.common import dtype as mstype
from minispore.engine.array import Array
from minispore.testing import GradientError, _gradcheck, gradcheck, gradgradcheck

Floats = npt.NDArray[np.float64]


@given(st.sampled_from([2.0**-52, 1e-9, 1.0]))
def test_changed_inputs_are_reported(step: float) -> None:
    def moves(x: Tensor) -> Tensor:
        flat = x - x
        x.add_(step)
        return flat

    with pytest.raises(GradientError, match=r"The function 'moves' changes its input 0\.$"):
        gradcheck(moves, Tensor(np.array([1.0, 1.5])))


def wrong(change: Callable[[Floats], Floats]) -> Callable[[Tensor], Tensor]:
    """Return the identity with a modified gradient."""

    def rule(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
        return x, (cast("Callable[[Array], Array]", change),)

    return lambda x: ops.apply_rule(rule, x)


# Gradients of the identity of a vector that are wrong in all cotangents but some.
WRONG_RULES: dict[str, Callable[[Floats], Floats]] = {
    "zero": lambda g: 0 * g,
    "negated": lambda g: -g,
    "reversed": lambda g: g[::-1],
    "mean": lambda g: 0 * g + g.mean(),
    "absolute": abs,
    "second element": lambda g: g * np.array([1.0, 2.0]),
}


@given(st.sampled_from(sorted(WRONG_RULES)), st.floats(-9, 9))
def test_wrong_rules_are_reported(name: str, value: float) -> None:
    with pytest.raises(GradientError, match="by input 0, a Float64 tensor of shape .2,., is wrong"):
        gradcheck(wrong(WRONG_RULES[name]), Tensor(np.array([value, 1.0])))


def first(gradient: Floats) -> Floats:
    return gradient[:1]


def as_float32(gradient: Floats) -> npt.NDArray[np.float32]:
    return gradient.astype(np.float32)


@pytest.mark.parametrize("change", [first, as_float32])
def test_rules_with_gradients_of_another_shape_or_dtype_are_refused(
    change: Callable[[Floats], Floats],
) -> None:
    with pytest.raises((TypeError, ValueError), match="^For 'apply_rule', the pullback 0 of the"):
        gradcheck(wrong(change), Tensor(np.array([1.0, 2.0])))


# A relative error that is tolerated, and the smallest one that must be found.
RELATIVE = {mstype.float16: (0.2, 3.0), mstype.float32: (5e-3, 0.02), mstype.float64: (1e-6, 4e-6)}


@given(st.sampled_from(list(RELATIVE)), st.sampled_from([1, -1]))
def test_smallest_relative_errors_are_found(dtype: mstype.DType, sign: int) -> None:
    tolerated, found = RELATIVE[dtype]
    x = Tensor(np.ones(1), dtype)
    gradcheck(wrong(lambda g: g * (1 + sign * tolerated)), x)
    with pytest.raises(GradientError):
        gradcheck(wrong(lambda g: g * (1 + sign * found)), x)


@given(st.sampled_from(list(RELATIVE)), st.sampled_from(list(RELATIVE)), st.integers(0, 9))
def test_mixed_dtypes_have_the_tolerance_of_the_least_precise(
    dtype: mstype.DType, other: mstype.DType, seed: int
) -> None:
    def converted(x: Tensor) -> Tensor:
        return x.astype(other) * 3

    x = Tensor(np.random.default_rng(seed).uniform(1, 2, 2), dtype)
    gradcheck(converted, x)
    if mstype.float16 not in {dtype, other}:
        with pytest.raises(GradientError):
            gradcheck(lambda x: wrong(lambda g: -g)(x).astype(other) * 3, x)


@given(st.sampled_from(list(RELATIVE)), st.integers(1, 1000))
def test_steps_are_those_between_rounded_inputs(dtype: mstype.DType, value: int) -> None:
    """The differences of the outputs are exact here, those of the inputs are not."""
    gradcheck(lambda x: x - value, Tensor(np.full(3, value), dtype))


@given(st.floats(1e-5, 1e-2), st.sampled_from([1, -1]))
def test_a_given_tolerance_replaces_the_default(tolerance: float, sign: int) -> None:
    x = Tensor(np.ones(1))
    gradcheck(wrong(lambda g: g * (1 + sign * tolerance)), x, tolerance=tolerance)
    with pytest.raises(GradientError):
        gradcheck(wrong(lambda g: g * (1 + sign * 3 * tolerance)), x, tolerance=tolerance)


@given(st.integers(4, 10), st.sampled_from([1, -1]))
def test_errors_beyond_the_rounding_of_the_outputs_are_found(digits: int, sign: int) -> None:
    """A great constant makes the differences inexact, but not much more than it must."""
    constant = 10.0**digits
    rounding = float(np.spacing(constant) / np.cbrt(np.finfo(float).eps))
    x = Tensor(np.ones(1))
    gradcheck(lambda x: x + constant, x)
    with pytest.raises(GradientError):
        gradcheck(lambda x: wrong(lambda g: g * (1 + sign * 300 * rounding))(x) + constant, x)


def scaled_sum(factors: Floats) -> Callable[[Tensor], Tensor]:
    """Return the sum with a gradient that is scaled element by element."""
    identity = wrong(lambda g: g * factors)
    return lambda x: identity(x).sum()


def test_an_error_in_any_element_of_many_is_found() -> None:
    """It is too small to be found in each random direction, but found in one of three."""
    size = 64
    for i in range(size):
        factors = np.ones(size)
        factors[i] = 11.0
        with pytest.raises(GradientError, match="is wrong"):
            gradcheck(scaled_sum(factors), Tensor(np.ones(size)), tolerance=0.01)


@given(st.sampled_from([1e-15, 1e-9, 1.0]))
def test_functions_that_are_not_deterministic_are_reported(step: float) -> None:
    calls = count()
    with pytest.raises(GradientError, match="is not deterministic"):
        gradcheck(lambda x: x + step * next(calls), Tensor(np.ones(2)))


TYPES = st.sampled_from([mstype.float16, mstype.float32, mstype.float64])


RIGHT: list[Callable[[Tensor, Tensor], object]] = [
    lambda x, y: x * y + ops.exp(x),
    lambda x, y: ops.matmul(x, y.T),
    lambda x, y: (ops.tanh(x), [ops.sum(y) * x]),
    lambda x, y: {"sum": x - 2 * y, "places": ops.argmax(x)},
    lambda x, y: ops.concat((x, y), 1)[:, 1:],
    lambda x, y: 1000.0 * x + y / 1000,
]


def point(seed: int, dtype: mstype.DType) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return [Tensor(rng.uniform(-1, 1, (2, 3)), dtype) for _ in range(2)]


@given(st.sampled_from(RIGHT), TYPES, st.integers(0, 99))
def test_correct_gradients_pass(
    fn: Callable[[Tensor, Tensor], object], dtype: mstype.DType, seed: int
) -> None:
    gradcheck(fn, point(seed, dtype))
    gradgradcheck(fn, point(seed, dtype))


ZEROS, EQUAL = [0.0, 0.0], [1.3] * 5
# Functions whose values, or whose first derivatives, are 0 at a point.
FLAT: dict[str, tuple[Callable[[Tensor], Tensor], list[float]]] = {
    "x³": (lambda x: x**3, ZEROS),
    "x³ near 0": (lambda x: x**3, [1e-5, 2e-6]),
    "x⁴": (lambda x: x**4, ZEROS),
    "x⁵": (lambda x: x**5, ZEROS),
    "x³ of a sum": (lambda x: x.sum() ** 3, [0.1, 0.2, -0.3]),
    "tanhshrink": (ops.tanhshrink, ZEROS),
    "x − sin x": (lambda x: x - ops.sin(x), ZEROS),
    "a million times x − sin x": (lambda x: (x - ops.sin(x)) * 1e6, ZEROS),
    "1 − cos x": (lambda x: 1 - ops.cos(x), ZEROS),
    "exp x − 1 − x": (lambda x: ops.expm1(x) - x, ZEROS),
    "product": (ops.prod, [0.0, 0.0, 0.7]),
    "variance": (lambda x: x.var(), EQUAL),
    "a million times the variance": (lambda x: x.var() * 1e6, EQUAL),
}


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correct_gradients_pass_where_the_output_is_zero(
    name: str, dtype: type[np.floating]
) -> None:
    fn, at = FLAT[name]
    x = Tensor(np.array(at, dtype))
    gradcheck(fn, x)
    gradgradcheck(fn, x)


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("sign", [1, -1])
def test_small_errors_are_found_where_the_output_is_zero(name: str, sign: int) -> None:
    """The errors are those of a step of 6e-6, of which a function of this size has 4e-11."""
    fn, at = FLAT[name]
    size = 1e6 if "million" in name else 1.0

    def wrong(x: Tensor) -> Tensor:
        return fn(x) + (ops.stop_gradient(x) - x) * (1e-9 * sign * size)

    with pytest.raises(GradientError):
        gradcheck(wrong, Tensor(np.array(at)))


@pytest.mark.parametrize("dtype", RELATIVE)
def test_smallest_relative_errors_are_found_where_the_output_is_zero(dtype: mstype.DType) -> None:
    with pytest.raises(GradientError):
        gradcheck(wrong(lambda g: g * (1 + RELATIVE[dtype][1])), ops.zeros(1, dtype))


@given(st.floats(-1, 1), st.sampled_from([(mstype.float32, 5e-3), (mstype.float64, 6e-6)]))
def test_a_missing_gradient_is_found_near_a_kink(
    steps: float, precision: tuple[mstype.DType, float]
) -> None:
    """The differences change with the step there, but not by as much as the gradient."""
    dtype, step = precision
    x = Tensor(np.array([steps * step]), dtype)
    with pytest.raises(GradientError):
        gradcheck(lambda x: ops.relu(x) - 2 * ops.stop_gradient(x), x)


@given(st.sampled_from(RIGHT), st.integers(0, 99), st.floats(-3, 3).filter(lambda a: abs(a) > 0.1))
def test_a_single_wrong_element_is_reported(
    fn: Callable[[Tensor, Tensor], object], seed: int, factor: float
) -> None:
    """A term without gradient is added to one element of one input."""

    def wrong(x: Tensor, y: Tensor) -> object:
        return fn(x, y), ops.stop_gradient(x)[1, 2] * factor

    with pytest.raises(GradientError) as raised:
        gradcheck(wrong, point(seed, mstype.float64))
    assert "by input 0, a Float64 tensor of shape (2, 3), is wrong." in str(raised.value)
    assert "By its element [1, 2], for element [] of output" in str(raised.value)
    assert "differentiation says 0.0" in str(raised.value)
    assert f"central differences say {factor:.6}." in str(raised.value)


def test_errors_beyond_the_element_search_are_reported() -> None:
    def wrong(x: Tensor) -> Tensor:
        return x.sum() + ops.stop_gradient(x)[_gradcheck._MAX_ELEMENTS]

    x = Tensor(np.zeros(_gradcheck._MAX_ELEMENTS + 1))
    with pytest.raises(GradientError, match=r"wrong\.\nFor a random sum:"):
        gradcheck(wrong, x)


Bprop = Callable[[Tensor, Tensor], Tensor]


class Cube(nn.Cell):
    def __init__(self, derivative: Bprop) -> None:
        super().__init__()
        self.derivative = derivative

    def construct(self, x: Tensor) -> Tensor:
        return x * x * x

    def bprop(self, x: Tensor, out: Tensor, dout: Tensor) -> tuple[Tensor]:
        return (self.derivative(x, dout),)


def test_correct_derivatives_of_a_cell_pass() -> None:
    right = Cube(lambda x, dout: 3.0 * x * x * dout)
    gradcheck(right, Tensor(np.array([0.5, -1.0, 3.0])))
    gradgradcheck(right, Tensor(np.array([0.5, -1.0, 3.0])))


def test_a_wrong_derivative_is_reported_with_both_values() -> None:
    with pytest.raises(GradientError) as raised:
        gradcheck(Cube(lambda x, dout: 2.0 * x * x * dout), Tensor(np.array([1.0, 3.0])))
    assert str(raised.value).splitlines() == [
        "The gradient of 'Cube' by input 0, a Float64 tensor of shape (2,), is wrong.",
        "By its element [0], for element [0] of the output:",
        "    differentiation says 2.0,",
        "    central differences say 3.0.",
    ]


@pytest.mark.parametrize(
    ("derivative", "place"),
    [
        (lambda x, dout: ops.stop_gradient(dout) * 3.0 * x * x, "by u0, a"),
        (lambda x, dout: dout * 3.0 * ops.stop_gradient(x * x), "by input 0"),
    ],
)
def test_wrong_second_derivatives_are_reported(derivative: Bprop, place: str) -> None:
    """Of the operand, and of the cotangent, which is taken for a constant."""
    x = Tensor(np.array([1.0, 3.0]))
    gradcheck(Cube(derivative), x)
    with pytest.raises(GradientError, match=f"the gradient of 'Cube' {place}"):
        gradgradcheck(Cube(derivative), x)


@pytest.mark.parametrize("dtype", [mstype.float32, mstype.float64])
def test_cell_parameters_are_checked(dtype: mstype.DType) -> None:
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Sigmoid(), nn.Dense(4, 2))
    before = {p.name: p.asnumpy().copy() for p in net.get_parameters()}
    x = point(1, dtype)[0]
    gradcheck(net, x)
    gradgradcheck(net, x)
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    gradcheck(loss, [x, Tensor([0, 1])])
    for p in net.get_parameters():
        np.testing.assert_array_equal(p.asnumpy(), before[p.name])

    class Scaled(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = Parameter(Tensor([2.0]), name="scale")

        def construct(self, x: Tensor) -> Tensor:
            return x * ops.stop_gradient(self.scale)

    with pytest.raises(GradientError, match="by parameter 'scale', a Float32 tensor"):
        gradcheck(Scaled(), x)


def test_weights_of_functions_are_checked() -> None:
    weight = Parameter(Tensor([2.0]), name="w")
    gradcheck(lambda x: x * weight, Tensor([1.0]), weights=[weight])
    gradcheck(lambda: ops.exp(weight), [], weights=[weight])
    constant = pytest.warns(UserWarning, match="gradients are all zero")
    with constant, pytest.raises(GradientError, match="by parameter 'w'"):
        gradcheck(lambda: ops.stop_gradient(weight), [], weights=[weight])


def test_functions_without_a_derivative_are_named() -> None:
    with pytest.raises(TypeError, match="'argmax' returns no tensor of floating point"):
        gradcheck(ops.argmax, Tensor(np.ones(2)))
    with pytest.raises(GradientError, match="'Dropout' is not deterministic"):
        gradcheck(nn.Dropout(p=0.5).set_train(), Tensor(np.ones(50)))


def test_empty_inputs_pass() -> None:
    gradcheck(lambda x: 2 * x, Tensor(np.zeros((0, 3))))
