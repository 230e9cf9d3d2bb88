"""Layers: settings, first values, chance, printing, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minispore as ms
from minispore import Tensor, nn, ops, set_seed
from minispore.common.initializer import Initializer

# Without types: what a type checker would refuse is what is tried.
wrong: Any = nn


def test_dense_settings() -> None:
    weight = Tensor(np.ones((3, 2), np.float32))
    layer = nn.Dense(2, 3, weight, "zeros")
    assert (layer.weight == weight).all()
    assert layer.weight is not weight
    assert nn.Dense(2, 3, 0.5).weight.asnumpy().tolist() == [[0.5, 0.5]] * 3
    assert nn.Dense(2, 3, has_bias=False).bias is None
    half = nn.Dense(2, 3, dtype=ms.float16)
    assert half.weight.dtype is ms.float16
    assert half(ops.ones((1, 2), ms.float16)).dtype is ms.float16
    own = nn.Tanh()
    assert nn.Dense(2, 3, activation=own).activation is own

    class Four(Initializer):
        def _initialize(self, arr: object) -> None:
            arr[:] = 4  # type: ignore[index]

    assert (nn.Dense(2, 2, Four()).weight == 4).all()


def test_the_first_weights_are_even_within_a_root_of_the_inputs() -> None:
    set_seed(1)
    layers = [nn.Dense(100, 50) for _ in range(20)]
    weights = np.array([layer.weight.asnumpy() for layer in layers])
    biases = np.array([layer.bias.asnumpy() for layer in layers if layer.bias is not None])
    assert 0.0999 < np.abs(weights).max() <= 0.1
    assert 0.099 < np.abs(biases).max() <= 0.1
    assert weights.std() == pytest.approx(0.1 / np.sqrt(3), rel=0.01)
    set_seed(1)
    assert np.array_equal(nn.Dense(100, 50).weight.asnumpy(), weights[0])


def test_dropout() -> None:
    set_seed(2)
    layer = nn.Dropout(p=0.25).set_train()
    x = ops.ones((200, 200))
    y = layer(x).asnumpy()
    assert set(np.unique(y).tolist()) == {0.0, np.float32(1 / 0.75)}
    assert y.mean() == pytest.approx(1, abs=0.02)
    assert not np.array_equal(layer(x).asnumpy(), y)
    set_seed(2)
    assert np.array_equal(layer(x).asnumpy(), y)
    # The gradient goes where the values went.
    set_seed(2)
    assert np.array_equal(ms.grad(lambda x: layer(x).sum())(x).asnumpy(), y)
    assert layer.set_train(False)(x) is x
    assert nn.Dropout(keep_prob=1.0).set_train()(x) is x
    assert nn.Dropout(0.25).set_train()(x).asnumpy().mean() == pytest.approx(1, abs=0.05)
    with pytest.raises(TypeError, match="float"):
        layer.set_train()(ops.ones(3, ms.int32))


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
        (nn.Softmax(axis=0), "Softmax()"),
        (nn.Flatten(start_dim=2), "Flatten()"),
        (nn.Dropout(), "Dropout(keep_prob=0.5)"),
        (nn.Dropout(p=0.3), "Dropout(p=0.3)"),
        (nn.CrossEntropyLoss(), "CrossEntropyLoss()"),
    ],
)
def test_printing(layer: nn.Cell, text: str) -> None:
    assert repr(layer) == text


X = ops.ones((1, 3))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: wrong.Dense(0, 1), ValueError, "in_channels"),
        (lambda: wrong.Dense(1, -1), ValueError, "out_channels"),
        (lambda: wrong.Dense(1.0, 1), TypeError, "in_channels"),
        (lambda: wrong.Dense(True, 1), TypeError, "in_channels"),
        (lambda: wrong.Dense(1, 1, has_bias=3), TypeError, "has_bias"),
        (lambda: wrong.Dense(1, 1, activation=3), TypeError, "activation"),
        (lambda: wrong.Dense(1, 1, activation="foo"), KeyError, "'foo'"),
        (lambda: wrong.Dense(1, 1, "foo"), ValueError, "'foo'"),
        (lambda: wrong.Dense(1, 1, np.ones((1, 1))), TypeError, "init"),
        (lambda: wrong.Dense(2, 3, ops.ones((2, 3))), ValueError, "weight_init"),
        (lambda: wrong.Dense(2, 3, bias_init=ops.ones(2)), ValueError, "bias_init"),
        (lambda: wrong.Dense(2, 3, dtype=ms.int32), TypeError, "dtype"),
        (lambda: wrong.Dense(2, 3, dtype="float32"), TypeError, "dtype"),
        (lambda: wrong.Dense(2, 3)(X), ValueError, "in_channels"),
        (lambda: wrong.Dense(2, 3)(Tensor(1.0)), ValueError, "in_channels"),
        (lambda: wrong.Softmax("a"), TypeError, "axis"),
        (lambda: wrong.Softmax(3)(X), ValueError, "axis"),
        (lambda: wrong.LogSoftmax(1.0), TypeError, "axis"),
        (lambda: wrong.Flatten("a"), TypeError, "start_dim"),
        (lambda: wrong.Flatten(5)(X), ValueError, "start_dim"),
        (lambda: wrong.Flatten(1, 0)(X), ValueError, "end_dim"),
        (lambda: wrong.Dropout(p=1.0), ValueError, "'p'"),
        (lambda: wrong.Dropout(p=-0.1), ValueError, "'p'"),
        (lambda: wrong.Dropout(p="a"), TypeError, "'p'"),
        (lambda: wrong.Dropout(keep_prob=0.0), ValueError, "keep_prob"),
        (lambda: wrong.Dropout(keep_prob=1), TypeError, "keep_prob"),
        (lambda: wrong.get_activation("foo"), KeyError, "get_activation"),
    ],
)
def test_errors(make: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("layer", [nn.ReLU(), nn.Tanh(), nn.Softmax(), nn.Flatten(), nn.Sigmoid()])
def test_an_array_is_no_tensor(layer: nn.Cell) -> None:
    with pytest.raises((TypeError, AttributeError)):
        layer(np.ones((2, 3), np.float32))
