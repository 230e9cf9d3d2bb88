"""Random programs of operations, which run on tensors and on naive Numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

import numpy as np
from hypothesis import strategies as st

from minispore import Tensor
from minispore.testing import strategies as mst
from tests.helpers.naive_autodiff import Numbers, array
from tests.helpers.program_operations import OPERATIONS, Shape


@dataclass(frozen=True)
class Step:
    """A line of a program: an operation, the indices of its operands, and its other arguments."""

    name: str
    operands: tuple[int, ...]
    args: tuple[object, ...]

    def on_tensors(self, operands: Sequence[Tensor]) -> Tensor:
        return cast("Tensor", OPERATIONS[self.name].ours(*operands, *self.args))

    def __str__(self) -> str:
        arguments = [*(f"v{i}" for i in self.operands), *map(repr, self.args)]
        return f"{self.name}({', '.join(arguments)})"


@dataclass(frozen=True)
class Program:
    """Shapes of inputs, and steps that each compute one value; the last one is the result."""

    shapes: tuple[Shape, ...]
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = [f"v{i} = an input of shape {shape}" for i, shape in enumerate(self.shapes)]
        lines += [f"v{i} = {step}" for i, step in enumerate(self.steps, len(self.shapes))]
        return "\n".join(lines)

    def on_tensors(self, *inputs: Tensor) -> Tensor:
        values = list(inputs)
        for step in self.steps:
            operands = [values[i] for i in step.operands]
            values.append(step.on_tensors(operands))
        return values[-1]

    def on_numbers(self, inputs: Sequence[Numbers]) -> Numbers:
        values = list(inputs)
        for step in self.steps:
            operands = [values[i] for i in step.operands]
            values.append(array(OPERATIONS[step.name].naive(*operands, *step.args)))
        return values[-1]


def shape_after(step: Step, shapes: Sequence[Shape]) -> Shape:
    return step.on_tensors([Tensor(np.ones(shapes[i])) for i in step.operands]).shape


def fitting(name: str, shapes: Sequence[Shape]) -> list[tuple[int, ...]]:
    """Return the possible operands, the newest first, so that shrinking drops unused values."""
    newest = range(len(shapes) - 1, -1, -1)
    choices = product(newest, repeat=OPERATIONS[name].operands)
    return [choice for choice in choices if OPERATIONS[name].fits(*(shapes[i] for i in choice))]


@st.composite
def programs(draw: st.DrawFn, max_steps: int = 6) -> Program:
    """Draw a program of up to three inputs; each step uses values of valid shapes."""
    inputs: list[Shape] = draw(st.lists(mst.shapes(0, 2, 1, 3), min_size=1, max_size=3))
    shapes = list(inputs)
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, max_steps))):
        name = draw(st.sampled_from(list(OPERATIONS)))
        choices = fitting(name, shapes)
        if not choices:
            continue
        operands = draw(st.sampled_from(choices))
        args = draw(OPERATIONS[name].args(shapes[operands[0]]))
        step = Step(name, operands, args)
        after = shape_after(step, shapes)
        if len(after) <= 3 and np.prod(after) <= 12:
            steps.append(step)
            shapes.append(after)
    return Program(tuple(inputs), tuple(steps))
