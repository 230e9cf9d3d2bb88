"""Lesson 5: a rule made of what has rules can be differentiated again, as often as one likes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore import ops
from minispore._array import Array
from minispore._course.applying import applied
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect
from minispore.common import Tensor

_RULE = "log_softmax"
_TOLERANCE = 1e-8

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A point, and along which axis the softmax goes.

    Attributes:
        x: The elements.
        shape: Their shape.
        axis: The axis.
    """

    x: tuple[float, ...]
    shape: tuple[int, ...]
    axis: int

    def __str__(self) -> str:
        return f"x = {self.point().tolist()} along axis {self.axis}"

    def with_gradient(self) -> str:
        """In words, with the gradient of the value."""
        return f"{self} and the gradient g = {self.gradient().tolist()}"

    def with_direction(self) -> str:
        """In words, with the direction in which the gradient is differentiated, too."""
        return f"{self.with_gradient()}, in the direction v = {self.direction().tolist()}"

    def point(self) -> Floats:
        """The point as an array."""
        return np.array(self.x).reshape(self.shape)

    def gradient(self) -> Floats:
        """1, 2, 3, … in the shape of the point."""
        return np.arange(1.0, len(self.x) + 1).reshape(self.shape)

    def direction(self) -> Floats:
        """1, 0, 0, −1, 0, 0, … in the shape of the point."""
        pattern = [(1.0, 0.0, 0.0, -1.0, 0.0, 0.0)[i % 6] for i in range(len(self.x))]
        return np.array(pattern).reshape(self.shape)

    def along(self, compute: Callable[..., list[float]], *arrays: Floats) -> Floats:
        """What `compute` makes of each line along the axis, all lists of plain numbers."""
        moved = [np.moveaxis(each, self.axis, -1) for each in arrays]
        result = np.empty(moved[0].shape)
        for place in np.ndindex(result.shape[:-1]):
            result[place] = compute(*(each[place].tolist() for each in moved))
        return np.moveaxis(result, -1, self.axis)


def _value(x: list[float]) -> list[float]:
    largest = max(x)
    rest = math.log(sum(math.exp(a - largest) for a in x))
    return [a - largest - rest for a in x]


def _first(x: list[float], g: list[float]) -> list[float]:
    shares = [math.exp(a) for a in _value(x)]
    return [gradient - share * sum(g) for gradient, share in zip(g, shares, strict=True)]


def _by_gradient(x: list[float], v: list[float]) -> list[float]:
    shares = [math.exp(a) for a in _value(x)]
    mean = sum(p * step for p, step in zip(shares, v, strict=True))
    return [step - mean for step in v]


def _second(x: list[float], g: list[float], v: list[float]) -> list[float]:
    shares = [math.exp(a) for a in _value(x)]
    return [-sum(g) * p * d for p, d in zip(shares, _by_gradient(x, v), strict=True)]


def cases(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Case]:
    """Points of up to six elements, in one or two axes."""

    def in_shape(shape: tuple[int, ...]) -> st.SearchStrategy[Case]:
        size = math.prod(shape)
        elements = st.lists(numbers, min_size=size, max_size=size).map(tuple)
        axes = st.sampled_from([-1, *range(len(shape))])
        return st.builds(Case, elements, st.just(shape), axes)

    return st.sampled_from([(2,), (3,), (2, 2), (2, 3), (3, 1)]).flatmap(in_shape)


_SMALL = st.integers(-8, 8).map(lambda n: n / 4)
_LARGE = st.sampled_from([0.0, 1000.0, -1000.0, 1001.0])


def _value_is_right(work: ModuleType, case: Case) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value = applied(work, _RULE, case.point(), case.axis).value
    expect("your log_softmax", value, case.along(_value, case.point()), tolerance=_TOLERANCE)


def _pullback_is_right(work: ModuleType, case: Case) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        gradient = applied(work, _RULE, case.point(), case.axis).pullback(case.gradient())
    wanted = case.along(_first, case.point(), case.gradient())
    expect("your pullback", gradient, wanted, tolerance=_TOLERANCE)


