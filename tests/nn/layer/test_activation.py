"""Activation layers: formulas, names, repr."""

import numpy as np
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
