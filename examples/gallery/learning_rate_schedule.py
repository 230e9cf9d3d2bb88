"""Schedules of the learning rate, and weight decay for some of the parameters only."""

import numpy as np

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model

EPOCHS, STEPS = 6, 8

rng = np.random.default_rng(0)
x = rng.standard_normal((16 * STEPS, 4)).astype(np.float32)
y = (x[:, :1] ** 2 - x[:, 1:2]).astype(np.float32)
initial = [(0.5 * rng.standard_normal(shape)).astype(np.float32) for shape in ((12, 4), (1, 12))]

warmup = nn.warmup_lr(0.1, STEPS, STEPS, 1)
cosine = nn.cosine_decay_lr(0.0, 0.1, (EPOCHS - 1) * STEPS, STEPS, EPOCHS - 1)
for name, rates in (("constant", 0.1), ("warm-up and cosine", warmup + cosine)):
    network = nn.SequentialCell(
        nn.Dense(4, 12, weight_init=Tensor(initial[0]), bias_init="zeros"),
        nn.ReLU(),
        nn.Dense(12, 1, weight_init=Tensor(initial[1]), bias_init="zeros"),
    )
    parameters = network.trainable_params()
    groups: list[dict[str, object]] = [
        {"params": [p for p in parameters if "weight" in p.name], "weight_decay": 0.001},
        {"params": [p for p in parameters if "bias" in p.name]},
    ]
    optimizer = nn.Momentum(groups, learning_rate=rates, momentum=0.5)
    data = NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(16)
    print(f"the learning rate is {name}:")
    Model(network, nn.MSELoss(), optimizer).train(EPOCHS, data, callbacks=[LossMonitor(16)])
