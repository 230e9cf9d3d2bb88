"""Some training steps on each device: the optimizers, losses and networks to test."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from minispore import Tensor, nn, set_context, set_seed
from minispore.common import Parameter

STEPS = 3
CLASSES = 3

Optimizers: TypeAlias = Callable[[list[Parameter]], nn.Optimizer]
Losses: TypeAlias = Callable[[], nn.Cell]


class Halved(nn.LearningRateSchedule):
    def construct(self, global_step: Tensor) -> Tensor:
        return 0.5 ** (global_step + 1.0)


OPTIMIZERS: dict[str, Optimizers] = {
    "SGD": lambda p: nn.SGD(p, 0.1),
    "SGD, momentum": lambda p: nn.SGD(p, 0.1, 0.9, 0.1, 1e-3),
    "SGD, Nesterov": lambda p: nn.SGD(p, 0.1, 0.9, nesterov=True),
    "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9, 1e-3, 2.0, use_nesterov=True),
    "Adam": lambda p: nn.Adam(p, 0.1, weight_decay=0.1),
    "Adam, AMSGrad": lambda p: nn.Adam(p, use_amsgrad=True, use_nesterov=True),
    "rates in a list": lambda p: nn.SGD(p, [0.1, 0.2, 0.3]),
    "rates by formula": lambda p: nn.Adam(p, nn.ExponentialDecayLR(0.1, 0.5, 2)),
    "rates of one's own": lambda p: nn.SGD(p, Halved()),
    "groups": lambda p: nn.Adam([{"params": p[:1], "lr": 0.2}, {"params": p[1:]}], 0.1),
}
# Each with whether its labels are classes.
LOSSES: dict[str, tuple[Losses, bool]] = {
    "CrossEntropyLoss": (nn.CrossEntropyLoss, True),
    "CrossEntropyLoss, smoothed": (lambda: nn.CrossEntropyLoss(None, 1, "mean", 0.1), True),
    "CrossEntropyLoss, of probabilities": (nn.CrossEntropyLoss, False),
    "CrossEntropyLoss, weighted": (
        lambda: nn.CrossEntropyLoss(Tensor([1.0, 2.0, 3.0]), reduction="sum"),
        True,
    ),
    "SoftmaxCrossEntropyWithLogits": (
        lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
        True,
    ),
    "MSELoss": (nn.MSELoss, False),
    "L1Loss": (nn.L1Loss, False),
    "BCEWithLogitsLoss": (nn.BCEWithLogitsLoss, False),
}
LAYERS: dict[str, Callable[[], nn.Cell]] = {
    "Tanh": nn.Tanh,
    "Sigmoid": nn.Sigmoid,
    "Softmax": nn.Softmax,
    "LogSoftmax": nn.LogSoftmax,
    "Identity": nn.Identity,
}


def network(activation: Callable[[], nn.Cell] = nn.ReLU) -> nn.Cell:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(36, 8), activation(), nn.Dense(8, CLASSES))


NETWORKS: dict[str, Callable[[], nn.Cell]] = {
    "convolutions": lambda: nn.SequentialCell(
        nn.Conv2d(1, 4, 3, has_bias=True),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(4, 2, 3, stride=2, pad_mode="pad", padding=1, group=2),
        nn.AvgPool2d(2, 1),
        nn.Flatten(),
        nn.LayerNorm((2,)),
        nn.Dense(2, CLASSES),
    ),
    "embeddings": lambda: nn.SequentialCell(
        nn.Embedding(7, 4), nn.Flatten(), nn.Dense(4 * 36, CLASSES)
    ),
}


def steps(
    target: str,
    make: Callable[[], nn.Cell] = network,
    optimizer: Optimizers = OPTIMIZERS["Adam"],
    loss: Losses = nn.CrossEntropyLoss,
    classes: bool = True,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> list[NDArray[np.generic]]:
    """Return the last loss and all parameters after some steps on a device.

    Args:
        target: The device.
        make: Makes the network.
        optimizer: Makes the optimiser.
        loss: Makes the loss.
        classes: Whether labels are classes, and not probabilities.
        before: Called before each step, when the batch is there,
        after: and after it.
    """
    set_context(device_target=target)
    set_seed(1)
    rng = np.random.default_rng(3)
    net = make()
    looks_up = any(isinstance(cell, nn.Embedding) for _, cell in net.cells_and_names())
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, loss()), optimizer(net.trainable_params())
    ).set_train()
    value = Tensor(0.0)
    for _ in range(STEPS):
        x = rng.integers(0, 7, (5, 1, 6, 6))
        y = rng.integers(0, CLASSES, 5)
        label = y.astype(np.int32) if classes else np.eye(CLASSES, dtype=np.float32)[y]
        batch = Tensor(x.astype(np.int32) if looks_up else x.astype(np.float32) / 7), Tensor(label)
        before()
        value = step(*batch)
        after()
    return [value.asnumpy(), *(parameter.asnumpy() for parameter in step.get_parameters())]
