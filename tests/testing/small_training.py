"""A small training for the tests of the testing tools."""

import numpy as np

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model

_X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(6, 2)
ROWS = NumpySlicesDataset({"x": _X, "y": np.arange(6, dtype=np.int32) % 3}, shuffle=False).batch(3)


def make() -> Model:
    net = nn.Dense(2, 3)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
