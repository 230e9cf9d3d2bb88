"""Lesson 7: stochastic gradient descent, with momentum."""

from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Contract, Lesson, Property, bugs
from minispore._course.feedback import WrongResult
from minispore.common import Parameter, Tensor

# The elements of each parameter.
Values: TypeAlias = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Case:
    """A few steps of an optimizer.

    Attributes:
        weights: The initial parameters.
        gradients: The gradients of each step.
        rate: The learning rate.
        momentum: The momentum.
        dampening: The dampening.
        nesterov: Whether Nesterov momentum is used.
        ascends: Whether the step is added.
        dampens_first: Whether the first gradient is dampened as each other.
    """

    weights: Values
    gradients: tuple[Values, ...]
    rate: float = 1.0
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    ascends: bool = False
    dampens_first: bool = False

    def __str__(self) -> str:
        text = f"learning_rate={self.rate:g}"
        for name in ("momentum", "dampening", "nesterov"):
            value: float = getattr(self, name)
            text += f", {name}={value}" if value else ""
        gradients = ", then ".join(map(_format_values, self.gradients))
        noun = "the weight" if _is_one(self.weights) else "the weights"
        one = len(self.gradients) == 1 and _is_one(self.weights)
        label = "the gradient" if one else "the gradients"
        return f"{text}, {noun} {_format_values(self.weights)} and {label} {gradients}"

    def optimizer(self, work: ModuleType) -> tuple[object, list[Parameter]]:
        """Return the learner's optimizer and its parameters."""
        parameters = [
            Parameter(Tensor(np.array(weight, np.float32)), name=f"w{i}")
            for i, weight in enumerate(self.weights)
        ]
        optimizer = work.SGD(
            parameters,
            self.rate,
            momentum=self.momentum,
            dampening=self.dampening,
            nesterov=self.nesterov,
        )
        return optimizer, parameters

    def expected(self) -> list[Values]:
        """Return the weights after each step, computed naively, element by element."""
        weights = [list(weight) for weight in self.weights]
        velocity = [[0.0] * len(weight) for weight in self.weights]
        trajectory = list[Values]()
        for number, gradients in enumerate(self.gradients):
            for i, gradient in enumerate(gradients):
                for j, g in enumerate(gradient):
                    v = g
                    if number or self.dampens_first:
                        v = self.momentum * velocity[i][j] + (1 - self.dampening) * g
                    velocity[i][j] = v
                    step = g if not self.momentum else v
                    if self.nesterov:
                        step = g + self.momentum * v
                    weights[i][j] += self.rate * (step if self.ascends else -step)
            trajectory.append(tuple(map(tuple, weights)))
        return trajectory


def _is_one(values: Values) -> bool:
    """Return whether there is only one number."""
    return sum(map(len, values)) == 1


def _format_values(values: Values) -> str:
    """Format a single number as such, and several numbers as a list for each parameter."""
    parts = [", ".join(f"{value:g}" for value in elements) for elements in values]
    if not _is_one(values):
        parts = [f"[{part}]" for part in parts]
    return " and ".join(parts)


def cases(
    *,
    steps: int = 1,
    several: bool = False,
    momentum: bool = False,
    dampening: bool = False,
    nesterov: bool = False,
    ascends: bool = False,
    dampens_first: bool = False,
) -> st.SearchStrategy[Case]:
    """Generate short runs with numbers whose products are exact."""
    number = st.integers(-2, 2).map(float)
    shapes = [(1,), (2,), (1, 1), (2, 1)] if several else [(1,)]

    def with_shape(shape: tuple[int, ...]) -> st.SearchStrategy[Case]:
        tuples = [st.tuples(*[number] * size) for size in shape]
        values = st.tuples(*tuples)
        return st.builds(
            Case,
            values,
            st.lists(values, min_size=1, max_size=steps).map(tuple),
            st.sampled_from([1.0, 0.5]),
            st.sampled_from([0.5, 0.25]) if momentum else st.just(0.0),
            st.sampled_from([0.25, 0.5]) if dampening else st.just(0.0),
            st.just(nesterov),
            st.just(ascends),
            st.just(dampens_first),
        )

    return st.one_of(list(map(with_shape, shapes)))


def _steps_are_correct(work: ModuleType, case: Case) -> None:
    optimizer, parameters = case.optimizer(work)
    assert callable(optimizer)
    for number, (gradients, expected) in enumerate(
        zip(case.gradients, case.expected(), strict=True), start=1
    ):
        optimizer(tuple(Tensor(np.array(gradient, np.float32)) for gradient in gradients))
        actual = tuple(tuple(parameter.asnumpy().tolist()) for parameter in parameters)
        if not all(map(np.allclose, actual, expected)):
            noun = "weight" if _is_one(expected) else "weights"
            verb = "was" if _is_one(expected) else "were"
            when = f" after step {number}" if len(case.gradients) > 1 else ""
            raise WrongResult(
                f"your step set the {noun} to {_format_values(actual)}{when}, "
                f"but {_format_values(expected)} {verb} expected"
            )


