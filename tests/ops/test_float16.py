"""Sums of float16 are computed in float32: only the result is rounded or overflows."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Tensor, nn, ops

Floats = NDArray[np.float64]
LABELS = Tensor(np.arange(4, dtype=np.int32))


def layer_norm(x: Tensor) -> Tensor:
    return nn.LayerNorm((8,), dtype=x.dtype)(x)


def batch_norm(x: Tensor) -> Tensor:
    # With momentum 1, the running statistics, which may overflow in float16, do not change.
    return nn.BatchNorm1d(8, dtype=x.dtype, eps=1e-3, momentum=1.0).set_train()(x)


# Functions of a (4, 8) tensor; at 1,000 a sum of squares overflows in float16.
OPERATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "LayerNorm": layer_norm,
    "BatchNorm1d": batch_norm,
    "layer_norm": lambda x: ops.layer_norm(x, (8,)),
    "std": lambda x: ops.std(x, 1, ddof=1),
    "var": lambda x: ops.var(x / 16.0, 0),
    "norm": lambda x: ops.norm(x, dim=1),
    "norm 3": lambda x: ops.norm(x, 3, 0),
    "norm of a matrix": lambda x: ops.norm(x, "fro"),
    "softmax": lambda x: ops.softmax(x / 64.0, 0),
    "log_softmax": lambda x: ops.log_softmax(x / 64.0),
    "logsumexp": lambda x: ops.logsumexp(x / 64.0, 1),
    "sum": lambda x: ops.sum(x, 1),
    "mean": ops.mean,
    "cumsum": lambda x: ops.cumsum(x, 1),
    "pow": lambda x: (x / 512.0) ** 7,
    "avg_pool2d": lambda x: ops.avg_pool2d(ops.reshape(x, (1, 1, 4, 8)), 4, 4),
    "cross_entropy": lambda x: ops.cross_entropy(x / 64.0, LABELS),
    "clip_by_global_norm": lambda x: ops.clip_by_global_norm((x,), 1.0)[0],
}

halves = st.builds(
    lambda seed, scale: (
        np.random.default_rng(seed).normal(0, scale, (4, 8)).clip(-2000, 2000).astype(np.float16)
    ),
    st.integers(0, 2**31),
    st.sampled_from([1.0, 300.0, 1000.0]),
)


def close(actual: Tensor, expected: Tensor) -> None:
    """Assert that `actual` is `expected` rounded to float16, and computed with float16 inputs."""
    assert actual.dtype == ms.float16
    exact = np.asarray(expected, np.float64)
    scale = np.abs(exact).max(initial=1e-3)
    np.testing.assert_allclose(
        np.asarray(actual, np.float64), exact, rtol=2**-9, atol=scale * 2**-8
    )


@pytest.mark.parametrize("name", OPERATIONS)
@given(array=halves)
def test_float16_value_is_the_rounded_float64_value(name: str, array: NDArray[np.float16]) -> None:
    operation = OPERATIONS[name]
    close(operation(Tensor(array)), operation(Tensor(array, ms.float64)))


@pytest.mark.parametrize("name", OPERATIONS)
@given(array=halves)
def test_float16_gradient_is_the_rounded_float64_gradient(
    name: str, array: NDArray[np.float16]
) -> None:
    operation = OPERATIONS[name]

    def weighted(x: Tensor) -> Tensor:
        y = operation(x)
        weights = np.linspace(1, 2, y.size).reshape(y.shape)
        return ops.sum(y * Tensor(weights, y.dtype) / 64.0)

    close(ms.grad(weighted)(Tensor(array)), ms.grad(weighted)(Tensor(array, ms.float64)))


def test_float16_sums_do_not_overflow_or_stagnate() -> None:
    alternating = Tensor(np.array([60000, 60000, -60000, -60000], np.float16))
    assert ops.sum(alternating).item() == 0
    ones = Tensor(np.ones(4000, np.float16))
    assert ops.cumsum(ones, 0)[-1].item() == 4000
    large = Tensor(np.full((1, 1, 300, 300), 1000, np.float16))
    assert ops.avg_pool2d(large, 300, 300).item() == 1000
    assert ops.softmax(Tensor(np.ones(70000, np.float16)))[0].item() == np.float16(1 / 70000)
