"""Properties of `clip_by_value` and `clip_by_global_norm`."""

import math

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore import Tensor, float16, float32, float64, ops, value_and_grad
from minispore.common.dtype import DType
from minispore.testing.strategies import tensors

several = st.lists(tensors(float32), min_size=1, max_size=4)


@given(several, st.floats(0.015625, 100, width=32))
def test_clip_by_global_norm_scales_to_the_limit(gradients: list[Tensor], limit: float) -> None:
    arrays = [g.asnumpy().astype(np.float64) for g in gradients]
    length = np.sqrt(sum(float((a**2).sum()) for a in arrays))
    clipped = ops.clip_by_global_norm(gradients, limit)
    assert len(clipped) == len(gradients)
    for array, ours in zip(arrays, clipped, strict=True):
        expected = array * (limit / max(length, limit))
        np.testing.assert_allclose(
            ours.asnumpy().astype(np.float64), expected, rtol=2e-5, atol=1e-30
        )


@given(
    st.lists(st.sampled_from([0.0, 0.0, 1.0, -3.0, 2.0**-70]), min_size=1, max_size=4),
    st.sampled_from([0.5, 2.0, 1e30, math.inf]),
    st.sampled_from([float16, float32, float64]),
    st.integers(0, 99),
)
@example([0.0, 0.0], 1.0, float32, 0)
@example([1.0, -3.0], math.inf, float32, 0)
def test_derivative_of_clipping_is_that_of_its_formula(
    elements: list[float], limit: float, dtype: DType, seed: int
) -> None:
    """Also at zero, and without a limit."""
    x = np.array(elements, dtype.numpy_dtype)
    weights = np.random.default_rng(seed).integers(-2, 3, len(x)).astype(dtype.numpy_dtype)

    def loss(x: Tensor) -> Tensor:
        return (ops.clip_by_global_norm(x, limit) * Tensor(weights)).sum()

    exact, of_loss = x.astype(np.float64), weights.astype(np.float64)
    length = float(np.linalg.norm(exact))
    assume(length != limit)
    clipped, expected = exact, of_loss
    if length > limit:
        clipped = exact * (limit / length)
        expected = (of_loss - exact * (exact @ of_loss) / length**2) * (limit / length)
    tolerance = 20 * float(np.finfo(dtype.name).eps)
    for actual, correct in (
        (ops.clip_by_global_norm(Tensor(x), limit), clipped),
        (ops.grad(loss)(Tensor(x)), expected),
    ):
        np.testing.assert_allclose(
            actual.asnumpy().astype(np.float64), correct, rtol=tolerance, atol=tolerance
        )


def test_clip_by_global_norm_keeps_shorter_gradients() -> None:
    gradients = (Tensor([3.0]), Tensor([[0.0, 4.0]]))
    for limit in (5, 5.5, 1e9):
        actual = ops.clip_by_global_norm(gradients, limit)
        assert [one.tolist() for one in actual] == [[3.0], [[0.0, 4.0]]]
    assert ops.clip_by_global_norm(Tensor([3.0, 4.0]), 2.5).tolist() == [1.5, 2.0]
    assert ops.clip_by_global_norm((Tensor([0.0]),))[0].tolist() == [0.0]
    assert ops.clip_by_global_norm([]) == ()


@given(
    st.lists(st.integers(-4, 4), min_size=1, max_size=4),
    st.sampled_from([0.3, 4.7, 1e9, 1e30, float("inf")]),
)
def test_clip_by_global_norm_has_its_derivative_also_at_zero(x: list[int], limit: float) -> None:
    point, weights = np.array(x, float), np.arange(1.0, len(x) + 1)

    def weighted(x: Tensor) -> Tensor:
        return ops.sum(ops.clip_by_global_norm(x, limit) * Tensor(weights, x.dtype))

    length = float(np.sqrt(np.sum(point**2)))
    expected = weights
    if length > limit:
        along = point * np.sum(point * weights) / length**2
        expected = (weights - along) * (limit / length)
    for dtype in (float32, float64):
        value, gradient = value_and_grad(weighted)(Tensor(point, dtype))
        factor = limit / length if length > limit else 1.0
        np.testing.assert_allclose(value.item(), np.sum(point * weights) * factor, 1e-5, 1e-5)
        np.testing.assert_allclose(gradient.asnumpy(), expected, 1e-5, 1e-5)


@given(several, st.floats(-3, 0, width=32), st.floats(0, 3, width=32))
def test_clip_by_value_equals_numpy_clip(gradients: list[Tensor], low: float, high: float) -> None:
    clipped = ops.clip_by_value(tuple(gradients), low, high)
    for one, ours in zip(gradients, clipped, strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), np.clip(one.asnumpy(), low, high))
    assert ops.clip_by_value(gradients[0], low, high).shape == gradients[0].shape
