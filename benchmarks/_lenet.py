"""LeNet-5, two convolutions with pooling and three dense layers, and its step in PyTorch."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from benchmarks import _other_frameworks
from minispore import nn

WIDTHS = (16 * 5 * 5, 120, 84, 10)
LEARNING_RATE = 1e-2
MOMENTUM = 0.9

Images = NDArray[np.float32]
Labels = NDArray[np.int64]


def random_batch(batch: int) -> tuple[Images, Labels]:
    """Return a batch of images of 32 x 32 random numbers, and their labels."""
    rng = np.random.default_rng(0)
    images: Images = rng.standard_normal((batch, 1, 32, 32), np.float32)
    return images, rng.integers(0, 10, batch)


def network() -> nn.SequentialCell:
    """Return LeNet-5, as in MindSpore's tutorial."""
    layers: list[nn.Cell] = []
    for ins, outs in pairwise((1, 6, 16)):
        layers += [
            nn.Conv2d(ins, outs, 5, pad_mode="valid", has_bias=True),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
        ]
    layers.append(nn.Flatten())
    for ins, outs in pairwise(WIDTHS):
        layers += [nn.Dense(ins, outs), nn.ReLU()]
    return nn.SequentialCell(layers[:-1])


def by_torch(batch: int) -> Callable[[], None] | None:
    """Return a step in PyTorch's eager mode, with momentum; None without PyTorch."""
    torch = _other_frameworks.library("torch")
    if torch is None:
        return None
    layers: list[object] = []
    for ins, outs in pairwise((1, 6, 16)):
        layers += [torch.nn.Conv2d(ins, outs, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    layers.append(torch.nn.Flatten())
    for ins, outs in pairwise(WIDTHS):
        layers += [torch.nn.Linear(ins, outs), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    loss_fn = torch.nn.CrossEntropyLoss()
    x, y = (torch.from_numpy(values) for values in random_batch(batch))

    def step() -> None:
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()

    return step
