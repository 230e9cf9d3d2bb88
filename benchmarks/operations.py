"""Single operations and layers, compared with PyTorch: processor time, one thread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
MATRIX = (256, 1024)
IMAGES = (16, 64, 32, 32)
FUNCTIONS = ("exp", "log", "tanh", "sqrt", "abs", "sin", "erf")
# The largest accepted ratio of an operation that has no other.
TARGET = 2.5


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


def _text(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{length:,}" for length in shape)


def _same(
    name: str,
    operation: Callable[[Any], Any],
    shape: tuple[int, ...] = MATRIX,
    target: float = TARGET,
) -> Work:
    """Return an operator or a method that both libraries have."""
    return Work(f"{name}, {_text(shape)}", shape, operation, lambda _: operation, target)


def _function(name: str, target: float = TARGET, shape: tuple[int, ...] = MATRIX) -> Work:
    """Return a function that `ops` and `torch` have."""
    ours: Callable[[Tensor], Tensor] = getattr(ops, name)
    return Work(f"{name}, {_text(shape)}", shape, ours, lambda torch: getattr(torch, name), target)


def _functional(
    name: str,
    ours: Callable[[Tensor], Tensor],
    theirs: Callable[[Any, Any], Any],
    shape: tuple[int, ...] = MATRIX,
    target: float = TARGET,
) -> Work:
    """Return a function; `theirs` gets `torch.nn.functional` and the operand."""

    def make(torch: ModuleType) -> Callable[[Any], Any]:
        return partial(theirs, torch.nn.functional)

    return Work(f"{name}, {_text(shape)}", shape, ours, make, target)


def _layer(
    ours: nn.Cell,
    theirs: Callable[[Any], Callable[[Any], Any]],
    shape: tuple[int, ...],
    target: float = TARGET,
) -> Work:
    """Return a layer; `theirs` makes PyTorch's from `torch.nn`."""
    name = f"{type(ours).__name__}, {_text(shape)}"
    return Work(name, shape, ours.set_train(), lambda torch: theirs(torch.nn), target)


def _binary(
    name: str,
    operation: Callable[[Any, Any], Any],
    shape: tuple[int, ...] = MATRIX,
    other: tuple[int, ...] = MATRIX,
    target: float = TARGET,
) -> Work:
    """Return an operator with a second operand, of the shape `other`, that is constant."""
    values = np.random.default_rng(1).standard_normal(other, np.float32)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        y = torch.from_numpy(values)
        return lambda x: operation(x, y)

    y = Tensor(values)
    text = f"{name}, {_text(shape)}" + f" and {_text(other)}" * (other != shape)
    return Work(text, shape, lambda x: operation(x, y), theirs, target)


def _indexed(
    name: str,
    ours: Callable[[Tensor, Tensor], Tensor],
    theirs: Callable[[Any, Any, Any], Any],
    ids: NDArray[np.int64],
    shape: tuple[int, ...] = MATRIX,
    target: float = TARGET,
) -> Work:
    """Return an operation with indices or labels; `theirs` gets torch, the operand and them."""

    def make(torch: ModuleType) -> Callable[[Any], Any]:
        indices = torch.from_numpy(ids)
        return lambda x: theirs(torch, x, indices)

    indices = Tensor(ids, ms.int32)
    return Work(f"{name}, {_text(shape)}", shape, lambda x: ours(x, indices), make, target)


def _ids(shape: int | tuple[int, ...], below: int) -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, below, shape)


