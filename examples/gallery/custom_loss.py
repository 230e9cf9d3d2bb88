"""A loss function of one's own, which ignores outliers, compared with the squared error."""

import numpy as np

from minispore import Tensor, nn, ops
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model


class HuberLoss(nn.LossBase):
    """The squared error of small differences, and the absolute error of large ones.

    Args:
        delta: The difference from which on the loss is linear.
    """

    def __init__(self, delta: float = 1.0) -> None:
        super().__init__()
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        difference = ops.abs(logits - labels)
        clipped = ops.minimum(difference, Tensor(self.delta))
        return self.get_loss(clipped * (difference - 0.5 * clipped))


rng = np.random.default_rng(0)
x = np.linspace(-1, 1, 40, dtype=np.float32).reshape(-1, 1)
y = (3 * x + 1 + 0.1 * rng.standard_normal((40, 1))).astype(np.float32)
y[::8] += 8  # the outliers

for loss_fn in (nn.MSELoss(), HuberLoss(0.2)):
    data = NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(40)
    network = nn.Dense(1, 1, weight_init="zeros", bias_init="zeros")
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.1, momentum=0.9)
    Model(network, loss_fn, optimizer).train(150, data)
    weight, bias = (parameter.asnumpy().item() for parameter in network.trainable_params())
    print(f"{type(loss_fn).__name__}: y = {weight:.3f} x + {bias:.3f}")
