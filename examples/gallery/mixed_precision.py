"""Train in float16 with a loss scale: without it, small gradients become zero."""

import numpy as np

import minispore as ms
from minispore import Tensor, amp, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import FixedLossScaleManager, LossMonitor, Model

rng = np.random.default_rng(1)
x = rng.standard_normal((64, 4)).astype(np.float32)
y = (x @ np.array([[1.0], [-2.0], [0.5], [1.5]], np.float32)) / 1000
weight = rng.standard_normal((1, 4)).astype(np.float32) / 1000


for level in ("O0", "O2"):
    net = nn.Dense(4, 1, Tensor(weight), "zeros")
    output = amp.auto_mixed_precision(net, level)(Tensor(x))
    print(f"{level}: weight {net.weight.dtype}, output {output.dtype}, {output.asnumpy()[0]}")

net = nn.Dense(4, 1, Tensor(weight), "zeros")
computing = amp.auto_mixed_precision(net, "O2")


def scaled_loss(inputs: Tensor, labels: Tensor, scale: Tensor) -> Tensor:
    """Return the loss, times a loss scale, divided by 100,000."""
    return nn.MSELoss()(computing(inputs), labels) * scale / 100_000


# The gradients are below the smallest number of float16, unless the loss is multiplied.
for scale in (1.0, 2.0**14):
    gradient_of_weight = ms.grad(scaled_loss, None, net.trainable_params())
    gradient = gradient_of_weight(Tensor(x), Tensor(y), Tensor(scale, ms.float32))[0]
    print(f"loss scale {scale:g}: {np.count_nonzero(gradient.asnumpy())} gradients are not zero")

net = nn.Dense(4, 1, Tensor(weight), "zeros")
optimizer = nn.Momentum(net.trainable_params(), 0.2, 0.5, loss_scale=1024.0)
manager = FixedLossScaleManager(1024.0, drop_overflow_update=False)
model = Model(net, nn.MSELoss(), optimizer, amp_level="O2", loss_scale_manager=manager)
data = NumpySlicesDataset({"x": x, "y": y * 1000}, shuffle=False).batch(16)
model.train(10, data, callbacks=[LossMonitor(20)])
weights: list[float] = net.weight.asnumpy()[0].tolist()
print("weights", [round(w, 2) for w in weights])
