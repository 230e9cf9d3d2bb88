"""Lesson 7: a step downhill, and what momentum remembers."""

from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong
from minispore.common import Parameter, Tensor

# For each parameter its elements.
Values: TypeAlias = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Case:
    """Some steps of an optimiser.

    Attributes:
        weights: Where the parameters begin.
        gradients: What comes at each step.
        rate: The learning rate.
        momentum: The argument of that name, as all that follow.
        dampening: It.
        nesterov: It.
        weight_decay: It.
        loss_scale: It.
    """

    weights: Values
    gradients: tuple[Values, ...]
    rate: float = 1.0
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    loss_scale: float = 1.0

    def __str__(self) -> str:
        text = f"learning_rate={self.rate:g}"
        for name in ("momentum", "dampening", "nesterov", "weight_decay"):
            value: float = getattr(self, name)
            text += f", {name}={value}" if value else ""
        text += f", loss_scale={self.loss_scale}" if self.loss_scale != 1 else ""
        gradients = ", then ".join(map(_told, self.gradients))
        what = "the weight" if _is_one(self.weights) else "the weights"
        one = len(self.gradients) == 1 and _is_one(self.weights)
        how = "the gradient" if one else "the gradients"
        return f"{text}, {what} {_told(self.weights)} and {how} {gradients}"

    def optimizer(self, work: ModuleType) -> tuple[object, list[Parameter]]:
        """The learner's optimiser and its parameters."""
        parameters = [
            Parameter(Tensor(np.array(each, np.float32)), name=f"w{i}")
            for i, each in enumerate(self.weights)
        ]
        made = work.SGD(
            parameters,
            self.rate,
            momentum=self.momentum,
            dampening=self.dampening,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
            loss_scale=self.loss_scale,
        )
        return made, parameters

    def plan(self) -> list[Values]:
        """Where the weights should be after each step, each number by itself."""
        places = [list(each) for each in self.weights]
        remembered = [[0.0] * len(each) for each in self.weights]
        found = list[Values]()
        for number, gradients in enumerate(self.gradients):
            for i, gradient in enumerate(gradients):
                for j, part in enumerate(gradient):
                    g = part / self.loss_scale + self.weight_decay * places[i][j]
                    v = g
                    if number:
                        v = self.momentum * remembered[i][j] + (1 - self.dampening) * g
                    remembered[i][j] = v
                    step = g if not self.momentum else v
                    if self.nesterov:
                        step = g + self.momentum * v
                    places[i][j] -= self.rate * step
            found.append(tuple(map(tuple, places)))
        return found


def _is_one(values: Values) -> bool:
    """Whether there is one number in all."""
    return sum(map(len, values)) == 1


def _told(values: Values) -> str:
    """A number where there is one; else a list for each parameter."""
    parts = [", ".join(f"{value:g}" for value in each) for each in values]
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
    extras: bool = False,
) -> st.SearchStrategy[Case]:
    """Short runs with numbers whose products are exact."""
    number = st.integers(-2, 2).map(float)
    shapes = [(1,), (2,), (1, 1), (2, 1)] if several else [(1,)]

    def with_shape(shape: tuple[int, ...]) -> st.SearchStrategy[Case]:
        each = [st.tuples(*[number] * size) for size in shape]
        values = st.tuples(*each)
        return st.builds(
            Case,
            values,
            st.lists(values, min_size=1, max_size=steps).map(tuple),
            st.sampled_from([1.0, 0.5]),
            st.sampled_from([0.5, 0.25]) if momentum else st.just(0.0),
            st.sampled_from([0.25, 0.5]) if dampening else st.just(0.0),
            st.just(nesterov),
            st.sampled_from([0.0, 0.5]) if extras else st.just(0.0),
            st.sampled_from([1.0, 4.0]) if extras else st.just(1.0),
        )

    return st.one_of(list(map(with_shape, shapes)))


def _goes_as_planned(work: ModuleType, case: Case) -> None:
    optimizer, parameters = case.optimizer(work)
    assert callable(optimizer)
    for number, (gradients, wanted) in enumerate(
        zip(case.gradients, case.plan(), strict=True), start=1
    ):
        optimizer(tuple(Tensor(np.array(each, np.float32)) for each in gradients))
        found = tuple(tuple(each.asnumpy().tolist()) for each in parameters)
        if not all(map(np.allclose, found, wanted)):
            what = "weight" if _is_one(wanted) else "weights"
            when = f" after step {number}" if len(case.gradients) > 1 else ""
            raise Wrong(
                f"your step left the {what} at {_told(found)}{when}, "
                f"but {_told(wanted)} was expected"
            )


def _leaves_the_gradients(work: ModuleType, case: Case) -> None:
    optimizer, _ = case.optimizer(work)
    assert callable(optimizer)
    for gradients in case.gradients:
        given = tuple(Tensor(np.array(each, np.float32)) for each in gradients)
        optimizer(given)
        found = tuple(tuple(each.asnumpy().tolist()) for each in given)
        if found != gradients:
            raise Wrong(
                f"your step changed the gradient {_told(gradients)}, which is not yours, "
                f"to {_told(found)}"
            )


