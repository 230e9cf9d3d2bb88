"""Linear regression: fit a plane to noisy points with `Model`."""

import numpy as np

from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
noise = 0.01 * rng.standard_normal((64, 1))
y = (x @ np.array([[2.0], [-3.0]]) + 0.5 + noise).astype(np.float32)
data = NumpySlicesDataset({"x": x, "y": y}, shuffle=False).batch(16)

network = nn.Dense(2, 1, weight_init="zeros", bias_init="zeros")
optimizer = nn.SGD(network.trainable_params(), learning_rate=0.2)
model = Model(network, nn.MSELoss(), optimizer, metrics={"mae"})
model.train(20, data, callbacks=[LossMonitor(20)])

weight, bias = (parameter.asnumpy().ravel() for parameter in network.trainable_params())
print(f"y = {weight[0]:.3f} a + {weight[1]:.3f} b + {bias[0]:.3f}")
print(f"the mean error is {model.eval(data)['mae']:.4f}")
