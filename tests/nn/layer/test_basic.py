"""Dense, Flatten and Dropout: arguments, initial values, random masks, repr, errors."""

import warnings
from math import prod, sqrt
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import Tensor, nn, ops, set_seed
from minispore.common.initializer import Initializer
from tests.helpers.floats import floats
from tests.helpers.randomness import assert_frequency, assert_uniform

X = ops.ones((1, 3))


def test_dense_arguments() -> None:
    weight = Tensor(np.ones((3, 2), np.float32))
    layer = nn.Dense(2, 3, weight, "zeros")
    assert (layer.weight == weight).all()
    assert layer.weight is not weight
    assert nn.Dense(2, 3, 0.5).weight.asnumpy().tolist() == [[0.5, 0.5]] * 3
    assert nn.Dense(2, 3, has_bias=False).bias is None
    half = nn.Dense(2, 3, dtype=ms.float16)
    assert half.weight.dtype is ms.float16
    assert half(ops.ones((1, 2), ms.float16)).dtype is ms.float16
    tanh = nn.Tanh()
    assert nn.Dense(2, 3, activation=tanh).activation is tanh

    class Four(Initializer):
        def _initialize(self, arr: object) -> None:
            arr[:] = 4  # type: ignore[index]

    assert (nn.Dense(2, 2, Four()).weight == 4).all()


seeds = st.integers(0, 2**32 - 2)


@pytest.mark.full
@given(st.integers(1, 400), seeds)
def test_initial_weights_and_biases_are_uniform(inputs: int, seed: int) -> None:
    set_seed(seed)
    layer = nn.Dense(inputs, 2000)
    assert layer.bias is not None
    weights = floats(layer.weight)
    for values in (weights[:, : 10_000 // inputs or 1], floats(layer.bias)):
        assert_uniform(values, 1 / sqrt(inputs))
    assert not np.array_equal(nn.Dense(inputs, 2000).weight.asnumpy(), weights)
    set_seed(seed)
    assert np.array_equal(nn.Dense(inputs, 2000).weight.asnumpy(), weights)


@given(st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.booleans(), seeds)
def test_dropout_drops_elements_independently(p: float, older_form: bool, seed: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a low 'keep_prob'
        layer = (nn.Dropout(keep_prob=1 - p) if older_form else nn.Dropout(p=p)).set_train()
    x = ops.ones((100, 100))
    set_seed(seed)
    y, again = layer(x).asnumpy(), layer(x).asnumpy()
    assert set(np.unique(y).tolist()) == {0.0, np.float32(1 / (1 - p))}
    dropped = y == 0
    assert_frequency(dropped, p)
    # Neighbours in a row and in a column, and the same element in two calls, are independent.
    assert_frequency(dropped[::2] & dropped[1::2], p**2)
    assert_frequency(dropped[:, ::2] & dropped[:, 1::2], p**2)
    assert_frequency(dropped & (again == 0), p**2)
    # The same seed gives the same mask, which is that of the gradient, too.
    set_seed(seed)
    assert np.array_equal(layer(x).asnumpy(), y)
    set_seed(seed)
    assert np.array_equal(ms.grad(lambda x: layer(x).sum())(x).asnumpy(), y)
    set_seed(seed + 1)
    assert not np.array_equal(layer(x).asnumpy(), y)
    assert layer.set_train(False)(x) is x


@given(st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]), seeds, st.sampled_from([(6,), (2, 3)]))
def test_dropout2d_drops_channels_independently(
    p: float, seed: int, shape: tuple[int, ...]
) -> None:
    set_seed(seed)
    y = nn.Dropout2d(p).set_train()(ops.ones((50, 40, *shape))).asnumpy().reshape(50, 40, 2, 3)
    assert (y == y[:, :, :1, :1]).all()
    dropped = y[:, :, 0, 0] == 0
    assert set(np.unique(y[y != 0]).tolist()) <= {np.float32(1 / (1 - min(p, 0.9)))}
    assert_frequency(dropped, p)
    assert_frequency(dropped[::2] & dropped[1::2], p**2)
    assert_frequency(dropped[:, ::2] & dropped[:, 1::2], p**2)
    x = ops.ones((2, 3, *shape))
    assert nn.Dropout2d(p).set_train(False)(x) is x
    assert ops.dropout2d(x[0, 0], p, training=False).tolist() == x[0, 0].tolist()
    with pytest.raises(ValueError, match="^For 'dropout2d', the argument 'input' must have 3 or 4"):
        ops.dropout2d(x.reshape(2, -1), p)


@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric"])
def test_pad_equals_numpys(mode: Literal["constant", "reflect", "symmetric"]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    paddings = ((1, 0), (1, 2))
    expected = np.pad(x, paddings, mode)
    assert nn.Pad(paddings, mode.upper())(Tensor(x)).tolist() == expected.tolist()


@given(st.floats(0.01, 1))
def test_low_keep_prob_warns(keep_prob: float) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nn.Dropout(keep_prob)
    assert [f"write p={keep_prob};" in str(each.message) for each in caught] == [True] * (
        keep_prob < 0.5
    )


def test_dropout_of_nothing_returns_its_input() -> None:
    x = ops.ones((3, 2))
    for layer in (nn.Dropout(keep_prob=1.0), nn.Dropout(p=0.0)):
        assert layer.set_train()(x) is x
    with pytest.raises(TypeError, match="float"):
        nn.Dropout().set_train()(ops.ones(3, ms.int32))


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.integers(-4, 3), st.integers(-4, 3))
@example([3], 1, -1)
def test_flatten_merges_axes(shape: list[int], start: int, end: int) -> None:
    first, last = (i if i >= 0 else i + len(shape) for i in (start, end))
    x = Tensor(np.arange(prod(shape)).reshape(shape))
    layer = nn.Flatten(start, end)
    if not 0 <= first <= last < len(shape):
        with pytest.raises(ValueError, match="For '[Ff]latten'"):
            layer(x)
        return
    merged = prod(shape[first : last + 1])
    expected = x.asnumpy().reshape(*shape[:first], merged, *shape[last + 1 :])
    assert np.array_equal(layer(x).asnumpy(), expected)


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (nn.Dense(2, 3, has_bias=False), "Dense(input_channels=2, output_channels=3)"),
        (
            nn.Dense(2, 3, activation="relu"),
            """Dense(
  input_channels=2, output_channels=3, has_bias=True, activation=ReLU()
  (activation): ReLU()
)""",
        ),
        (nn.Flatten(start_dim=2), "Flatten()"),
        (nn.Dropout(), "Dropout(keep_prob=0.5)"),
        (nn.Dropout(p=0.3), "Dropout(p=0.3)"),
    ],
)
def test_repr(layer: nn.Cell, text: str) -> None:
    assert repr(layer) == text


@given(st.sampled_from(["relu", "tanh"]), st.booleans(), st.booleans(), seeds)
def test_dense_is_an_affine_map(name: str, named: bool, has_bias: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weight, bias = rng.normal(size=(4, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)
    activation = name if named else nn.get_activation(name)
    layer = nn.Dense(3, 2, Tensor(weight), Tensor(bias), has_bias, activation, ms.float64)
    y = x @ weight.T + bias * has_bias
    expected = np.maximum(y, 0) if name == "relu" else np.tanh(y)
    np.testing.assert_allclose(floats(layer(Tensor(x))), expected, rtol=1e-9)
