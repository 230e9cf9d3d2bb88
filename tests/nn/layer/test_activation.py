"""Activation layers: formulas, names, repr."""

from math import erf, pi, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, nn
from tests.helpers.floats import Floats, floats


@given(st.integers(-2, 1), st.lists(st.floats(-20, 20), min_size=6, max_size=6).map(np.array))
def test_layers_equal_their_formulas(axis: int, values: Floats) -> None:
    x = values.reshape(2, 3)
    shares = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    formulas: dict[str, tuple[nn.Cell, Floats]] = {
        "relu": (nn.ReLU(), np.maximum(x, 0)),
        "sigmoid": (nn.Sigmoid(), 1 / (1 + np.exp(-x))),
        "tanh": (nn.Tanh(), np.tanh(x)),
        "softmax": (nn.Softmax(axis), shares),
        "logsoftmax": (nn.LogSoftmax(axis), np.log(shares)),
    }
    for name, (layer, expected) in formulas.items():
        np.testing.assert_allclose(floats(layer(Tensor(x))), expected, rtol=1e-9, atol=1e-12)
        assert type(nn.get_activation(name)) is type(layer)
        assert repr(layer) == f"{type(layer).__name__}()"
    assert nn.get_activation(None) is None


@pytest.mark.parametrize("approximate", [True, False])
def test_gelu_equals_its_formula(approximate: bool) -> None:
    def expected(x: float) -> float:
        inner = tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)) if approximate else erf(x / sqrt(2))
        return x / 2 * (1 + inner)

    xs = [-3.0, -0.5, 0.0, 1.0, 2.5]
    values = floats(nn.GELU(approximate)(Tensor(np.array(xs))))
    np.testing.assert_allclose(values, [expected(x) for x in xs], rtol=1e-12)


@pytest.mark.parametrize("w", [[0.5, 0.25], Tensor([0.5, 0.25])])
def test_prelu_has_a_slope_for_each_channel(w: list[float] | Tensor) -> None:
    assert nn.PReLU(2, w)(Tensor([[-4.0, -4.0], [4.0, 4.0]])).tolist() == [[-2.0, -1.0], [4.0, 4.0]]
