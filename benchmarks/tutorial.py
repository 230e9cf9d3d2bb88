"""The tutorial's training step: network 784-512-512-10, batches of 64, SGD."""

import os
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from types import ModuleType
from typing import cast

import numpy as np
from numpy.typing import NDArray

import minispore as ms
from benchmarks import _peers
from benchmarks._timing import Contestant, Row, compare
from benchmarks.handwritten import Floats, HandWritten
from minispore import nn
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.train import Callback, LossMonitor, Model

WIDTHS = (784, 512, 512, 10)
BATCH = 64
STEPS = 40
LEARNING_RATE = 1e-2


class Network(nn.Cell):
    """The tutorial's network."""

    def __init__(self) -> None:
        """Make its layers."""
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu_sequential = nn.SequentialCell(
            nn.Dense(28 * 28, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10)
        )

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        """The logits of a batch of images."""
        return self.dense_relu_sequential(self.flatten(x))


def pipeline(folder: Path, usage: str = "train") -> Dataset:
    """The tutorial's data: scaled, normalised, in batches."""
    images = [
        vision.Rescale(1.0 / 255.0, 0),
        vision.Normalize(mean=(0.1307,), std=(0.3081,)),
        vision.HWC2CHW(),
    ]
    data = MnistDataset(str(folder), usage=usage)
    return data.map(images, "image").map(transforms.TypeCast(ms.int32), "label").batch(BATCH)


@dataclass(frozen=True)
class Batches:
    """Batches in memory, as those who train by hand are given them."""

    images: list[Floats]
    labels: list[NDArray[np.int32]]


def preloaded(data: Dataset, steps: int) -> Batches:
    """The first batches of a pipeline, read in advance."""
    images: list[Floats] = []
    labels: list[NDArray[np.int32]] = []
    for image, label in data.take(steps).create_tuple_iterator(num_epochs=1, output_numpy=True):
        images.append(cast("Floats", image).reshape(BATCH, -1))
        labels.append(cast("NDArray[np.int32]", label))
    return Batches(images, labels)


def trainer(callbacks: list[Callback], data: Dataset, epochs: int = 1) -> Callable[[], None]:
    """`Model.train` on a pipeline, its printed lines thrown away."""
    network = Network()
    optimizer = nn.SGD(network.trainable_params(), LEARNING_RATE)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)

    def run() -> None:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            model.train(epochs, data, callbacks=callbacks)

    return run


def by_hand(batches: Batches) -> Callable[[], None]:
    """The same steps in plain numpy on batches in memory."""
    network = HandWritten(BATCH, WIDTHS, LEARNING_RATE)

    def run() -> None:
        for x, labels in zip(batches.images, batches.labels, strict=True):
            network.step(x, labels)

    return run


def torch_layers(torch: ModuleType) -> list[object]:
    """The layers of the same network in PyTorch."""
    layers: list[object] = []
    for m, n in pairwise(WIDTHS):
        layers += [torch.nn.Linear(m, n), torch.nn.ReLU()]
    return layers[:-1]


def by_torch(batches: Batches) -> Callable[[], None] | None:
    """The same steps in PyTorch's eager mode on tensors in memory; None without PyTorch."""
    torch = _peers.library("torch")
    if torch is None:
        return None
    network = torch.nn.Sequential(*torch_layers(torch))
    optimizer = torch.optim.SGD(network.parameters(), lr=LEARNING_RATE)
    loss_fn = torch.nn.CrossEntropyLoss()
    pairs = [
        (torch.from_numpy(x), torch.from_numpy(labels.astype(np.int64)))
        for x, labels in zip(batches.images, batches.labels, strict=True)
    ]

    def run() -> None:
        for x, labels in pairs:
            optimizer.zero_grad()
            loss_fn(network(x), labels).backward()
            optimizer.step()

    return run


class Nothing(Callback):
    """A callback that listens and does nothing."""

    def on_train_step_end(self, run_context: ms.train.RunContext) -> None:
        """Do nothing."""


class _Idle(nn.Cell):
    """A training step that does nothing, so that what remains is the loop."""

    def construct(self, image: ms.Tensor, label: ms.Tensor) -> ms.Tensor:
        """Give something back."""
        return label


class _Again:
    """A data set of one batch, many times."""

    def __init__(self, batch: list[ms.Tensor], steps: int) -> None:
        self._batches = [batch] * steps

    def get_dataset_size(self) -> int:
        """The number of batches."""
        return len(self._batches)

    def create_tuple_iterator(self, *, num_epochs: int) -> "list[list[ms.Tensor]]":
        """All of them."""
        return self._batches


def seconds_of_callbacks(count: int, steps: int = 20_000) -> float:
    """What `count` callbacks that do nothing cost a step."""
    batch = [ms.Tensor([0.0]), ms.Tensor([0])]
    model = Model(_Idle())
    data = _Again(batch, steps)
    times: list[float] = []
    for callbacks in ([], [Nothing() for _ in range(count)]):
        start = perf_counter()
        model.train(1, data, callbacks=callbacks)
        times.append((perf_counter() - start) / steps)
    return times[1] - times[0]


def rows() -> list[Row]:
    """The step beside a hand-written one and PyTorch's; the cost of callbacks beside the step."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=STEPS * BATCH, test=BATCH)
        data = pipeline(Path(folder))
        batches = preloaded(data, STEPS)
        ours = trainer([LossMonitor()], data)
        others = [Contestant("by hand in numpy, data in memory", by_hand(batches), 1.05)]
        torch = by_torch(batches)
        if torch is not None:
            others.append(Contestant("PyTorch eager, data in memory", torch, 0.95))

        def one_step() -> float:
            start = perf_counter()
            ours()
            return (perf_counter() - start) / STEPS

        return [
            *compare(f"{STEPS} steps of the tutorial, LossMonitor", ours, others, turns=31),
            *compare(
                "twenty callbacks that do nothing, a step",
                lambda: seconds_of_callbacks(20),
                [Contestant("the tutorial's step", one_step, 0.01)],
                turns=11,
            ),
        ]