def _gradients_are_unchanged(work: ModuleType, case: Case) -> None:
    optimizer, _ = case.optimizer(work)
    assert callable(optimizer)
    for gradients in case.gradients:
        tensors = tuple(Tensor(np.array(gradient, np.float32)) for gradient in gradients)
        optimizer(tensors)
        actual = tuple(tuple(tensor.asnumpy().tolist()) for tensor in tensors)
        if actual != gradients:
            raise WrongResult(
                f"your step modified the gradient {_format_values(gradients)} in place, "
                f"to {_format_values(actual)}"
            )


def _properties(*, ascends: bool = False, dampens_first: bool = False) -> tuple[Property, ...]:
    runs = partial(cases, ascends=ascends, dampens_first=dampens_first)
    step = "the learning rate times the gradient"
    verb = f"adds {step} to" if ascends else f"subtracts {step} from"
    v = "momentum times v plus the gradient"
    v = v if dampens_first else f"the first gradient, and then {v}"
    other = "" if dampens_first else " except the first"
    return (
        Property(
            f"A step {verb} the parameter.",
            runs(), _steps_are_correct,
        ),
        Property(
            f"With momentum, the step follows v: {v}.",
            runs(steps=3, momentum=True), _steps_are_correct,
        ),
        Property(
            f"Dampening reduces the contribution of each gradient{other}.",
            runs(steps=3, momentum=True, dampening=True), _steps_are_correct,
        ),
        Property(
            "With nesterov, the step follows the gradient plus momentum times the new v.",
            runs(steps=3, momentum=True, nesterov=True), _steps_are_correct,
        ),
        Property(
            "Each parameter has its own v.",
            runs(steps=3, momentum=True, several=True), _steps_are_correct,
        ),
        Property(
            "The gradients are not modified.",
            runs(several=True)
            | runs(steps=2, momentum=True, several=True)
            | runs(steps=2, momentum=True, dampening=True)
            | runs(steps=2, momentum=True, nesterov=True),
            _gradients_are_unchanged,
        ),
    )  # fmt: skip


LESSON = Lesson(
    title="Stochastic gradient descent and momentum",
    exercise=CodeExercise(
        module="minispore.nn.optim.sgd",
        tasks={
            "SGD._update": "With w, g, _, _, v = arrays, change the parameter w in place, as in "
            "w -= …. Its gradient is g, after loss scale and weight decay, which you must not "
            "modify. With rate, momentum, is_first_step = scalars, the momentum is 0 if there is "
            "none. Otherwise v is the velocity, which contains zeros before the parameter's first "
            "step. You need not use xp, which is numpy."
        },
        properties=_properties(),
        contracts=(
            Contract(
                "SGD._update",
                "the step is added to w, to find a maximum.",
                bugs("SGD._update", ("", "w -= xp", "w += xp")),
                _properties(ascends=True),
            ),
            Contract(
                "SGD._update",
                "the first gradient is treated as each other one: it is added, dampened, to a v of "
                "zeros.",
                bugs("SGD._update", ("", "if is_first_step:", "if False:")),
                _properties(dampens_first=True),
            ),
        ),
        bugs=bugs(
            "SGD._update",
            ("the sign of the step is wrong", "w -= xp", "w += xp"),
            ("the new weights are bound to a name, and the parameter is not changed",
             "w -= xp.multiply(direction, rate, out=step)", "w = w - rate * direction"),
            ("the gradient is overwritten by the step",
             "xp.multiply(direction, rate, out=step)", "xp.multiply(direction, rate, out=g)"),
            ("the first gradient is not stored", "xp.copyto(v, g)", "xp.copyto(v, 0.0)"),
            ("each step is treated as the first one", "if is_first_step:", "if True:"),
            ("v does not decay", "v *= momentum\n", "pass\n"),
            ("the gradient is multiplied by the dampening instead of 1 − dampening",
             "1 - self.dampening", "self.dampening"),
            ("the first gradient is dampened as well",
             "xp.copyto(v, g)", "xp.copyto(v, g * (1 - self.dampening))"),
            ("the gradient is missing in Nesterov's step", "direction += g\n", "pass\n"),
            ("without momentum, the gradient counts twice",
             "direction = g\n", "direction = g if momentum else g + g\n"),
            ("all parameters of a shape share one v",
             "direction = g\n",
             "direction, v = g, next(a._data for a in self.accum if a.shape == w.shape)\n"),
        ),
    ),
    hints="""
        Without momentum, the step is w -= rate * g. A plain w = w - rate * g binds the name w to a
        new array, and the parameter does not change.

        With a momentum above 0, assign to the elements of the velocity, v[...] = …:
        momentum * v + (1 - dampening) * g. The step is rate * v.

        In the first step, if is_first_step, v[...] = g, whatever the dampening.

        With self.nesterov, the step is rate * (g + momentum * v), with the new v. Without
        momentum, v is not changed.
        """,
)  # fmt: skip
