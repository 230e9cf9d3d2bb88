"""What MindSpore's layers, losses, rates and optimisers answer, and what minispore's answer.

`oracle.txt` is written as `tests/common/oracle.txt` is, and printed anew by a Python that has
MindSpore (2.10 made the outcomes that are kept), from the root of the project:

    python -m tests.nn.oracle mindspore < tests/nn/oracle.txt > new.txt
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ..common.oracle import main
from ..metrics.oracle import shown

FILE = Path(__file__).with_name("oracle.txt")
STEPS = 25
Floats: TypeAlias = npt.NDArray[np.float32]


class Tensor(Protocol):
    """What is read off a tensor of either package."""

    name: str
    T: "Tensor"

    def asnumpy(self) -> npt.NDArray[np.generic]: ...
    def sum(self) -> "Tensor": ...
    def __mul__(self, other: "Tensor") -> "Tensor": ...


Function: TypeAlias = Callable[..., Tensor]
Optimizer: TypeAlias = Callable[[Sequence[Tensor]], object]


def outcome(package: str, expression: str) -> str:
    """What an expression gives, or the name of the error that it raises."""
    ms = import_module(package)

    def of(seed: int, *shape: int) -> Tensor:
        """Random numbers, of which most are between -2 and 2."""
        values = np.random.RandomState(seed).standard_normal(shape)
        return cast("Tensor", ms.Tensor(values.astype(np.float32)))

    def slopes(function: Function, *inputs: Tensor) -> tuple[npt.NDArray[np.generic], ...]:
        """A function's value, and its slopes by its first input and by the cell's parameters."""
        start = of(9, *function(*inputs).asnumpy().shape)
        cell = isinstance(function, ms.nn.Cell)
        weights = ms.ParameterTuple(function.trainable_params()) if cell else ()  # type: ignore[attr-defined]

        def weighed(*given: Tensor) -> Tensor:
            return (function(*given) * start).sum()

        found = ms.grad(weighed, 0, weights or None)(*inputs)
        by_input, by_weights = found if weights else (found, ())
        return tuple(each.asnumpy() for each in (function(*inputs), by_input, *by_weights))

    def trained(make: Callable[[Sequence[Tensor]], Optimizer]) -> tuple[Floats, ...]:
        """Two parameters after many steps of an optimiser, along random gradients."""
        rng = np.random.RandomState(1)
        shapes = {"weight": (2, 2), "beta": (3,)}
        made = [
            ms.Parameter(of(i, *shape), name=name) for i, (name, shape) in enumerate(shapes.items())
        ]
        optimizer = make(made)
        for _ in range(STEPS):
            gradients = [rng.standard_normal(shape).astype(np.float32) for shape in shapes.values()]
            optimizer(tuple(ms.Tensor(gradient) for gradient in gradients))
        return tuple(each.asnumpy() for each in made)

    def rates(cell: Callable[[Tensor], Tensor], count: int = 12) -> list[float]:
        """The rates of a schedule's first steps."""
        return [float(cell(ms.Tensor(i, ms.int32)).asnumpy()) for i in range(count)]

    names: dict[str, object] = {
        "ms": ms,
        "nn": ms.nn,
        "np": np,
        "Tensor": ms.Tensor,
        "of": of,
        "slopes": slopes,
        "trained": trained,
        "rates": rates,
    }
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return shown(eval(expression, names))
        except Exception as error:
            return f"raises {type(error).__name__}"


if __name__ == "__main__":
    main(sys.argv[1], outcome)
