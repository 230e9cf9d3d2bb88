"""Lesson 7: stochastic gradient descent, with momentum."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Contract, Lesson, Property, bugs
from minispore._course.feedback import WrongResult
from minispore.utils.arrays import Float32Array

Values: TypeAlias = tuple[float, ...]


@dataclass(frozen=True)
class Case:
    """A few steps of an optimizer.

    Attributes:
        weights: The initial parameter.
        gradients: The gradient of each step.
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
        text = f"rate={self.rate:g}"
        for name in ("momentum", "dampening", "nesterov"):
            value: float = getattr(self, name)
            text += f", {name}={value}" if value else ""
        gradients = ", then ".join(map(_format_values, self.gradients))
        noun = "the weight" if _is_one(self.weights) else "the weights"
        one = len(self.gradients) == 1 and _is_one(self.weights)
        label = "the gradient" if one else "the gradients"
        return f"{text}, {noun} {_format_values(self.weights)} and {label} {gradients}"

    def steps(self, work: ModuleType) -> Iterator[tuple[Float32Array, Float32Array]]:
        """Take the steps with the learner's `update`; yield the weights and gradient of each."""
        w, v = (np.array(values, np.float32) for values in (self.weights, [0.0] * self.size))
        settings = {"momentum": self.momentum, "dampening": self.dampening}
        for number, gradient in enumerate(self.gradients):
            g = np.array(gradient, np.float32)
            numbers = {name: value for name, value in settings.items() if value}
            flags = {"nesterov": self.nesterov, "is_first_step": number == 0}
            work.update(w, g, v, self.rate, **numbers, **flags)
            yield w, g

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.weights)

    def expected(self) -> list[Values]:
        """Return the weights after each step, computed naively, element by element."""
        weights, velocity = list(self.weights), [0.0] * self.size
        trajectory = list[Values]()
        for number, gradient in enumerate(self.gradients):
            for j, g in enumerate(gradient):
                v = g
                if number or self.dampens_first:
                    v = self.momentum * velocity[j] + (1 - self.dampening) * g
                velocity[j] = v
                step = g if not self.momentum else v
                if self.nesterov:
                    step = g + self.momentum * v
                weights[j] += self.rate * (step if self.ascends else -step)
            trajectory.append(tuple(weights))
        return trajectory


def _is_one(values: Values) -> bool:
    """Return whether there is only one number."""
    return len(values) == 1


def _format_values(values: Values) -> str:
    """Format a single number as such, and several numbers as a list."""
    text = ", ".join(f"{value:g}" for value in values)
    return text if _is_one(values) else f"[{text}]"


def cases(
    *,
    steps: int = 1,
    momentum: bool = False,
    dampening: bool = False,
    nesterov: bool = False,
    ascends: bool = False,
    dampens_first: bool = False,
) -> st.SearchStrategy[Case]:
    """Generate short runs with numbers whose products are exact."""
    number = st.integers(-2, 2).map(float)

    def of_size(size: int) -> st.SearchStrategy[Case]:
        values = st.tuples(*[number] * size)
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

    return of_size(1) | of_size(2)


def _steps_are_correct(work: ModuleType, case: Case) -> None:
    pairs = zip(case.steps(work), case.expected(), strict=True)
    for number, ((weights, _), expected) in enumerate(pairs, start=1):
        actual = tuple(weights.tolist())
        if not np.allclose(actual, expected):
            noun = "weight" if _is_one(expected) else "weights"
            verb = "was" if _is_one(expected) else "were"
            when = f" after step {number}" if len(case.gradients) > 1 else ""
            raise WrongResult(
                f"your step set the {noun} to {_format_values(actual)}{when}, "
                f"but {_format_values(expected)} {verb} expected"
            )


def _gradients_are_unchanged(work: ModuleType, case: Case) -> None:
    for (_, g), gradient in zip(case.steps(work), case.gradients, strict=True):
        if (actual := tuple(g.tolist())) != gradient:
            raise WrongResult(
                f"your step modified the gradient {_format_values(gradient)} in place, "
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
            "The gradients are not modified.",
            runs()
            | runs(steps=2, momentum=True)
            | runs(steps=2, momentum=True, dampening=True)
            | runs(steps=2, momentum=True, nesterov=True),
            _gradients_are_unchanged,
        ),
    )  # fmt: skip


LESSON = Lesson(
    title="Stochastic gradient descent and momentum",
    exercise=CodeExercise(
        module="minispore._course.solutions.sgd",
        tasks={
            "update": "Change w as in w -= …, and do not modify g. With a momentum above 0, "
            "v[...] = … changes v first: in the first step, before which v contains zeros, to g, "
            "and then to momentum * v + (1 - dampening) * g. The step follows v or, with nesterov, "
            "g + momentum * v."
        },
        properties=_properties(),
        contracts=(
            Contract(
                "update",
                "the step is added to w, to find a maximum.",
                bugs("update", ("", "w -= rate", "w += rate")),
                _properties(ascends=True),
            ),
            Contract(
                "update",
                "the first gradient is treated as each other one: it is added, dampened, to a v of "
                "zeros.",
                bugs("update", ("", "g if is_first_step else ", "")),
                _properties(dampens_first=True),
            ),
        ),
        bugs=bugs(
            "update",
            ("the sign of the step is wrong", "w -= rate", "w += rate"),
            ("the new weights are bound to a name, and the parameter is not changed",
             "w -= rate * direction", "w = w - rate * direction"),
            ("the gradient is overwritten by the step",
             "w -= rate * direction", "g[...] = rate * direction; w -= g"),
            ("the first gradient is not stored", "g if is_first_step", "0.0 if is_first_step"),
            ("each step is treated as the first one", "if is_first_step", "if True"),
            ("v does not decay", "momentum * v + (1", "v + (1"),
            ("the gradient is multiplied by the dampening instead of 1 − dampening",
             "1 - dampening", "dampening"),
            ("the first gradient is dampened as well", "g if is_first_step else ", ""),
            ("the gradient is missing in Nesterov's step",
             "g + momentum * v if", "momentum * v if"),
            ("without momentum, the gradient counts twice",
             "direction = g\n", "direction = g if momentum else g + g\n"),
        ),
    ),
    hints="""
        Without momentum, the step is w -= rate * g. A plain w = w - rate * g binds the name w to a
        new array, and the parameter does not change.

        With a momentum above 0, assign to the elements of the velocity, v[...] = …:
        momentum * v + (1 - dampening) * g. The step is rate * v.

        In the first step, if is_first_step, v[...] = g, whatever the dampening.

        With nesterov, the step is rate * (g + momentum * v), with the new v. Without
        momentum, v is not changed.
        """,
)  # fmt: skip
