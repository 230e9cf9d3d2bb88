"""Normalization layers: derivatives, dtypes, running statistics."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, ops
from tests.helpers.floats import floats


def test_float16_is_normalized_in_float32() -> None:
    x = 1000 * ops.ones((400, 1, 4, 4), ms.float16)
    x[0] = 1001
    layer = nn.BatchNorm2d(1).set_train()
    y = layer(x)
    assert y.dtype is ms.float16
    assert y[0].asnumpy().max() == pytest.approx(np.sqrt(399), rel=2e-3)
    assert layer.moving_mean.item() == pytest.approx(100.00025, rel=1e-6)


@given(
    shape=st.sampled_from([(4, 3), (3, 2, 3), (2, 2, 2, 3)]),
    seed=st.integers(0, 2**32 - 1),
    momentum=st.sampled_from([0.0, 0.25, 0.9, 1.0]),
    affine=st.booleans(),
    training=st.booleans(),
    use_batch_statistics=st.none() | st.booleans(),
)
def test_batch_norm_equals_its_formula(
    shape: tuple[int, ...],
    seed: int,
    momentum: float,
    affine: bool,
    training: bool,
    use_batch_statistics: bool | None,
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, shape)
    gamma, beta, mean, variance = rng.uniform(0.5, 2.0, (4, shape[1]))
    layer = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(
        shape[1],
        1e-3,
        momentum,
        affine,
        gamma_init=Tensor(gamma),
        beta_init=Tensor(beta),
        moving_mean_init=Tensor(mean),
        moving_var_init=Tensor(variance),
        use_batch_statistics=use_batch_statistics,
        dtype=ms.float64,
    ).set_train(training)
    frozen = [False, False, affine, affine]
    assert [p.requires_grad for p in layer.get_parameters()] == frozen
    axes, count = (0, *range(2, len(shape))), x.size // shape[1]
    if training if use_batch_statistics is None else use_batch_statistics:
        center, spread = x.mean(axes), x.var(axes)
        mean = momentum * mean + (1 - momentum) * center
        variance = momentum * variance + (1 - momentum) * spread * count / (count - 1)
    else:
        center, spread = mean, variance
    column = (-1, *[1] * (len(shape) - 2))
    scale = (gamma / np.sqrt(spread + 1e-3)).reshape(column)
    expected = (x - center.reshape(column)) * scale + beta.reshape(column)
    np.testing.assert_allclose(floats(layer(Tensor(x))), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(floats(layer.moving_mean), mean, rtol=1e-12)
    np.testing.assert_allclose(floats(layer.moving_variance), variance, rtol=1e-12)
    assert layer.gamma.tolist() == gamma.tolist()


@given(st.integers(0, 3), st.integers(0, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_layer_norm_equals_its_formula(
    norm_axis: int, params_axis: int, from_the_end: bool, seed: int
) -> None:
    shape = (2, 3, 2, 4)
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, shape)
    gamma, beta = rng.uniform(0.5, 2.0, (2, *shape[params_axis:]))
    first = -1 if from_the_end and norm_axis == 3 else norm_axis
    initial = (Tensor(gamma), Tensor(beta))
    layer = nn.LayerNorm(shape[params_axis:], first, params_axis, *initial, 1e-3, ms.float64)
    axes = tuple(range(norm_axis, 4))
    center, spread = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    expected = (x - center) / np.sqrt(spread + 1e-3) * gamma + beta
    np.testing.assert_allclose(floats(layer(Tensor(x))), expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 2), st.sampled_from([1, 2, 4]), st.integers(0, 2**32 - 1))
@example(0, 2, 0)
@example(2, 2, 0)
def test_group_norm_equals_its_formula(count: int, groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(3.0, 2.0, (count, 4, 2, 3))
    layer = nn.GroupNorm(groups, 4, 1e-3, dtype=ms.float64)
    gamma, beta = rng.uniform(0.5, 2.0, (2, 4))
    layer.gamma.set_data(Tensor(gamma))
    layer.beta.set_data(Tensor(beta))
    grouped = x.reshape(count, groups, 4 // groups, 2, 3)
    center, spread = (f((2, 3, 4), keepdims=True) for f in (grouped.mean, grouped.var))
    expected = ((grouped - center) / np.sqrt(spread + 1e-3)).reshape(x.shape)
    expected = expected * gamma.reshape(4, 1, 1) + beta.reshape(4, 1, 1)
    np.testing.assert_allclose(floats(layer(Tensor(x))), expected, rtol=1e-9, atol=1e-9)
