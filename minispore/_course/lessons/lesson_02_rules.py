"""Lesson 2: a derivative rule returns the value and its vector-Jacobian product as a closure."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore._course.rule_calls import call_rule, expect_unchanged
from minispore.common import Tensor

_ELEMENTWISE = "minispore.engine.rules.elementwise"
_NAMES = ("tanh", "sigmoid", "softplus")
_TOLERANCE = 1e-9
# Neither constant nor sorted.
_WEIGHTS = 1.0, -2.0, 0.5

# By definition; the numbers in the cases are small enough for these formulas.
_VALUES: dict[str, Callable[[float], float]] = {
    "tanh": lambda x: (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "softplus": lambda x: math.log(1 + math.exp(x)),
}
_DERIVATIVES: dict[str, Callable[[float], float]] = {
    "tanh": lambda x: 1 / math.cosh(x) ** 2,
    "sigmoid": lambda x: math.exp(-x) / (1 + math.exp(-x)) ** 2,
    "softplus": lambda x: 1 / (1 + math.exp(-x)),
}
# The limits at −∞ and ∞ of the values and of the derivatives.
_LIMITS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
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
        x: The point.
        gradient: The gradient of the first element of the value.
        later: A second point, at which the rule is called afterwards.
    """

    name: str
    x: tuple[float, ...]
    gradient: float = 1.0
    later: tuple[float, ...] = ()

    def __str__(self) -> str:
        then = f", and later at {list(self.later)}" if self.later else ""
        return f"{self.name} at x = {list(self.x)}{then}"

    def with_gradient(self) -> str:
        """Format the case with the gradient that is passed to the pullback."""
        return f"{self} and the gradient {self.incoming().tolist()}"

    def point(self) -> Floats:
        """Return the point as an array."""
        return np.array(self.x)

    def incoming(self) -> Floats:
        """Return the gradient of the value, which differs between the elements."""
        return self.gradient * np.array(_WEIGHTS[: len(self.x)])

    def values(self) -> Floats:
        """Return the value at the point, by definition."""
        return np.array([_VALUES[self.name](x) for x in self.x])

    def gradients(self) -> Floats:
        """Return the gradient with respect to x, by definition."""
        return np.multiply(self.incoming(), [_DERIVATIVES[self.name](x) for x in self.x])


def cases(*, name: str | None = None, later: bool = False) -> st.SearchStrategy[Case]:
    """Generate points with multiples of 1/4 in [−4, 4]."""
    points = st.lists(st.integers(-16, 16).map(lambda n: n / 4), min_size=1, max_size=3).map(tuple)
    return st.builds(
        Case,
        st.sampled_from(_NAMES) if name is None else st.just(name),
        points,
        st.sampled_from([1.0, 2.0, -3.0]),
        points if later else st.just(()),
    )


def _value_is_correct(work: ModuleType, case: Case) -> None:
    value = call_rule(work, case.name, case.point()).value
    expect(f"your {case.name}", value, case.values(), tolerance=_TOLERANCE)


def _pullback_is_correct(work: ModuleType, case: Case) -> None:
    pullback = call_rule(work, case.name, case.point()).pullback
    gradient = pullback(case.incoming())
    expect("your pullback", gradient, case.gradients(), tolerance=_TOLERANCE)


def _does_not_overflow(work: ModuleType, case: Case) -> None:
    x = case.point()
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value, pullback = call_rule(work, case.name, x)
        gradient = pullback(np.ones_like(x))
    values, derivatives = _LIMITS[case.name]
    # Softplus is unbounded.
    ends = np.where(x > 0, np.minimum(values[1], x) if case.name == "softplus" else values[1], 0)
    ends = np.where(x < 0, values[0], ends)
    expect(f"your {case.name}", value, ends, tolerance=_TOLERANCE)
    expect("your pullback", gradient, np.where(x > 0, *derivatives[::-1]), tolerance=_TOLERANCE)


def _pullback_keeps_its_values(work: ModuleType, case: Case) -> None:
    x, y, g = case.point(), np.array(case.later), case.incoming()
    value, pullback = call_rule(work, case.name, x)
    call_rule(work, case.name, y).pullback(np.ones_like(y))
    value_before = np.array(value)
    first = pullback(g)
    expect("the first pullback", first, case.gradients(), tolerance=_TOLERANCE)
    first_before = np.array(first)
    second = pullback(-g)
    subject = "the second call of the first pullback"
    expect(subject, second, -case.gradients(), tolerance=_TOLERANCE)
    # Neither the arguments nor the results belong to the rule.
    expect_unchanged(
        case.name,
        ("x", x, case.point()),
        ("the gradient", g, case.incoming()),
        ("the value", value, value_before),
        ("the first result of its pullback", first, first_before),
    )