def _slope(work: ModuleType, case: Case, x: Tensor, g: Tensor) -> Tensor:
    """How ⟨g, log softmax x⟩ grows in the direction: a first derivative, as a number."""

    def rule(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
        value, pullback = applied(work, _RULE, x, case.axis)
        if isinstance(x, Tensor) and not isinstance(value, Tensor):
            raise Wrong(
                "the rule was applied to a tensor, and its value is of type "
                f"{type(value).__name__}; compute it with namespace(x) alone"
            )
        return cast("Array", value), (cast("Callable[[Array], Array]", pullback),)

    def weighted(x: Tensor) -> Tensor:
        return (ops.apply_rule(rule, x) * g).sum()

    return (ops.grad(weighted)(x) * Tensor(case.direction())).sum()


def _second_is_right(work: ModuleType, case: Case) -> None:
    def slope(x: Tensor) -> Tensor:
        return _slope(work, case, x, Tensor(case.gradient()))

    second = ops.grad(slope)(Tensor(case.point())).asnumpy()
    wanted = case.along(_second, case.point(), case.gradient(), case.direction())
    expect("the second derivative by x", second, wanted, tolerance=_TOLERANCE)


def _mixed_is_right(work: ModuleType, case: Case) -> None:
    def slope(g: Tensor) -> Tensor:
        return _slope(work, case, Tensor(case.point()), g)

    second = ops.grad(slope)(Tensor(case.gradient())).asnumpy()
    wanted = case.along(_by_gradient, case.point(), case.direction())
    expect("the derivative of the pullback by g", second, wanted, tolerance=_TOLERANCE)


LESSON = Lesson(
    title="The derivative of a derivative",
    idea="A pullback is a computation like any other, so if it is made of what has a rule, it can "
    "be differentiated as well.",
    minutes=35,
    explains=(
        "minispore._functional.apply.replay",
        "minispore._rules.softmax.log_softmax",
        "minispore.ops.log_softmax",
        "minispore.ops.stop_gradient",
        "minispore.testing.gradgradcheck",
    ),
    exercise=Build(
        module="minispore._rules.softmax",
        tasks={
            _RULE: "Return the value and, in a tuple, its pullback. Subtract the largest element "
            "first, as a constant; let nothing else leave the graph."
        },
        laws=(
            law(
                "The value is x − log Σ eˣ, along the axis.",
                cases(_SMALL),
                _value_is_right,
                show=str,
                examples=40,
            ),
            law(
                "The gradient by x is g − softmax(x) · Σ g, along the axis.",
                cases(_SMALL),
                _pullback_is_right,
                show=Case.with_gradient,
                examples=40,
            ),
            law(
                "No number is too large, and lines of very different size do not disturb each "
                "other.",
                cases(_LARGE),
                _value_is_right,
                show=str,
                examples=40,
            ),
            law(
                "The gradient can be differentiated again, by x.",
                cases(_SMALL),
                _second_is_right,
                show=Case.with_direction,
                examples=40,
            ),
            law(
                "And by the gradient that the pullback was given.",
                cases(_SMALL),
                _mixed_is_right,
                show=Case.with_direction,
                examples=24,
            ),
        ),
        bugs=(
            Bug(
                "the largest element is not subtracted",
                _RULE, "x - xp.constant(xp.max(x, axis=axis, keepdims=True))", "x",
            ),
            Bug(
                "the largest element of all is subtracted",
                _RULE, "xp.max(x, axis=axis, keepdims=True)", "xp.max(x)",
            ),
            Bug(
                "the axis of the sum is lost",
                _RULE, "xp.exp(shifted), axis=axis, keepdims=True", "xp.exp(shifted), axis=axis",
            ),
            Bug("the pullback forgets the sum", _RULE, "xp.sum(g, axis=axis, keepdims=True)", "g"),
            Bug(
                "the pullback sums over everything",
                _RULE, "xp.sum(g, axis=axis, keepdims=True)", "xp.sum(g)",
            ),
            Bug("the pullback multiplies by the logarithm", _RULE, "xp.exp(value)", "value"),
            Bug(
                "in the pullback the softmax is a constant",
                _RULE, "xp.exp(value)", "xp.constant(xp.exp(value))",
            ),
            Bug(
                "everything that was shifted is a constant",
                _RULE, "x - xp.constant(xp.max(x, axis=axis, keepdims=True))",
                "xp.constant(x - xp.max(x, axis=axis, keepdims=True))",
            ),
            Bug(
                "the gradient that comes in is a constant",
                _RULE, "g - xp.exp(value)", "xp.constant(g) - xp.exp(value)",
            ),
            Bug(
                "the sum of the gradients is a constant",
                _RULE, "xp.sum(g, axis=axis, keepdims=True)",
                "xp.constant(xp.sum(g, axis=axis, keepdims=True))",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Every sum and the maximum need axis=axis, keepdims=True, so that the result can be
        subtracted from x line by line.

        Subtract the largest element: what is left is at most 0, and its power at most 1. The
        result does not depend on what was subtracted, so that may be xp.constant(…).

        e to the power of the value is the softmax. An element moves its own value by 1, and
        every value of its line by minus its softmax: so the pullback gives g minus softmax
        times the sum of g.

        Use neither numpy nor xp.constant in the pullback, and let it use `value`: when the
        rule is applied to a tensor, `value` is one that knows where it comes from. The pullback
        returns g - xp.exp(value) * xp.sum(g, axis=axis, keepdims=True).
        """
    ),
)  # fmt: skip