LESSON = Lesson(
    title="Downhill",
    idea="A step is the parameter minus the rate times the gradient; momentum remembers the way, "
    "so that what repeats adds up and what alternates cancels.",
    minutes=35,
    explains=(
        "minispore.value_and_grad",
        "minispore.nn.SGD",
        "minispore.nn.MSELoss",
        "minispore.nn.CrossEntropyLoss",
        "minispore._array.Array",
        "minispore._array.DeviceNamespace",
        "minispore._array.device_namespace",
        "minispore._array.to_host",
    ),
    exercise=Build(
        module="minispore.nn.optim.sgd",
        tasks={
            "SGD._update": "Change `data`, the array of parameter number i, where it lies, as in "
            "data -= …. Divide the gradient by self.loss_scale, and add decay times the weights. "
            "What momentum remembers of this parameter is the array self.accum[i]._data; the "
            "array self.stat[i]._data is full of ones until the first step with momentum, which "
            "must fill it with 0. self._momentum is the momentum of this step. You need not use "
            "xp, which is numpy."
        },
        laws=(
            law(
                "A step is the parameter minus the rate times the gradient.",
                cases(),
                _goes_as_planned,
                show=str,
            ),
            law(
                "The gradient is divided by the loss scale; then weight_decay times the weights "
                "is added to it.",
                cases(extras=True),
                _goes_as_planned,
                show=str,
            ),
            law(
                "With momentum the step is along v, the first gradient, and then momentum times v "
                "plus the gradient.",
                cases(steps=3, momentum=True),
                _goes_as_planned,
                show=str,
            ),
            law(
                "What momentum remembers is scaled and has the weight decay in it.",
                cases(steps=3, momentum=True, extras=True),
                _goes_as_planned,
                show=str,
            ),
            law(
                "Dampening makes the share of each gradient smaller, but for the first.",
                cases(steps=3, momentum=True, dampening=True),
                _goes_as_planned,
                show=str,
            ),
            law(
                "With nesterov the step is along the gradient plus momentum times the new v.",
                cases(steps=3, momentum=True, nesterov=True),
                _goes_as_planned,
                show=str,
            ),
            law(
                "Each parameter has a memory of its own.",
                cases(steps=3, momentum=True, several=True),
                _goes_as_planned,
                show=str,
            ),
            law(
                "The gradients stay as they are.",
                cases(steps=2, momentum=True, extras=True, several=True),
                _leaves_the_gradients,
                show=str,
            ),
        ),
        bugs=(
            Bug(
                "the way is uphill",
                "SGD._update",
                "xp.subtract(w, xp.multiply(step, rate, out=first), out=w)\n            return",
                "xp.add(w, xp.multiply(step, rate, out=first), out=w)\n            return",
            ),
            Bug(
                "the new weights get a name, and the parameter stays as it was",
                "SGD._update",
                "xp.subtract(w, xp.multiply(step, rate, out=first), out=w)\n            return",
                "w = w - rate * step\n            return",
            ),
            Bug(
                "the scaled gradient is written over the gradient",
                "SGD._update",
                "if fresh:\n                xp.copyto(v, step)\n            else:",
                "xp.copyto(g, step)\n            if fresh: xp.copyto(v, step)\n            else:",
            ),
            Bug(
                "with momentum, weight decay and loss scale are forgotten",
                "SGD._update",
                "step = self._effective(xp, w, g, decay, first, second)\n            if fresh:",
                "step = g\n            if fresh:",
            ),
            Bug(
                "the first gradient is not remembered",
                "SGD._update", "xp.copyto(v, step)", "xp.copyto(v, 0.0)",
            ),
            Bug(
                "each step is taken for the first",
                "SGD._update", "device_namespace(stat).copyto(stat, 0.0)", "pass",
            ),
            Bug(
                "nothing of v is ever forgotten",
                "SGD._update", "xp.multiply(v, self._momentum, out=v)", "pass",
            ),
            Bug(
                "dampening is the share that is taken, instead of the share that is not",
                "SGD._update", "1 - self.dampening", "self.dampening",
            ),
            Bug(
                "the first gradient is dampened as well",
                "SGD._update", "if fresh:\n                xp.copyto(v, step)",
                "if fresh:\n                xp.copyto(v, step * (1 - self.dampening))",
            ),
            Bug(
                "nesterov's step has lost the gradient",
                "SGD._update", "step = xp.add(step, ahead, out=first)", "step = ahead",
            ),
            Bug(
                "all parameters share one memory",
                "SGD._update", "self.accum[i]._data", "self.accum[0]._data[:1]",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Begin with g = gradient / self.loss_scale + decay * data, which is a new array, and
        data -= rate * g. A plain data = data - rate * g gives a new array the name data, and
        the parameter never hears of it.

        With a momentum above 0, let v = self.accum[i]._data be the array that is remembered,
        and write into it with v[...] = …: momentum * v + (1 - dampening) * g. The step is
        along v.

        At the first step v[...] = g, whatever the dampening. self.stat[i]._data.any() says
        that it is the first; self.stat[i]._data[...] = 0 says that it has been.

        With self.nesterov, the step is along g + momentum * v, where v is the new one. Without
        momentum, neither v nor stat is touched.
        """
    ),
)  # fmt: skip
