"""A replayed training step compared with the eager one, and with other libraries' steps."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from time import process_time
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np

import minispore as ms
from benchmarks import _lenet, _other_frameworks
from benchmarks._timing import Baseline, Row, compare
from benchmarks.numpy_baseline import HandWritten
from minispore import nn

L = TypeVar("L")

LEARNING_RATE = 1e-2
Targets: TypeAlias = Mapping[str, float]
# What is measured: widths, batch, steps in a turn, the largest ratios in graph mode and eagerly.
NETWORKS: tuple[tuple[tuple[int, ...], int, int, Targets, Targets], ...] = (
    ((8, 16, 4), 16, 500, {"JAX jit": 1.2, "plain numpy": 1.0, "the same eagerly": 0.33}, {}),
    (
        (784, 512, 512, 10),
        64,
        20,
        {"JAX jit": 0.95, "plain numpy": 0.95, "PyTorch eager": 0.55},
        {"plain numpy": 1.12, "PyTorch eager": 0.5},
    ),
)
# The batch of LeNet-5, steps in a turn, and the largest ratio to PyTorch.
LENETS = ((1, 50, 0.42), (32, 10, 0.42), (256, 10, 0.6))


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


def dense(widths: Sequence[int], make: Callable[[int, int], L], relu: Callable[[], L]) -> list[L]:
    """Return the layers of a network of dense layers."""
    layers: list[L] = []
    for m, n in pairwise(widths):
        layers += [make(m, n), relu()]
    return layers[:-1]


def by_torch(
    torch: ModuleType, widths: tuple[int, ...], batch: int, *, compiled: bool = False
) -> Callable[[], object]:
    """Return a step in PyTorch's eager mode, or with a compiled network."""
    net = torch.nn.Sequential(*dense(widths, torch.nn.Linear, torch.nn.ReLU))
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE)
    loss_fn = torch.nn.CrossEntropyLoss()
    if compiled:
        net = torch.compile(net)
    x, y = torch.randn(batch, widths[0]), torch.zeros(batch, dtype=torch.int64)

    def step() -> None:
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()

    return step


def by_jax(jax: ModuleType, widths: tuple[int, ...], batch: int) -> Callable[[], object]:
    """Return a step that JAX has compiled, with the parameters updated in place."""
    rng = np.random.default_rng(0)
    x = jax.numpy.asarray(rng.standard_normal((batch, widths[0])), "float32")
    y = jax.numpy.zeros((batch, 1), "int32")

    def loss(parameters: list[Any], values: Any, y: object) -> object:  # noqa: ANN401
        for weight, bias in parameters:
            values = values @ weight + bias
            if weight is not parameters[-1][0]:
                values = jax.nn.relu(values)
        return -jax.numpy.take_along_axis(jax.nn.log_softmax(values), y, axis=1).mean()

    def updated(parameter: Any, gradient: Any) -> object:  # noqa: ANN401
        return parameter - LEARNING_RATE * gradient

    def train(parameters: list[Any], x: object, y: object) -> tuple[object, object]:
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return value, jax.tree.map(updated, parameters, gradients)

    compiled = jax.jit(train, donate_argnums=0)
    parameters = [
        tuple(jax.numpy.asarray(rng.standard_normal(s), "float32") / m for s in ((m, n), (n,)))
        for m, n in pairwise(widths)
    ]

    def step() -> None:
        nonlocal parameters
        value, parameters = compiled(parameters, x, y)
        value.block_until_ready()

    return step


def others(
    widths: tuple[int, ...], batch: int, threads: int = 1
) -> dict[str, Callable[[], object]]:
    """Return the steps of the other libraries that are installed."""
    x = np.random.default_rng(0).standard_normal((batch, widths[0])).astype(np.float32)
    labels = np.zeros(batch, np.int32)
    steps: dict[str, Callable[[], object]] = {
        "plain numpy": partial(HandWritten(batch, widths, LEARNING_RATE).step, x, labels)
    }
    if (torch := _other_frameworks.library("torch")) is not None:
        torch.set_num_threads(threads)
        steps["PyTorch eager"] = by_torch(torch, widths, batch)
        if shutil.which("g++"):
            steps["torch.compile"] = by_torch(torch, widths, batch, compiled=True)
    if (jax := _other_frameworks.library("jax")) is not None:
        steps["JAX jit"] = by_jax(jax, widths, batch)
    return steps


def network(widths: Sequence[int]) -> nn.SequentialCell:
    """Return a network of dense layers."""
    return nn.SequentialCell(dense(widths, nn.Dense, nn.ReLU))


def training_step(
    net: nn.Cell, shape: tuple[int, ...], batch: int, momentum: float = 0.0
) -> Callable[[], object]:
    """Return a step of a network on one batch in memory."""
    optimizer = nn.SGD(net.set_train().trainable_params(), LEARNING_RATE, momentum)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    rng = np.random.default_rng(0)
    x = ms.Tensor(rng.standard_normal((batch, *shape)).astype(np.float32))
    return partial(step, x, ms.Tensor(np.zeros(batch, np.int32)))


def rows() -> list[Row]:
    """Return a row for each network and each of the others, all with one thread."""
    results: list[Row] = []
    for widths, batch, steps, targets, eager_targets in NETWORKS:
        step = training_step(network(widths), widths[:1], batch)
        name = f"{steps} steps of {'-'.join(map(str, widths))}, batch {batch}"
        theirs = others(widths, batch)
        results += _rows(name, step, steps, theirs, targets, eager_targets, turns=21)
    for batch, steps, target in LENETS:
        step = training_step(_lenet.network(), (1, 32, 32), batch, _lenet.MOMENTUM)
        by_torch = _lenet.by_torch(batch)
        theirs = {} if by_torch is None else {"PyTorch eager": by_torch}
        name = f"{steps} steps of LeNet-5, batch {batch}"
        results += _rows(name, step, steps, theirs, {"PyTorch eager": target}, {}, turns=9)
    return results


def _rows(
    name: str,
    step: Callable[[], object],
    steps: int,
    by_others: Mapping[str, Callable[[], object]],
    targets: Targets,
    eager_targets: Targets,
    turns: int,
) -> list[Row]:
    """Return the rows of a step in graph mode, and those of the eager one."""
    eager = in_mode(ms.PYNATIVE_MODE, step, steps)
    timed = {other: cpu_time(run, steps) for other, run in by_others.items()}

    def baselines(runs: Mapping[str, Callable[[], float]], targets: Targets) -> list[Baseline]:
        return [Baseline(other, run, targets.get(other)) for other, run in runs.items()]

    graph = in_mode(ms.GRAPH_MODE, step, steps)
    compared = baselines({"the same eagerly": eager} | timed, targets)
    return [
        *compare(f"{name}, graph mode", graph, compared, turns=turns),
        *compare(f"{name}, eagerly", eager, baselines(timed, eager_targets), turns=turns),
    ]
