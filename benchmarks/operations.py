"""Single operations and layers, compared with PyTorch: processor time, one thread.

Run with OPENBLAS_NUM_THREADS=1; PyTorch is set to one thread.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import minispore as ms
from benchmarks import _other_frameworks
from benchmarks._timing import Baseline, Row, compare
from minispore import Tensor, nn, ops

# The seconds of processor time that a measurement should take at least.
SECONDS = 0.03
TURNS = 15

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Work:
    """An operation in both libraries.

    Attributes:
        name: What is measured.
        shape: The shape of the operand, drawn from the normal distribution.
        ours: The operation.
        theirs: The same in PyTorch, made from its module.
        target: The largest accepted ratio.
    """

    name: str
    shape: tuple[int, ...]
    ours: Callable[[Tensor], Tensor]
    theirs: Callable[[ModuleType], Callable[[Any], Any]]
    target: float


def _labels(rows: int, classes: int) -> list[int]:
    return [int(i) for i in np.random.default_rng(1).integers(0, classes, rows)]


def _cross_entropy(rows: int, classes: int) -> Work:
    labels = _labels(rows, classes)
    target = Tensor(labels, ms.int32)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        indices = torch.tensor(labels)
        return lambda x: torch.nn.functional.cross_entropy(x, indices)

    return Work(
        f"cross-entropy {rows} × {classes:,}",
        (rows, classes),
        lambda x: ops.cross_entropy(x, target),
        theirs,
        1.3,
    )


def _conv(
    name: str, shape: tuple[int, ...], outs: int, kernel: int, group: int, target: float
) -> Work:
    ins = shape[1]
    layer = nn.Conv2d(ins, outs, kernel, group=group)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        layer: Callable[[Any], Any]
        layer = torch.nn.Conv2d(ins, outs, kernel, padding=kernel // 2, groups=group, bias=False)
        return layer

    return Work(name, shape, layer, theirs, target)


def _rows(name: str, ours: Callable[[Tensor, Tensor], Tensor], theirs: str) -> Work:
    labels = _labels(4096, 10_000)
    indices = Tensor(labels, ms.int32)

    def make(torch: ModuleType) -> Callable[[Any], Any]:
        ids = torch.tensor(labels)
        if theirs == "index":
            return lambda x: x[ids]
        if theirs == "embedding":
            return lambda x: torch.nn.functional.embedding(ids, x)
        return lambda x: torch.index_select(x, 0, ids)

    return Work(name, (10_000, 64), lambda x: ours(x, indices), make, 2.3)


def _columns() -> Work:
    labels = _labels(512, 1024)
    indices = Tensor(labels, ms.int32)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        ids = torch.tensor(labels)
        return lambda x: torch.index_select(x, 1, ids)

    name = "gather, 512 of 1,024 columns, 256 rows"
    return Work(name, (256, 1024), lambda x: ops.gather(x, indices, 1), theirs, 2.0)


def _elements() -> Work:
    labels = np.reshape(_labels(256 * 1024, 1024), (256, 1024))
    indices = Tensor(labels)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        ids = torch.from_numpy(labels)
        return lambda x: torch.gather(x, 1, ids)

    name = "gather_elements along axis 1, 256 × 1,024"
    return Work(name, (256, 1024), lambda x: ops.gather_elements(x, 1, indices), theirs, 2.0)


def _broadcast_sum() -> Work:
    column = np.random.default_rng(1).standard_normal((256, 1), np.float32)
    other = Tensor(column)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        added = torch.from_numpy(column)
        return lambda x: x + added

    return Work("64 × 1 × 256 plus 256 × 1", (64, 1, 256), lambda x: x + other, theirs, 2.0)


def works() -> Sequence[Work]:
    """Return what is measured."""
    norm, batch_norm = nn.LayerNorm((512,)), nn.BatchNorm2d(64).set_train()
    return [
        Work("x ** 3, 256 × 1,024", (256, 1024), lambda x: x**3, lambda _: lambda x: x**3, 1.0),
        Work("x ** 4, 256 × 1,024", (256, 1024), lambda x: x**4, lambda _: lambda x: x**4, 1.0),
        Work(
            "x ** 2.5, 256 × 1,024", (256, 1024), lambda x: x**2.5, lambda _: lambda x: x**2.5, 1.2
        ),
        Work(
            "LayerNorm 32 × 64 × 512",
            (32, 64, 512),
            norm,
            lambda torch: torch.nn.LayerNorm(512),
            2.0,
        ),
        Work(
            "BatchNorm2d 32 × 64 × 16 × 16",
            (32, 64, 16, 16),
            batch_norm,
            lambda torch: torch.nn.BatchNorm2d(64),
            1.2,
        ),
        _cross_entropy(64, 10_000),
        _cross_entropy(64, 10),
        Work(
            "sum over axis 0, 1,024 × 1,024",
            (1024, 1024),
            lambda x: x.sum(0),
            lambda _: lambda x: x.sum(0),
            1.2,
        ),
        Work("sigmoid 256 × 1,024", (256, 1024), ops.sigmoid, lambda torch: torch.sigmoid, 1.2),
        Work(
            "log_softmax 256 × 1,024",
            (256, 1024),
            ops.log_softmax,
            lambda torch: lambda x: torch.log_softmax(x, -1),
            1.2,
        ),
        _conv("depthwise convolution 3 × 3, 64 channels", (16, 64, 32, 32), 64, 3, 64, 2.0),
        _conv("convolution 1 × 1, 64 → 64", (16, 64, 32, 32), 64, 1, 1, 1.1),
        _conv("convolution 3 × 3, 32 → 64", (16, 32, 32, 32), 64, 3, 1, 1.4),
        _rows("x[ids], 4,096 of 10,000 rows", lambda x, ids: x[ids], "index"),
        _rows("embedding, 4,096 of 10,000 rows", lambda x, ids: ops.gather(x, ids, 0), "embedding"),
        _rows("gather, 4,096 of 10,000 rows", lambda x, ids: ops.gather(x, ids, 0), "gather"),
        _columns(),
        _elements(),
        _broadcast_sum(),
    ]


def rows() -> list[Row]:
    """Return a row for each operation; none without PyTorch."""
    torch = _other_frameworks.library("torch")
    if torch is None:
        return []
    torch.set_num_threads(1)
    return [row for work in works() for row in _compare(work, torch)]


def _compare(work: Work, torch: ModuleType) -> list[Row]:
    values = np.random.default_rng(0).standard_normal(work.shape, np.float32) ** 2 + 0.5
    ours, theirs = _ours(work, values), _theirs(work, values, torch)
    start = process_time()
    ours()
    ours()
    count = max(1, round(SECONDS / (process_time() - start) * 2))

    def repeated(run: Callable[[], None]) -> Callable[[], float]:
        def measure() -> float:
            start = process_time()
            for _ in range(count):
                run()
            return (process_time() - start) / count

        return measure

    baseline = Baseline("PyTorch eager", repeated(theirs), work.target)
    return compare(f"{work.name}, forward and backward", repeated(ours), [baseline], turns=TURNS)


def _ours(work: Work, values: Values) -> Callable[[], None]:
    x = Tensor(values)
    weights = work.ours.trainable_params() if isinstance(work.ours, nn.Cell) else []
    gradient = ms.value_and_grad(work.ours, 0, weights or None, sens_param=True)
    ones = Tensor(np.ones(work.ours(x).shape, np.float32))

    def run() -> None:
        gradient(x, ones)

    return run


def _theirs(work: Work, values: Values, torch: ModuleType) -> Callable[[], None]:
    operation = work.theirs(torch)
    x = torch.tensor(values, requires_grad=True)
    find: Any = getattr(operation, "parameters", None)
    parameters: list[Any] = [] if find is None else list(find())
    ones = torch.ones_like(operation(x))

    def run() -> None:
        torch.autograd.grad(operation(x), [x, *parameters], ones)

    return run
