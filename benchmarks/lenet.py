"""A training step of LeNet-5: two convolutions with pooling, three dense layers, Momentum."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import minispore as ms
from benchmarks import _other_frameworks
from benchmarks._timing import Baseline, Row, compare
from minispore import nn

WIDTHS = (16 * 5 * 5, 120, 84, 10)
BATCHES = (32, 64)
STEPS = 10
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


def ours(batch: int) -> Callable[[], None]:
    """Return a function that trains some steps on one batch in memory."""
    net = network().set_train()
    optimizer = nn.Momentum(net.trainable_params(), LEARNING_RATE, MOMENTUM)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    images, labels = random_batch(batch)
    x, y = ms.Tensor(images), ms.Tensor(labels, ms.int32)

    def run() -> None:
        for _ in range(STEPS):
            step(x, y)

    return run


def by_torch(batch: int) -> Callable[[], None] | None:
    """Return the same steps in PyTorch's eager mode; None without PyTorch."""
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

    def run() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss_fn(net(x), y).backward()
            optimizer.step()

    return run


def rows() -> list[Row]:
    """Return the rows of the steps, compared with PyTorch's, for two batch sizes."""
    results: list[Row] = []
    for batch in BATCHES:
        torch = by_torch(batch)
        others = [] if torch is None else [Baseline("PyTorch eager", torch, 1.5)]
        results += compare(
            f"{STEPS} steps of LeNet-5, batch {batch}", ours(batch), others, turns=21
        )
    return results
