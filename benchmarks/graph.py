"""Graphs: a deep one, the memory of one, and the derivative of a derivative."""

from collections.abc import Callable
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks import _peers
from benchmarks._peers import Run
from benchmarks._timing import Contestant, Row, compare
from minispore import Tensor, grad, ops

DEEP = 1_000_000
LESS_DEEP = 5_000  # for those whose time grows faster than the depth
WIDTH = 256
KEPT = 20_000

# The bytes that a process comes to hold for each operation of a chain that it records.
_MEMORY = """
import os

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

{chain}
chain(1000)
before = held()
kept = chain({count})
print((kept - before) / {count})
"""
_MEMORY_OURS = """
from minispore import Tensor, grad

def chain(count):
    found = []
    def f(x):
        for _ in range(count):
            x = x * 1.0000001
        found.append(held())
        return x
    grad(f)(Tensor([1.0]))
    return found[0]
"""
_MEMORY_TORCH = """
import torch

def chain(count):
    x = torch.tensor([1.0], requires_grad=True)
    for _ in range(count):
        x = x * 1.0000001
    return held()
"""
_MEMORY_MYGRAD = """
import mygrad

def chain(count):
    x = mygrad.tensor([1.0])
    for _ in range(count):
        x = x * 1.0000001
    return held()
"""
_MEMORY_AUTOGRAD = """
import autograd, numpy

def chain(count):
    found = []
    def f(x):
        for _ in range(count):
            x = x * 1.0000001
        found.append(held())
        return x[0]
    autograd.grad(f)(numpy.array([1.0]))
    return found[0]
"""


class _Factor(Protocol):
    def __mul__(self, other: float, /) -> Self: ...


F = TypeVar("F", bound=_Factor)


def rows() -> list[Row]:
    """All three."""
    return [*_deep(), *_memory(), *_second_derivative()]


def _deep() -> list[Row]:
    """A chain of multiplications, forward and backward."""

    def ours(depth: int) -> Run:
        def chain(x: Tensor) -> Tensor:
            return _chain(x, depth)

        return lambda: _discard(grad(chain)(Tensor([1.0])))

    rows: list[Row] = []
    torch = _peers.library("torch")
    if torch is not None:

        def theirs() -> None:
            _chain(torch.tensor([1.0], requires_grad=True), DEEP).backward()

        beside = [Contestant("PyTorch eager", theirs)]
        rows += compare(f"a chain of {DEEP:,} multiplications", ours(DEEP), beside, turns=5)
    others: list[Contestant] = []
    mygrad = _peers.library("mygrad")
    if mygrad is not None:
        others.append(
            Contestant("MyGrad", lambda: _chain(mygrad.tensor([1.0]), LESS_DEEP).backward())
        )
    autograd = _peers.library("autograd")
    if autograd is not None:

        def chain(x: NDArray[np.float64]) -> NDArray[np.float64]:
            return _chain(x, LESS_DEEP)

        gradient = autograd.elementwise_grad(chain)
        others.append(Contestant("HIPS autograd", lambda: _discard(gradient(np.array([1.0])))))
    work = f"a chain of {LESS_DEEP:,} multiplications"
    return [*rows, *compare(work, ours(LESS_DEEP), others, turns=7)]


def _memory() -> list[Row]:
    """What a recorded operation on one element keeps until the walk back."""

    def measuring(chain: str) -> Run:
        return lambda: _peers.fresh(_MEMORY.format(chain=chain, count=KEPT))[0]

    others = [
        Contestant(name, measuring(chain))
        for name, module, chain in (
            ("PyTorch eager", "torch", _MEMORY_TORCH),
            ("MyGrad", "mygrad", _MEMORY_MYGRAD),
            ("HIPS autograd", "autograd", _MEMORY_AUTOGRAD),
        )
        if _peers.library(module) is not None
    ]
    work = "memory of a recorded operation"
    return compare(work, measuring(_MEMORY_OURS), others, turns=5, unit="B")


def _second_derivative() -> list[Row]:
    """The gradient of |∇f|² for f(x) = Σ tanh(W·x), as a penalty on gradients is trained."""
    matrix = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32)
    start = np.linspace(-1, 1, WIDTH, dtype=np.float32)
    weights, x = Tensor(matrix), Tensor(start)

    def f(x: Tensor) -> Tensor:
        return ops.tanh(ops.matmul(weights, x)).sum()

    def squared_slope(x: Tensor) -> Tensor:
        return ops.square(grad(f)(x)).sum()

    penalty = grad(squared_slope)
    others: list[Contestant] = []
    torch = _peers.library("torch")
    if torch is not None:
        their_weights = torch.from_numpy(matrix)
        their_x = torch.from_numpy(start).requires_grad_()

        def by_torch() -> None:
            loss = torch.tanh(their_weights @ their_x).sum()
            (slope,) = torch.autograd.grad(loss, their_x, create_graph=True)
            torch.autograd.grad((slope * slope).sum(), their_x)

        others.append(Contestant("PyTorch eager", _often(by_torch)))
    autograd, anp = _peers.library("autograd"), _peers.library("autograd.numpy")
    if autograd is not None and anp is not None:

        def their_f(x: object) -> object:
            return anp.sum(anp.tanh(anp.dot(matrix, x)))

        slope_of = autograd.grad(their_f)

        def their_squared_slope(x: object) -> object:
            return anp.sum(anp.square(slope_of(x)))

        their_penalty = autograd.grad(their_squared_slope)
        others.append(Contestant("HIPS autograd", _often(lambda: _discard(their_penalty(start)))))
    work = "50 second derivatives"
    return compare(work, _often(lambda: _discard(penalty(x))), others, turns=15)


def _chain(x: F, depth: int) -> F:
    for _ in range(depth):
        x = x * 1.0000001
    return x


def _often(run: Callable[[], None]) -> Run:
    def all_of_them() -> None:
        for _ in range(50):
            run()

    return all_of_them


def _discard(_: object) -> None:
    pass
