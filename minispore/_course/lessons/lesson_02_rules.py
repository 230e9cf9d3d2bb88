"""Lesson 2: a rule returns the value together with its pullback, which remembers what it needs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._course.applying import applied
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect
from minispore.common import Tensor

_ELEMENTWISE = "minispore._rules.elementwise"
_NAMES = ("tanh", "sigmoid", "softplus")
_TOLERANCE = 1e-9

# From the definitions, number by number; the numbers in the cases are small enough for that.
_VALUES: dict[str, Callable[[float], float]] = {
    "tanh": lambda x: (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log(1 + math.exp(x)),
}
_SLOPES: dict[str, Callable[[float], float]] = {
    "tanh": lambda x: 1 / math.cosh(x) ** 2,
    "sigmoid": lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2,
    "softplus": lambda x: 1 / (1 + math.exp(-x)),
}
# Far out, where the definitions are of no use: the values at −∞ and ∞, and the slopes.
_FAR: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "tanh": ((-1, 1), (0, 0)),
    "sigmoid": ((0, 1), (0, 0)),
    "softplus": ((0, math.inf), (0, 1)),
}

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A rule at a point.

    Attributes:
        name: The rule.
        x: Where.
        gradient: The gradient of the value, one number for all elements.
        later: Another point, at which the rule is called as well.
    """

    name: str
    x: tuple[float, ...]
    gradient: float = 1.0
    later: tuple[float, ...] = ()

    def __str__(self) -> str:
        then = f", and later at {list(self.later)}" if self.later else ""
        return f"{self.name} at x = {list(self.x)}{then}"

    def with_gradient(self) -> str:
        """In words, with the gradient that the pullback is called with."""
        return f"{self} and the gradient {self.array(self.gradient).tolist()}"

    def array(self, number: float | None = None) -> Floats:
        """The point, or an array of its shape full of one number."""
        return np.array(self.x) if number is None else np.full(len(self.x), number)

    def values(self) -> Floats:
        """The function there, by its definition."""
        return np.array([_VALUES[self.name](x) for x in self.x])

    def gradients(self) -> Floats:
        """The gradient by x."""
        return np.array([self.gradient * _SLOPES[self.name](x) for x in self.x])


def cases(*, name: str | None = None, later: bool = False) -> st.SearchStrategy[Case]:
    """Points within [−4, 4], at quarters."""
    points = st.lists(st.integers(-16, 16).map(lambda n: n / 4), min_size=1, max_size=3).map(tuple)
    return st.builds(
        Case,
        st.sampled_from(_NAMES) if name is None else st.just(name),
        points,
        st.sampled_from([1.0, 2.0, -3.0]),
        points if later else st.just(()),
    )


def _value_is_right(work: ModuleType, case: Case) -> None:
    value = applied(work, case.name, case.array()).value
    expect(f"your {case.name}", value, case.values(), tolerance=_TOLERANCE)


def _pullback_is_right(work: ModuleType, case: Case) -> None:
    pullback = applied(work, case.name, case.array()).pullback
    gradient = pullback(case.array(case.gradient))
    expect("your pullback", gradient, case.gradients(), tolerance=_TOLERANCE)


def _nothing_overflows(work: ModuleType, case: Case) -> None:
    x = case.array()
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, pullback = applied(work, case.name, x)
        gradient = pullback(np.ones_like(x))
    values, slopes = _FAR[case.name]
    # Softplus grows with x for ever.
    ends = np.where(x > 0, np.minimum(values[1], x) if case.name == "softplus" else values[1], 0)
    ends = np.where(x < 0, values[0], ends)
    expect(f"your {case.name}", value, ends, tolerance=_TOLERANCE)
    expect("your pullback", gradient, np.where(x > 0, *slopes[::-1]), tolerance=_TOLERANCE)


def _remembers_its_own(work: ModuleType, case: Case) -> None:
    x, y, g = case.array(), np.array(case.later), case.array(case.gradient)
    first = applied(work, case.name, x).pullback
    applied(work, case.name, y).pullback(np.ones_like(y))
    for when in ("the first pullback", "the first pullback, called once more,"):
        expect(when, first(g), case.gradients(), tolerance=_TOLERANCE)
    for what, now, before in (("x", x, case.array()), ("the gradient", g, case.array(g[0]))):
        if not np.array_equal(now, before):
            raise Wrong(f"your {case.name} has changed {what} itself, to {now.tolist()}")


def _works_on_tensors(work: ModuleType, case: Case) -> None:
    value, pullback = applied(work, case.name, Tensor(case.array()))
    gradient = pullback(Tensor(case.array(case.gradient)))
    for what, found in (("the value", value), ("what the pullback gave", gradient)):
        if not isinstance(found, Tensor):
            raise Wrong(
                f"{what} is no tensor but of type {type(found).__name__}; "
                "compute it with operators and namespace(x) alone"
            )
    assert isinstance(gradient, Tensor)
    expect("your pullback", gradient.asnumpy(), case.gradients(), tolerance=_TOLERANCE)


