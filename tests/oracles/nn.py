"""Compare layers, losses, schedules and optimizers with recorded outputs of MindSpore.

`nn.txt` has the format of `tests/oracles/common.txt` and was recorded with MindSpore 2.10. A Python
that has MindSpore records it from the root of the project:

    python -m tests.oracles.nn mindspore < tests/oracles/nn.txt > new.txt
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from tests.oracles.common import main
from tests.oracles.metrics import shown

FILE = Path(__file__).with_suffix(".txt")
STEPS = 25
Floats: TypeAlias = npt.NDArray[np.float32]


class Tensor(Protocol):
    """The attributes of a tensor of either package that the tests use."""

    name: str
    T: "Tensor"

    def asnumpy(self) -> npt.NDArray[np.generic]: ...
    def sum(self) -> "Tensor": ...
    def __mul__(self, other: "Tensor | float") -> "Tensor": ...
    def __add__(self, other: "Tensor") -> "Tensor": ...


class Parameter(Tensor, Protocol):
    """The attributes of a parameter of either package that the tests use."""

    shape: tuple[int, ...]

    def set_data(self, data: Tensor) -> object: ...


class Cell(Protocol):
    """The attributes of a cell of either package that the tests use."""

    def __call__(self, *inputs: object) -> object: ...
    def get_parameters(self) -> Iterable[Parameter]: ...


Function: TypeAlias = Callable[..., Tensor]
Optimizer: TypeAlias = Callable[[Sequence[Tensor]], object]


def leaves(nested: object) -> list[Tensor]:
    """Return the tensors of nested tuples."""
    items = cast("tuple[object, ...]", nested) if isinstance(nested, tuple) else None
    if items is None:
        return [cast("Tensor", nested)]
    return [leaf for item in items for leaf in leaves(item)]


def outcome(package: str, expression: str) -> str:
    """Return the value of an expression as text, or the name of the error that it raises."""
    ms = import_module(package)

    def of(seed: int, *shape: int) -> Tensor:
        """Return a tensor of normally distributed random numbers."""
        values = np.random.RandomState(seed).standard_normal(shape)
        tensor: Tensor = ms.Tensor(values.astype(np.float32))
        return tensor

    def value_and_gradients(
        function: Function, *inputs: Tensor
    ) -> tuple[npt.NDArray[np.generic], ...]:
        """Return a function's value and its gradients by first input and cell parameters."""
        start = of(9, *function(*inputs).asnumpy().shape)
        cell = isinstance(function, ms.nn.Cell)
        weights = ms.ParameterTuple(function.trainable_params()) if cell else ()  # type: ignore[attr-defined]

        def weighted(*xs: Tensor) -> Tensor:
            return (function(*xs) * start).sum()

        gradients = ms.grad(weighted, 0, weights or None)(*inputs)
        by_input, by_weights = gradients if weights else (gradients, ())
        return tuple(tensor.asnumpy() for tensor in (function(*inputs), by_input, *by_weights))

    def filled(cell: Cell) -> Cell:
        """Return the cell, with small random numbers in its parameters."""
        for i, parameter in enumerate(cell.get_parameters()):
            parameter.set_data(of(i, *parameter.shape) * 0.25)
        return cell

    def all_gradients(
        cell: Cell, x: Tensor, *inputs: object
    ) -> tuple[npt.NDArray[np.generic], ...]:
        """Return all outputs of a filled cell, and the gradients by `x` and the parameters."""
        filled(cell)

        def outputs(x: Tensor) -> list[Tensor]:
            return leaves(cell(x, *inputs))

        starts = [of(i, *y.asnumpy().shape) for i, y in enumerate(outputs(x))]

        def weighted(x: Tensor) -> Tensor:
            first, *others = [(y * z).sum() for y, z in zip(outputs(x), starts, strict=True)]
            return sum(others, first)

        weights = ms.ParameterTuple(cell.get_parameters())
        by_x, by_weights = ms.grad(weighted, 0, weights)(x)
        return tuple(y.asnumpy() for y in (*outputs(x), by_x, *by_weights))

    def trained(make: Callable[[Sequence[Tensor]], Optimizer]) -> tuple[Floats, ...]:
        """Return two parameters after many steps of an optimizer with random gradients."""
        rng = np.random.RandomState(1)
        shapes = {"weight": (2, 2), "beta": (3,)}
        parameters = [
            ms.Parameter(of(i, *shape), name=name) for i, (name, shape) in enumerate(shapes.items())
        ]
        optimizer = make(parameters)
        for _ in range(STEPS):
            gradients = [rng.standard_normal(shape).astype(np.float32) for shape in shapes.values()]
            optimizer(tuple(ms.Tensor(gradient) for gradient in gradients))
        return tuple(parameter.asnumpy() for parameter in parameters)

    def rates(cell: Callable[[Tensor], Tensor], count: int = 12) -> list[float]:
        """Return the learning rates of a schedule's first steps."""
        return [float(cell(ms.Tensor(i, ms.int32)).asnumpy()) for i in range(count)]

    names: dict[str, object] = {
        "ms": ms,
        "nn": ms.nn,
        "np": np,
        "Tensor": ms.Tensor,
        "of": of,
        "value_and_gradients": value_and_gradients,
        "filled": filled,
        "all_gradients": all_gradients,
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
