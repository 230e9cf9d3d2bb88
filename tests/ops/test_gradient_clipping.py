"""Properties of `clip_by_value` and `clip_by_global_norm`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, float32, ops
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


def test_clip_by_global_norm_keeps_shorter_gradients() -> None:
    gradients = (Tensor([3.0]), Tensor([[0.0, 4.0]]))
    for limit in (5, 5.5, 1e9):
        actual = ops.clip_by_global_norm(gradients, limit)
        assert [one.tolist() for one in actual] == [[3.0], [[0.0, 4.0]]]
    assert ops.clip_by_global_norm(Tensor([3.0, 4.0]), 2.5).tolist() == [1.5, 2.0]
    assert ops.clip_by_global_norm((Tensor([0.0]),))[0].tolist() == [0.0]
    assert ops.clip_by_global_norm([]) == ()


@given(several, st.floats(-3, 0, width=32), st.floats(0, 3, width=32))
def test_clip_by_value_equals_numpy_clip(gradients: list[Tensor], low: float, high: float) -> None:
    clipped = ops.clip_by_value(tuple(gradients), low, high)
    for one, ours in zip(gradients, clipped, strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), np.clip(one.asnumpy(), low, high))
    assert ops.clip_by_value(gradients[0], low, high).shape == gradients[0].shape


@pytest.mark.parametrize(
    ("x", "limit", "use_norm", "error", "message"),
    [
        (1, 1.0, None, TypeError, "argument 'x' must be a Tensor, or a list or tuple of Tensors"),
        ((Tensor([1.0]), 2), 1.0, None, TypeError, ".*list or tuple of Tensors, but got"),
        ([Tensor([1.0])], 0, None, ValueError, "argument 'clip_norm' must be > 0, but got 0.0"),
        ([Tensor([1.0])], "1", None, TypeError, "type of 'clip_norm' must be one of"),
        ([Tensor([1.0])], 1.0, 2.0, ValueError, "argument 'use_norm' must be None, got 2.0"),
    ],
)
def test_invalid_arguments_raise(
    x: object, limit: object, use_norm: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"For 'clip_by_global_norm', the {message}"):
        ops.clip_by_global_norm(x, limit, use_norm)  # type: ignore[call-overload]


def test_bounds_of_values_are_needed() -> None:
    with pytest.raises(TypeError, match="For 'clip_by_value', the argument 'x'"):
        ops.clip_by_value(3, 0, 1)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="at least one of 'min' and 'max' must be given"):
        ops.clip_by_value(Tensor([1.0]))
