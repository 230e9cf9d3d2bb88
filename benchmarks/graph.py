"""Computational graphs: a deep one, the memory of a node, and second derivatives."""

from collections.abc import Callable
from time import process_time
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks import _other_frameworks
from benchmarks._other_frameworks import Run
from benchmarks._timing import Baseline, Row, compare
from minispore import Tensor, grad, ops

DEEP = 1_000_000
SHALLOW = 1000
LESS_DEEP = 5_000  # for libraries whose time grows faster than the depth
WIDTH = 256
COUNT = 20_000

# Prints the memory of a process for each recorded operation of a chain, in bytes.
_MEMORY = """
import os

def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

{chain}
chain(1000)
before = memory()
after = chain({count})
print((after - before) / {count})
"""
# For libraries that record operations at any time, and for those that differentiate functions.
_MEMORY_EAGER = """
{imports}

def chain(count):
    x = {start}
    for _ in range(count):
        x = x * 1.0000001
    return memory()
"""
_MEMORY_OF_FUNCTION = """
{imports}

def chain(count):
    result = []
    def f(x):
        for _ in range(count):
            x = x * 1.0000001
        result.append(memory())
        return x[0]
    grad(f)({start})
    return result[0]
"""
_MEMORY_OURS = _MEMORY_OF_FUNCTION.format(
    imports="from minispore import Tensor, grad", start="Tensor([1.0])"
)
_MEMORY_OTHERS = {
    ("PyTorch eager", "torch"): _MEMORY_EAGER.format(
        imports="import torch", start="torch.tensor([1.0], requires_grad=True)"
    ),
    ("MyGrad", "mygrad"): _MEMORY_EAGER.format(
        imports="import mygrad", start="mygrad.tensor([1.0])"
    ),
    ("HIPS autograd", "autograd"): _MEMORY_OF_FUNCTION.format(
        imports="import numpy; from autograd import grad", start="numpy.array([1.0])"
    ),
}


class _Factor(Protocol):
    def __mul__(self, other: float, /) -> Self: ...


F = TypeVar("F", bound=_Factor)


def rows() -> list[Row]:
    """Return the rows of all three."""
    return [*_deep(), *_memory(), *_second_derivative()]


def _deep() -> list[Row]:
    """Return the rows of a chain of multiplications, forward and backward."""

    def ours(depth: int) -> Run:
        def chain(x: Tensor) -> Tensor:
            return _chain(x, depth)

        return lambda: _discard(grad(chain)(Tensor([1.0])))

    def seconds_of_operation(depth: int) -> Run:
        def run() -> float:
            start = process_time()
            for _ in range(DEEP // depth):
                ours(depth)()
            return (process_time() - start) / DEEP

        return run

    rows = compare(
        f"an operation of a chain of {DEEP:,}",
        seconds_of_operation(DEEP),
        [Baseline(f"of a chain of {SHALLOW:,}", seconds_of_operation(SHALLOW), 1.5)],
        turns=5,
    )
    torch = _other_frameworks.library("torch")
    if torch is not None:

        def theirs() -> None:
            _chain(torch.tensor([1.0], requires_grad=True), DEEP).backward()

        baselines = [Baseline("PyTorch eager", theirs)]
        rows += compare(
            f"a chain of {DEEP:,} multiplications",
            ours(DEEP),
            baselines,
            turns=5,
            clock=process_time,
        )
    others: list[Baseline] = []
    mygrad = _other_frameworks.library("mygrad")
    if mygrad is not None:
        others.append(
            Baseline("MyGrad", lambda: _chain(mygrad.tensor([1.0]), LESS_DEEP).backward())
        )
    autograd = _other_frameworks.library("autograd")
    if autograd is not None:

        def chain(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return _chain(x, LESS_DEEP)

        gradient = autograd.elementwise_grad(chain)
        others.append(Baseline("HIPS autograd", lambda: _discard(gradient(np.array([1.0])))))
    work = f"a chain of {LESS_DEEP:,} multiplications"
    return [*rows, *compare(work, ours(LESS_DEEP), others, turns=7, clock=process_time)]


def _memory() -> list[Row]:
    """Return the rows of the memory of an operation on one element, until the backward pass."""

    def measuring(chain: str) -> Run:
        return lambda: _other_frameworks.run_python(_MEMORY.format(chain=chain, count=COUNT))[0]

    others = [
        Baseline(name, measuring(chain))
        for (name, module), chain in _MEMORY_OTHERS.items()
        if _other_frameworks.library(module) is not None
    ]
    work = "memory of a recorded operation"
    return compare(work, measuring(_MEMORY_OURS), others, turns=5, unit="B")


def _second_derivative() -> list[Row]:
    """Return the rows of the gradient of |∇f|² for f(x) = Σ tanh(W·x), a gradient penalty."""
    matrix = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    start = np.linspace(-1, 1, WIDTH, dtype=np.float32)
    weights, x = Tensor(matrix), Tensor(start)

    def f(x: Tensor) -> Tensor:
        return ops.tanh(ops.matmul(weights, x)).sum()

    def squared_gradient(x: Tensor) -> Tensor:
        return ops.square(grad(f)(x)).sum()

    penalty = grad(squared_gradient)
    others: list[Baseline] = []
    torch = _other_frameworks.library("torch")
    if torch is not None:
        their_weights = torch.from_numpy(matrix)
        their_x = torch.from_numpy(start).requires_grad_()

        def by_torch() -> None:
            loss = torch.tanh(their_weights @ their_x).sum()
            (gradient,) = torch.autograd.grad(loss, their_x, create_graph=True)
            torch.autograd.grad((gradient * gradient).sum(), their_x)

        others.append(Baseline("PyTorch eager", _fifty_times(by_torch)))
    autograd, anp = (
        _other_frameworks.library("autograd"),
        _other_frameworks.library("autograd.numpy"),
    )
    if autograd is not None and anp is not None:

        def their_f(x: object) -> object:
            return anp.sum(anp.tanh(anp.dot(matrix, x)))

        gradient_of = autograd.grad(their_f)

        def their_squared_gradient(x: object) -> object:
            return anp.sum(anp.square(gradient_of(x)))

        their_penalty = autograd.grad(their_squared_gradient)
        others.append(
            Baseline("HIPS autograd", _fifty_times(lambda: _discard(their_penalty(start))))
        )
    work = "50 second derivatives"
    return compare(
        work, _fifty_times(lambda: _discard(penalty(x))), others, turns=15, clock=process_time
    )


def _chain(x: F, depth: int) -> F:
    for _ in range(depth):
        x = x * 1.0000001
    return x


def _fifty_times(run: Callable[[], None]) -> Run:
    def repeat() -> None:
        for _ in range(50):
            run()

    return repeat


def _discard(_: object) -> None:
    pass