def _accepts_tensors(work: ModuleType, case: Case) -> None:
    value, pullback = call_rule(work, case.name, Tensor(case.point()))
    gradient = pullback(Tensor(case.incoming()))
    for subject, result in (("the value", value), ("the result of the pullback", gradient)):
        if not isinstance(result, Tensor):
            raise WrongResult(
                f"{subject} is not a tensor but of type {type(result).__name__}; "
                "use only operators and namespace(x)"
            )
    assert isinstance(gradient, Tensor)
    expect("your pullback", gradient.asnumpy(), case.gradients(), tolerance=_TOLERANCE)


def _show_tensor(case: Case) -> str:
    return f"{case.name} at the tensor x = {list(case.x)}"


LESSON = Lesson(
    title="Derivative rules as vector–Jacobian products",
    exercise=CodeExercise(
        module=_ELEMENTWISE,
        tasks={
            "tanh": "Return the value and a tuple with its pullback. The derivative is 1 − value².",
            "sigmoid": "Return the same for the sigmoid. The derivative is value · (1 − value).",
            "softplus": "Return the same for softplus. Its definition overflows for large x.",
        },
        properties=(
            *(
                Property(
                    f"The value of {name} agrees with its definition.",
                    cases(name=name), _value_is_correct, examples=24,
                )
                for name in _NAMES
            ),
            Property(
                "The gradient with respect to x is the gradient of the value times the derivative.",
                cases(), _pullback_is_correct, show=Case.with_gradient, examples=60,
            ),
            Property(
                "Neither the value nor the pullback overflows, for any x.",
                st.builds(
                    Case,
                    st.sampled_from(_NAMES),
                    st.lists(
                        st.sampled_from([100.0, -100.0, 1000.0, -1000.0]), min_size=1, max_size=2
                    ).map(tuple),
                ),
                _does_not_overflow, examples=40,
            ),
            Property(
                "Each pullback keeps the values of its own call, and no argument is modified.",
                cases(later=True), _pullback_keeps_its_values, examples=40,
            ),
            Property(
                "For a tensor, the value and the gradient are tensors.",
                cases(), _accepts_tensors, show=_show_tensor, examples=24,
            ),
        ),
        bugs=(
            *bugs(
                "tanh",
                ("the argument of tanh is doubled", "xp.tanh(x)", "xp.tanh(2.0 * x)"),
                ("the derivative of tanh is 1 / cosh, not its square", "sech * sech", "sech"),
                ("the value of tanh is wrong near 0",
                 "return xp.tanh(x), ", "return xp.tanh(x) + xp.exp(-x * x), "),
                ("the pullback uses the value of the last call",
                 "return xp.tanh(x), (pullback,)",
                 "tanh.last = pullback; return xp.tanh(x), (lambda g: tanh.last(g),)"),
                ("numpy is called, whatever x is",
                 "xp.tanh(x)", "__import__('numpy').tanh(x)"),
            ),
            *bugs(
                "sigmoid",
                ("the pullback ignores the incoming gradient", "g * (below", "(below"),
                ("the argument of the sigmoid is doubled", "+ 1.0) * x)", "+ 1.0) * 2.0 * x)"),
                ("sigmoid is computed by its definition, which overflows",
                 "below = xp.exp((side * -2.0 + 1.0) * x)", "side, below = 0.0, xp.exp(x)"),
                ("x is halved in place",
                 "below = xp.exp((side * -2.0 + 1.0) * x)",
                 "x *= 0.5; below = xp.exp((side * -4.0 + 2.0) * x)"),
            ),
            *bugs(
                "softplus",
                ("the derivative is computed at the value and not at x",
                 "xp.abs(side - power / (power + 1.0))", "sigmoid(value)[0]"),
                ("softplus is computed by its definition, which overflows",
                 "xp.maximum(x, 0.0) + xp.log1p(power)", "xp.log1p(xp.exp(x))"),
                ("softplus is a relu", "xp.log1p(power)", "0.0 * power"),
            ),
        ),
    ),
    hints="""
        All three have the same form: compute the value, then `return value, (lambda g: …,)`,
        where the lambda multiplies g by the derivative. The comma makes a tuple of one item.

        xp = namespace(x) provides xp.exp, xp.log, xp.tanh, xp.abs and xp.maximum for any kind of
        array. Write the definitions first; the property about overflow comes after those about
        values and derivatives.

        The exponential of a large positive number overflows, that of a negative number never
        does. The sigmoid is ½ · tanh(x/2) + ½. Softplus is x + log(1 + e⁻ˣ) for positive x, and
        log(1 + eˣ) for negative x.

        softplus in one line, without a case distinction: xp.maximum(x, 0.0) + xp.log(xp.exp(
        -xp.abs(x)) + 1.0). Its derivative is the value of the sigmoid: sigmoid(x)[0].
        """,
)  # fmt: skip
