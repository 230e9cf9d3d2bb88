"""The tutorial's training step: network 784-512-512-10, batches of 64, SGD."""

import os
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

import minispore as ms
from benchmarks import _other_frameworks
from benchmarks._timing import Baseline, Row, compare
from benchmarks.numpy_baseline import Floats, HandWritten
from minispore import nn
from minispore._cli import tutorial
from minispore.dataset import Dataset, digits
from minispore.train import Callback, LossMonitor, Model

WIDTHS = (784, 512, 512, 10)
BATCH = 64
STEPS = 40
LEARNING_RATE = 1e-2


@dataclass(frozen=True)
class Batches:
    """Batches in memory, for a loop without a pipeline."""

    images: list[Floats]
    labels: list[NDArray[np.int32]]


def preloaded(data: Dataset, steps: int) -> Batches:
    """Return the first batches of a pipeline."""
    images: list[Floats] = []
    labels: list[NDArray[np.int32]] = []
    for image, label in data.take(steps).create_tuple_iterator(num_epochs=1, output_numpy=True):
        images.append(image.reshape(BATCH, -1))
        labels.append(label)
    return Batches(images, labels)


def trainer(callbacks: list[Callback], data: Dataset, epochs: int = 1) -> Callable[[], None]:
    """Return a function that calls `Model.train` on a pipeline, without its printed lines."""
    network = tutorial.Network()
    optimizer = nn.SGD(network.trainable_params(), LEARNING_RATE)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)

    def run() -> None:
        with Path(os.devnull).open("w", encoding="utf-8") as null, redirect_stdout(null):
            model.train(epochs, data, callbacks=callbacks)

    return run


def by_numpy(batches: Batches) -> Callable[[], None]:
    """Return the same steps in plain numpy, on batches in memory."""
    network = HandWritten(BATCH, WIDTHS, LEARNING_RATE)

    def run() -> None:
        for x, labels in zip(batches.images, batches.labels, strict=True):
            network.step(x, labels)

    return run


def torch_layers(torch: ModuleType) -> list[object]:
    """Return the layers of the same network in PyTorch."""
    layers: list[object] = []
    for m, n in pairwise(WIDTHS):
        layers += [torch.nn.Linear(m, n), torch.nn.ReLU()]
    return layers[:-1]


def by_torch(batches: Batches) -> Callable[[], None] | None:
    """Return the same steps in PyTorch's eager mode, on tensors in memory; None without it."""
    torch = _other_frameworks.library("torch")
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


class IdleCallback(Callback):
    """A callback with a hook that does nothing."""

    def on_train_step_end(self, run_context: ms.train.RunContext) -> None:
        """Do nothing."""


class _Idle(nn.Cell):
    """A training step that does nothing, to measure the loop alone."""

    def construct(self, image: ms.Tensor, label: ms.Tensor) -> ms.Tensor:
        """Return the labels."""
        return label


class RepeatedBatch:
    """A data set that repeats one batch."""

    def __init__(self, batch: list[ms.Tensor], steps: int) -> None:
        self._batches = [batch] * steps

    def get_dataset_size(self) -> int:
        """Return the number of batches."""
        return len(self._batches)

    def create_tuple_iterator(self, *, num_epochs: int) -> "list[list[ms.Tensor]]":
        """Return all batches."""
        return self._batches


def seconds_of_callbacks(count: int, steps: int = 20_000) -> float:
    """Return the seconds that `count` callbacks that do nothing add to a step."""
    batch = [ms.Tensor([0.0]), ms.Tensor([0])]
    model = Model(_Idle())
    data = RepeatedBatch(batch, steps)
    times: list[float] = []
    for callbacks in ([], [IdleCallback() for _ in range(count)]):
        start = perf_counter()
        model.train(1, data, callbacks=callbacks)
        times.append((perf_counter() - start) / steps)
    return times[1] - times[0]


def rows() -> list[Row]:
    """Return the rows of the step, compared with numpy and PyTorch, and of idle callbacks."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=STEPS * BATCH, test=BATCH)
        data = tutorial.batches(Path(folder), "train", BATCH)
        batches = preloaded(data, STEPS)
        ours = trainer([LossMonitor()], data)
        others = [Baseline("plain numpy, data in memory", by_numpy(batches), 1.05)]
        torch = by_torch(batches)
        if torch is not None:
            others.append(Baseline("PyTorch eager, data in memory", torch, 0.95))

        def one_step() -> float:
            start = perf_counter()
            ours()
            return (perf_counter() - start) / STEPS

        return [
            *compare(
                f"{STEPS} steps of the tutorial, LossMonitor",
                ours,
                others,
                turns=31,
                clock=process_time,
            ),
            *compare(
                "twenty callbacks that do nothing, a step",
                lambda: seconds_of_callbacks(20),
                [Baseline("the tutorial's step", one_step, 0.01)],
                turns=11,
            ),
        ]