def _for_tensor(case: Case) -> str:
    return f"{case.name} at the tensor x = {list(case.x)}"


LESSON = Lesson(
    title="A rule is one function",
    idea="One function returns the value and its pullback, and the pullback remembers what it "
    "needs because it was made in that very call.",
    minutes=30,
    explains=(
        "minispore.grad",
        "minispore.ops.apply_rule",
        "minispore.ops.exp",
        "minispore.ops.log",
        "minispore.ops.sigmoid",
        "minispore.ops.softplus",
        "minispore.ops.tanh",
        "minispore._array.A",
        "minispore._array.namespace",
        "minispore._functional.apply.apply1",
        "minispore._rules._types.Unary",
        "minispore._rules.elementwise.sigmoid",
        "minispore._rules.elementwise.softplus",
        "minispore._rules.elementwise.tanh",
    ),
    exercise=Build(
        module=_ELEMENTWISE,
        tasks={
            "tanh": "Return the value and, in a tuple, its pullback. The slope is 1 − value².",
            "sigmoid": "The same. The slope is value · (1 − value).",
            "softplus": "The same. The plain formula is of no use where x is large.",
        },
        laws=(
            *(
                law(
                    f"The value of {name} is what its definition says.",
                    cases(name=name),
                    _value_is_right,
                    show=str,
                    examples=24,
                )
                for name in _NAMES
            ),
            law(
                "The gradient by x is the gradient of the value times the slope.",
                cases(),
                _pullback_is_right,
                show=Case.with_gradient,
                examples=60,
            ),
            law(
                "No number is too large or too small, for the value and for the pullback.",
                st.builds(
                    Case,
                    st.sampled_from(_NAMES),
                    st.lists(
                        st.sampled_from([100.0, -100.0, 1000.0, -1000.0]), min_size=1, max_size=2
                    ).map(tuple),
                ),
                _nothing_overflows,
                show=str,
                examples=40,
            ),
            law(
                "Each pullback remembers its own call, and nothing that was given is changed.",
                cases(later=True),
                _remembers_its_own,
                show=str,
                examples=40,
            ),
            law(
                "Given a tensor, everything that comes out is a tensor.",
                cases(),
                _works_on_tensors,
                show=_for_tensor,
                examples=24,
            ),
        ),
        bugs=(
            Bug("tanh's slope is 1 − value", "tanh", "value * value", "value"),
            Bug("the slope is computed at the value and not at x", "softplus", "sigmoid(x)[0]",
                "sigmoid(value)[0]"),
            Bug("the pullback gives the slope, whatever gradient comes", "sigmoid", "g * (value",
                "(value"),
            Bug("sigmoid forgets the half in its argument", "sigmoid", "(0.5 * x)", "(x)"),
            Bug(
                "softplus is written as it is defined",
                "softplus", "xp.maximum(x, 0.0) + xp.log(xp.exp(-xp.abs(x)) + 1.0)",
                "xp.log(xp.exp(x) + 1.0)",
            ),
            Bug(
                "sigmoid is written as it is defined",
                "sigmoid", "0.5 * namespace(x).tanh(0.5 * x) + 0.5",
                "1.0 / (namespace(x).exp(-x) + 1.0)",
            ),
            Bug("softplus is a relu", "softplus", "-xp.abs(x)", "-1e3 * xp.abs(x)"),
            Bug(
                "the pullback uses the value of the last call",
                "tanh", "return value, (lambda g: g * (1.0 - value * value),)",
                "tanh.value = value; return value, (lambda g: g * (1.0 - tanh.value**2),)",
            ),
            Bug(
                "x is halved in its own memory",
                "sigmoid", "value = 0.5 * namespace(x).tanh(0.5 * x) + 0.5",
                "x *= 0.5; value = 0.5 * namespace(x).tanh(x) + 0.5",
            ),
            Bug(
                "numpy is called, whatever x is",
                "tanh", "namespace(x).tanh(x)", "__import__('numpy').tanh(x)",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Each of the three has the same form: compute the value, then `return value, (lambda g:
        …,)`, where the lambda multiplies g by the slope. The comma makes it a tuple of one.

        xp = namespace(x) gives xp.exp, xp.log, xp.tanh, xp.abs, xp.maximum for whatever x is.
        Write the plain formulas first; the law about large numbers comes after those about
        the values and the slopes.

        e to a large power is too large for a float, e to a negative power never is. The sigmoid
        is ½ · tanh(x/2) + ½. Softplus is x + log(1 + e⁻ˣ) for positive x, and log(1 + eˣ) for
        negative x.

        softplus in one line, without a case distinction: xp.maximum(x, 0.0) + xp.log(xp.exp(
        -xp.abs(x)) + 1.0). Its slope is your sigmoid's value: sigmoid(x)[0].
        """
    ),
)  # fmt: skip
