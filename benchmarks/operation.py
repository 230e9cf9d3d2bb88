"""One recorded operation, forward and backward, on a tensor of one element."""

from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks import _other_frameworks
from benchmarks._other_frameworks import Run
from benchmarks._timing import Baseline, Row, compare
from minispore import Tensor, grad

COUNT = 2000


def rows() -> list[Row]:
    """Return the rows of many multiplications, each with its derivative."""
    factor, value = Tensor([1.0000001]), Tensor([1.0])

    def product(x: Tensor) -> Tensor:
        return x * factor

    def ours() -> None:
        for _ in range(COUNT):
            grad(product)(value)

    others = [
        Baseline(name, run, target)
        for name, run, target in (
            ("PyTorch eager", _by_torch(), 0.6),
            ("MyGrad", _by_mygrad(), None),
            ("HIPS autograd", _by_autograd(), None),
        )
        if run is not None
    ]
    return compare(
        f"{COUNT} times x · c forward and backward", ours, others, turns=21, clock=process_time
    )


def _by_torch() -> Run | None:
    torch = _other_frameworks.library("torch")
    if torch is None:
        return None
    factor, value = torch.tensor([1.0000001]), torch.tensor([1.0], requires_grad=True)

    def run() -> None:
        for _ in range(COUNT):
            torch.autograd.grad(value * factor, value)

    return run


def _by_mygrad() -> Run | None:
    mygrad = _other_frameworks.library("mygrad")
    if mygrad is None:
        return None
    factor, value = np.array([1.0000001], np.float32), mygrad.tensor([1.0], dtype=np.float32)

    def run() -> None:
        for _ in range(COUNT):
            (value * factor).backward()

    return run


def _by_autograd() -> Run | None:
    autograd = _other_frameworks.library("autograd")
    if autograd is None:
        return None
    factor, value = np.array([1.0000001], np.float32), np.array([1.0], np.float32)

    def product(x: NDArray[np.float32]) -> NDArray[np.float32]:
        return x * factor

    gradient = autograd.elementwise_grad(product)

    def run() -> None:
        for _ in range(COUNT):
            gradient(value)

    return run
