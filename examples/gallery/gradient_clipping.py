"""Clip the gradients of a recurrence, which would otherwise grow from step to step."""

import numpy as np

import minispore as ms
from minispore import Parameter, Tensor, nn, ops
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model


class Recurrence(nn.Cell):
    """h <- weight * h + input, for a number of steps; the output is the last h."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.weight = Parameter(Tensor([1.3], ms.float32), name="weight")

    def construct(self, x: Tensor) -> Tensor:
        state = ops.zeros_like(x)
        for _ in range(self.steps):
            state = self.weight * state + x
        return state


class ClippedStep(nn.Cell):
    """A training step that clips the gradients to a global norm."""

    def __init__(self, network: nn.Cell, optimizer: nn.Optimizer, norm: float) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self.optimizer = optimizer
        self.norm = norm
        self.norms: list[float] = []  # of the gradients before clipping
        self.loss_fn = nn.MSELoss()
        self.grad_fn = ms.value_and_grad(self.forward, None, optimizer.parameters)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss."""
        return self.loss_fn(self.network(x), y)

    def construct(self, x: Tensor, y: Tensor) -> Tensor:
        loss, gradients = self.grad_fn(x, y)
        squares = [float((gradient * gradient).sum().asnumpy()) for gradient in gradients]
        self.norms.append(float(np.sqrt(sum(squares))))
        self.optimizer(ops.clip_by_global_norm(gradients, self.norm))
        return loss


x = np.linspace(0.5, 1.5, 8, dtype=np.float32).reshape(-1, 1)
target = x * (1 - 0.5**10) / (1 - 0.5)  # the result of ten steps with the weight 0.5
data = NumpySlicesDataset({"x": x, "y": target}, shuffle=False).batch(8)

network = Recurrence(10)
optimizer = nn.SGD(network.trainable_params(), learning_rate=0.05)
step = ClippedStep(network, optimizer, norm=1.0)
Model(step).train(20, data, callbacks=[LossMonitor(5)])
print(f"the norm of the gradients was {step.norms[0]:.4g}, and is {step.norms[-1]:.4g}")
print(f"the weight is {network.weight.asnumpy().item():.4f}")