def _conv(
    name: str, shape: tuple[int, ...], outs: int, kernel: int, group: int, target: float
) -> Work:
    ins = shape[1]
    layer = nn.Conv2d(ins, outs, kernel, group=group)

    def theirs(torch: ModuleType) -> Callable[[Any], Any]:
        layer: Callable[[Any], Any]
        layer = torch.nn.Conv2d(ins, outs, kernel, padding=kernel // 2, groups=group, bias=False)
        return layer

    return Work(f"{name}, {_text(shape)}", shape, layer, theirs, target)


def works() -> Sequence[Work]:
    """Return what is measured."""
    rows = (10_000, 64)
    return [
        _binary("x + y", lambda x, y: x + y, target=1.3),
        _binary("x * y", lambda x, y: x * y),
        _binary("x / y", lambda x, y: x / y),
        _binary("x + y", lambda x, y: x + y, (64, 1, 256), (256, 1), 2.0),
        _binary("x @ y", lambda x, y: x @ y, (256, 256), (256, 256)),
        _same("x ** 3", lambda x: x**3, target=1.0),
        _same("x ** 4", lambda x: x**4, target=1.0),
        _same("x ** 2.5", lambda x: x**2.5, target=1.2),
        *(_function(name) for name in FUNCTIONS),
        _function("relu", 1.1),
        _function("sigmoid", 2.5),
        _functional("gelu", ops.gelu, lambda F, x: F.gelu(x)),
        _functional("silu", ops.silu, lambda F, x: F.silu(x)),
        _functional("leaky_relu", lambda x: ops.leaky_relu(x, 0.01), lambda F, x: F.leaky_relu(x)),
        _functional("softplus", ops.softplus, lambda F, x: F.softplus(x)),
        _functional("softmax", ops.softmax, lambda F, x: F.softmax(x, -1), target=1.7),
        _functional("log_softmax", ops.log_softmax, lambda F, x: F.log_softmax(x, -1), target=1.8),
        _same("sum of all", lambda x: x.sum()),
        _same("sum over axis 0", lambda x: x.sum(0), (1024, 1024), 1.2),
        _same("sum over axis 1", lambda x: x.sum(1)),
        _same("mean over axis 1", lambda x: x.mean(1)),
        _same("max over axis 1", lambda x: x.amax(1)),
        _same("standard deviation over axis 1", lambda x: x.std(1)),
        _same("cumsum along axis 1", lambda x: x.cumsum(1)),
        _same("transpose, then square", lambda x: x.T**2),
        _same("reshape, then square", lambda x: x.reshape(-1) ** 2),
        _same("x[:, ::2]", lambda x: x[:, ::2]),
        _functional(
            "concatenation with itself",
            lambda x: ops.cat([x, x], 1),
            lambda F, x: F.pad(x, (0, 0)).repeat(1, 2),
        ),
        _functional("pad", lambda x: ops.pad(x, (2, 2)), lambda F, x: F.pad(x, (2, 2))),
        _indexed("x[ids]", lambda x, i: x[i], lambda _, x, i: x[i], _ids(4096, 10_000), rows),
        _indexed(
            "embedding",
            lambda x, i: ops.gather(x, i, 0),
            lambda torch, x, i: torch.nn.functional.embedding(i, x),
            _ids(4096, 10_000),
            rows,
        ),
        _indexed(
            "gather, 512 columns",
            lambda x, i: ops.gather(x, i, 1),
            lambda torch, x, i: torch.index_select(x, 1, i),
            _ids(512, 1024),
        ),
        _indexed(
            "gather_elements along axis 1",
            lambda x, i: ops.gather_elements(x, 1, i),
            lambda torch, x, i: torch.gather(x, 1, i),
            _ids(MATRIX, 1024),
        ),
        *(
            _indexed(
                "cross entropy",
                ops.cross_entropy,
                lambda torch, x, i: torch.nn.functional.cross_entropy(x, i),
                _ids(shape[0], shape[1]),
                shape,
                target,
            )
            for shape, target in (((64, 10), 1.3), ((64, 10_000), 1.3))
        ),
        *(
            _layer(nn.LayerNorm((512,)), lambda nn: nn.LayerNorm(512), shape, target)
            for shape, target in (((64, 512), 1.8), ((32, 64, 512), 2.5))
        ),
        _layer(nn.BatchNorm1d(512), lambda nn: nn.BatchNorm1d(512), (256, 512)),
        _layer(nn.BatchNorm2d(64), lambda nn: nn.BatchNorm2d(64), (32, 64, 16, 16), 1.2),
        _layer(nn.Dense(512, 256), lambda nn: nn.Linear(512, 256), (64, 512), 1.2),
        _layer(nn.MaxPool2d(2, 2), lambda nn: nn.MaxPool2d(2), IMAGES),
        _layer(nn.AvgPool2d(2, 2), lambda nn: nn.AvgPool2d(2), IMAGES),
        _conv("convolution 1 × 1 to 64 channels", IMAGES, 64, 1, 1, 1.1),
        _conv("convolution 3 × 3 to 64 channels", (16, 32, 32, 32), 64, 3, 1, 1.2),
        _conv("depthwise convolution 3 × 3", IMAGES, 64, 3, 64, 2.5),
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
