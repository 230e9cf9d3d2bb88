"""A replayed training step compared with the eager one, with PyTorch and with plain numpy."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from time import process_time
from types import ModuleType

import numpy as np

import minispore as ms
from benchmarks import _other_frameworks, lenet
from benchmarks._timing import Baseline, Row, compare
from benchmarks.numpy_baseline import HandWritten
from minispore import nn

LEARNING_RATE = 1e-2
# What is measured: widths, batch, steps in a turn, and the largest ratio to the eager steps.
NETWORKS = (
    ((8, 16, 4), 16, 500, 0.33),
    ((784, 512, 512, 10), 64, 20, 0.88),
)
# The batch of LeNet-5, steps in a turn, and the largest ratio.
LENETS = ((1, 50, 0.50), (32, 10, 0.76), (256, 10, 0.94))


def in_mode(mode: int, step: Callable[[], object], steps: int) -> Callable[[], float]:
    """Return a function that makes steps in a mode and returns their CPU time."""

    def run() -> float:
        ms.set_context(mode=mode)
        try:
            return cpu_time(step, steps)()
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)

    return run


def cpu_time(step: Callable[[], object], steps: int) -> Callable[[], float]:
    """Return a function that makes steps and returns their CPU time."""

    def run() -> float:
        start = process_time()
        for _ in range(steps):
            step()
        return process_time() - start

    return run


def dense(
    widths: tuple[int, ...], make: Callable[[int, int], object], relu: object
) -> list[object]:
    """Return the layers of a network of dense layers."""
    layers: list[object] = []
    for m, n in pairwise(widths):
        layers += [make(m, n), relu]
    return layers[:-1]


def by_torch(torch: ModuleType, widths: tuple[int, ...], batch: int) -> Callable[[], object]:
    """Return a step in PyTorch's eager mode."""
    net = torch.nn.Sequential(*dense(widths, torch.nn.Linear, torch.nn.ReLU()))
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE)
    loss_fn = torch.nn.CrossEntropyLoss()
    x, y = torch.randn(batch, widths[0]), torch.zeros(batch, dtype=torch.int64)

    def step() -> None:
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()

    return step


def rows() -> list[Row]:
    """Return a row for each network and each of the others."""
    torch = _other_frameworks.library("torch")
    if torch is not None:
        # CPU time is measured, and further threads would wait for each other.
        torch.set_num_threads(1)
    results: list[Row] = []
    for widths, batch, steps, target in NETWORKS:
        layers: list[nn.Cell] = []
        for m, n in pairwise(widths):
            layers += [nn.Dense(m, n), nn.ReLU()]
        step, *others = _steps(nn.SequentialCell(layers[:-1]), widths[:1], batch, steps, target)
        x = np.random.default_rng(0).standard_normal((batch, widths[0])).astype(np.float32)
        labels = np.zeros(batch, np.int32)
        plain = partial(HandWritten(batch, widths, LEARNING_RATE).step, x, labels)
        others.append(Baseline("plain numpy", cpu_time(plain, steps)))
        if torch is not None:
            others.append(
                Baseline("PyTorch eager", cpu_time(by_torch(torch, widths, batch), steps))
            )
        name = "-".join(map(str, widths))
        results += compare(
            f"{steps} steps of {name}, batch {batch}, graph mode", step.run, others, turns=21
        )
    for batch, steps, target in LENETS:
        step, *others = _steps(lenet.network(), (1, 32, 32), batch, steps, target, lenet.MOMENTUM)
        run = lenet.by_torch(batch)
        if run is not None:
            others.append(Baseline("PyTorch eager", cpu_time(run, max(1, steps // lenet.STEPS))))
        results += compare(
            f"{steps} steps of LeNet-5, batch {batch}, graph mode", step.run, others, turns=9
        )
    return results


def _steps(
    net: nn.Cell,
    shape: tuple[int, ...],
    batch: int,
    steps: int,
    target: float,
    momentum: float = 0.0,
) -> list[Baseline]:
    """Return the steps of a network in graph mode and in PyNative mode."""
    optimizer = nn.SGD(net.set_train().trainable_params(), LEARNING_RATE, momentum)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    rng = np.random.default_rng(0)
    x = ms.Tensor(rng.standard_normal((batch, *shape)).astype(np.float32))
    y = ms.Tensor(np.zeros(batch, np.int32))
    return [
        Baseline("graph mode", in_mode(ms.GRAPH_MODE, lambda: step(x, y), steps)),
        Baseline("the same eagerly", in_mode(ms.PYNATIVE_MODE, lambda: step(x, y), steps), target),
    ]
