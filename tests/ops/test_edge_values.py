"""Values at the edges: infinite logits, large remainders, more degrees of freedom than elements."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, ops
from minispore.engine.rules import arithmetic
from minispore.engine.rules.elementwise import integer_power

finite = st.floats(-(2.0**100), 2.0**100, width=32)


@given(data=st.data(), classes=st.integers(2, 6))
def test_cross_entropy_ignores_classes_with_logit_minus_infinity(
    data: st.DataObject, classes: int
) -> None:
    logits = np.array(
        data.draw(st.lists(st.floats(-9, 9, width=32), min_size=classes, max_size=classes))
    )
    possible = data.draw(
        st.lists(st.integers(0, classes - 1), min_size=1, max_size=classes, unique=True)
    )
    target = data.draw(st.sampled_from(possible))
    masked = np.full(classes, -np.inf)
    masked[possible] = logits[possible]

    def loss(x: Tensor, label: int) -> Tensor:
        return ops.cross_entropy(ops.reshape(x, (1, -1)), Tensor([label], ms.int32))

    def loss_of_probabilities(x: Tensor, label: int) -> Tensor:
        rows = ops.reshape(x, (1, -1))
        return ops.cross_entropy(rows, Tensor(np.eye(x.size)[[label]]))

    for fn in (loss, loss_of_probabilities):
        by_logits = ms.value_and_grad(fn)
        value, gradient = by_logits(Tensor(masked), target)
        small, expected = by_logits(Tensor(logits[possible]), possible.index(target))
        # The sum of exponentials is rounded at the size of the logits.
        np.testing.assert_allclose(np.asarray(value, float), np.asarray(small, float), atol=1e-13)
        actual = np.asarray(gradient, float)
        np.testing.assert_allclose(actual[possible], np.asarray(expected, float), atol=1e-12)
        assert not actual[np.isneginf(masked)].any()


def test_cross_entropy_of_impossible_class_is_infinite() -> None:
    logits = Tensor([[1.0, float("-inf"), 2.0]])
    assert ops.cross_entropy(logits, Tensor([1], ms.int32)).item() == np.inf
    smoothed = ops.cross_entropy(logits, Tensor([0], ms.int32), label_smoothing=0.1)
    assert smoothed.item() == np.inf


@given(x=finite, y=finite)
def test_remainder_is_exact(x: float, y: float) -> None:
    assume(y)
    a, b = Tensor([x], ms.float32), Tensor([y], ms.float32)
    expected = np.remainder(np.float32(x), np.float32(y))
    for actual in (ops.remainder(a, b), a % b, a % y, x % b):
        assert actual.item() == expected
    assert abs(expected) <= abs(y)


@given(x=st.floats(-100, 100), y=st.floats(-20, 20))
def test_remainder_gradients(x: float, y: float) -> None:
    assume(abs(y) > 1e-3)
    a, b = Tensor(np.float64(x)), Tensor(np.float64(y))

    def remainder(a: Tensor, b: Tensor) -> Tensor:
        return a % b

    by_x, by_y = ms.grad(remainder, (0, 1))(a, b)
    assert by_x.item() == 1
    assert by_y.item() == -np.floor_divide(x, y)
    # It is piecewise linear in both.
    second = ms.grad(lambda a, b: ms.grad(remainder, 1)(a, b) * a, 0)(a, b)
    assert second.item() == -np.floor_divide(x, y)


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply:RuntimeWarning")
@given(
    values=st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=5),
    ddof=st.integers(0, 8),
)
def test_variance_is_not_negative(values: list[float], ddof: int) -> None:
    x = Tensor(values, ms.float64)
    if ddof < len(values):
        assert ops.var(x, ddof=ddof).item() >= 0
        return
    for name in ("var", "std"):
        with pytest.warns(UserWarning, match=f"For '{name}', the argument 'ddof'") as caught:
            value = getattr(ops, name)(x, ddof=ddof).item()
        assert caught[0].filename == __file__
        assert value == np.inf or np.isnan(value)


@given(st.lists(st.integers(0, 3), max_size=2).map(tuple))
def test_product_of_no_elements_is_one(shape: tuple[int, ...]) -> None:
    def total(x: Tensor) -> Tensor:
        return ops.prod(x, 0).sum()

    x = ops.ones((0, *shape))
    assert ops.prod(x, 0).tolist() == ops.ones(shape).tolist()
    assert ms.grad(total)(x).shape == x.shape


@given(st.integers(3, 9) | st.integers(-9, -4))
def test_scatter_beyond_the_axis_names_itself(index: int) -> None:
    with pytest.raises(IndexError, match="^For 'scatter', "):
        ops.scatter(ops.zeros((3,)), 0, Tensor([index]), 1.0)


@pytest.mark.parametrize("exponent", [*range(-18, 0), *range(2, 19), 4.0, 0.5])
def test_whole_powers_are_products_of_few_roundings(exponent: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2, 1000).astype(np.float32)
    rules: list[object] = []

    def power(x: Tensor) -> Tensor:
        y = x**exponent
        rules.append(y._node and y._node.rule)
        return y

    is_whole = exponent == round(exponent) and abs(exponent) <= 16
    for base in (x, -x) if is_whole else (x,):
        exact = base.astype(np.float64)
        value, gradient = ms.value_and_grad(power)(Tensor(base))
        roundings = 2.0**-24 * (abs(exponent) + 3)
        np.testing.assert_allclose(value.asnumpy(), exact**exponent, rtol=roundings)
        slope = exponent * exact ** (exponent - 1)
        np.testing.assert_allclose(gradient.asnumpy(), slope, rtol=roundings)
        assert rules == [integer_power if is_whole else arithmetic.pow] * len(rules)


@pytest.mark.parametrize("others", [[], [0.0, 3.0], [-math.inf]])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_logsumexp_of_numbers_that_are_not_finite_is_that_of_the_sum(
    value: float, others: list[float]
) -> None:
    x = np.array([value, *others], np.float32)
    with np.errstate(divide="ignore"):  # the logarithm of 0
        expected, actual = np.log(np.exp(x).sum()), ops.logsumexp(Tensor(x), 0)
    np.testing.assert_array_equal(actual.asnumpy().round(5), expected.round(5))
