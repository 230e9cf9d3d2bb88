"""Lesson 5: a rule that uses only differentiable functions has derivatives of every order."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore import ops
from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore._course.rule_calls import call_rule, expect_unchanged
from minispore.common import Tensor
from minispore.engine.array import Array

_RULE = "log_softmax"
_TOLERANCE = 1e-8

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A point, and the axis of the softmax.

    Attributes:
        x: The elements of the point.
        shape: The shape of the point.
        axis: The axis.
    """

    x: tuple[float, ...]
    shape: tuple[int, ...]
    axis: int

    def __str__(self) -> str:
        return f"x = {self.point().tolist()} along axis {self.axis}"

    def with_gradient(self) -> str:
        """Format the case with the gradient of the value."""
        return f"{self} and the gradient g = {self.gradient().tolist()}"

    def with_direction(self) -> str:
        """Format the case with the gradient and the direction of the second derivative."""
        return f"{self.with_gradient()}, in the direction v = {self.direction().tolist()}"

    def point(self) -> Floats:
        """Return the point as an array."""
        return np.array(self.x).reshape(self.shape)

    def gradient(self) -> Floats:
        """Return 1, 2, 3, … in the shape of the point."""
        return np.arange(1.0, len(self.x) + 1).reshape(self.shape)

    def direction(self) -> Floats:
        """Return 1, 0, 0, −1, 0, 0, … in the shape of the point."""
        pattern = [(1.0, 0.0, 0.0, -1.0, 0.0, 0.0)[i % 6] for i in range(len(self.x))]
        return np.array(pattern).reshape(self.shape)

    def along(self, compute: Callable[..., list[float]], *arrays: Floats) -> Floats:
        """Apply a function of lists of floats to each line of the arrays along the axis."""
        moved = [np.moveaxis(array, self.axis, -1) for array in arrays]
        result = np.empty(moved[0].shape)
        for index in np.ndindex(result.shape[:-1]):
            result[index] = compute(*(array[index].tolist() for array in moved))
        return np.moveaxis(result, -1, self.axis)


def _value(x: list[float]) -> list[float]:
    largest = max(x)
    log_sum = math.log(sum(math.exp(a - largest) for a in x))
    return [a - largest - log_sum for a in x]


def _softmax(x: list[float]) -> list[float]:
    return [math.exp(a) for a in _value(x)]


def _gradient(x: list[float], g: list[float]) -> list[float]:
    return [gradient - p * sum(g) for gradient, p in zip(g, _softmax(x), strict=True)]


def _jvp(x: list[float], v: list[float]) -> list[float]:
    mean = sum(p * step for p, step in zip(_softmax(x), v, strict=True))
    return [step - mean for step in v]


def _hvp(x: list[float], g: list[float], v: list[float]) -> list[float]:
    return [-sum(g) * p * d for p, d in zip(_softmax(x), _jvp(x, v), strict=True)]


def cases(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Case]:
    """Generate points of up to six elements, with one or two axes."""

    def with_shape(shape: tuple[int, ...]) -> st.SearchStrategy[Case]:
        size = math.prod(shape)
        elements = st.lists(numbers, min_size=size, max_size=size).map(tuple)
        axes = st.sampled_from([-1, *range(len(shape))])
        return st.builds(Case, elements, st.just(shape), axes)

    return st.sampled_from([(2,), (3,), (2, 2), (2, 3), (3, 1)]).flatmap(with_shape)


_SMALL = st.integers(-8, 8).map(lambda n: n / 4)
_LARGE = st.sampled_from([0.0, 1000.0, -1000.0, 1001.0])


def _value_is_correct(work: ModuleType, case: Case) -> None:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        value = call_rule(work, _RULE, case.point(), case.axis).value
    expect("your log_softmax", value, case.along(_value, case.point()), tolerance=_TOLERANCE)


def _pullback_is_correct(work: ModuleType, case: Case) -> None:
    x, g = case.point(), case.gradient()
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        gradient = call_rule(work, _RULE, x, case.axis).pullback(g)
    expected = case.along(_gradient, case.point(), case.gradient())
    expect("your pullback", gradient, expected, tolerance=_TOLERANCE)
    expect_unchanged(_RULE, ("x", x, case.point()), ("the gradient", g, case.gradient()))


def _directional_derivative(work: ModuleType, case: Case, x: Tensor, g: Tensor) -> Tensor:
    """Return the directional derivative of ⟨g, log softmax(x)⟩ with respect to x."""

    def rule(x: Array) -> tuple[Array, tuple[Callable[[Array], Array]]]:
        value, pullback = call_rule(work, _RULE, x, case.axis)
        if isinstance(x, Tensor) and not isinstance(value, Tensor):
            raise WrongResult(
                "the rule was applied to a tensor, and its value is of type "
                f"{type(value).__name__}; use only namespace(x)"
            )
        return cast("Array", value), (cast("Callable[[Array], Array]", pullback),)

    def weighted(x: Tensor) -> Tensor:
        return (ops.apply_rule(rule, x) * g).sum()

    return (ops.grad(weighted)(x) * Tensor(case.direction())).sum()


def _second_derivative_is_correct(work: ModuleType, case: Case) -> None:
    def derivative(x: Tensor) -> Tensor:
        return _directional_derivative(work, case, x, Tensor(case.gradient()))

    second = ops.grad(derivative)(Tensor(case.point())).asnumpy()
    expected = case.along(_hvp, case.point(), case.gradient(), case.direction())
    expect("the second derivative with respect to x", second, expected, tolerance=_TOLERANCE)


def _mixed_derivative_is_correct(work: ModuleType, case: Case) -> None:
    def derivative(g: Tensor) -> Tensor:
        return _directional_derivative(work, case, Tensor(case.point()), g)

    second = ops.grad(derivative)(Tensor(case.gradient())).asnumpy()
    expected = case.along(_jvp, case.point(), case.direction())
    expect(
        "the derivative of the pullback with respect to g", second, expected, tolerance=_TOLERANCE
    )


LESSON = Lesson(
    title="Higher-order derivatives",
    exercise=CodeExercise(
        module="minispore.engine.rules.reduction",
        tasks={
            _RULE: "Return the value and a tuple with its pullback. Subtract the largest element "
            "first, as a constant (xp.stop_gradient); detach nothing else from the graph."
        },
        properties=(
            Property(
                "The value is x − log Σ eˣ, along the axis.",
                cases(_SMALL), _value_is_correct, examples=40,
            ),
            Property(
                "The gradient with respect to x is g − softmax(x) · Σ g, along the axis.",
                cases(_SMALL), _pullback_is_correct, show=Case.with_gradient, examples=40,
            ),
            Property(
                "No exponential overflows, also if the lines differ much in size.",
                cases(_LARGE), _value_is_correct, examples=40,
            ),
            Property(
                "The gradient can be differentiated again, with respect to x.",
                cases(_SMALL), _second_derivative_is_correct, show=Case.with_direction, examples=40,
            ),
            Property(
                "The gradient can be differentiated with respect to the incoming gradient.",
                cases(_SMALL), _mixed_derivative_is_correct, show=Case.with_direction, examples=24,
            ),
        ),
        bugs=bugs(
            _RULE,
            ("the largest element is not subtracted",
             "x - xp.stop_gradient(xp.max(x, axis=axis, keepdims=True))", "x"),
            ("the maximum of the whole array is subtracted",
             "xp.max(x, axis=axis, keepdims=True)", "xp.max(x)"),
            ("the axis of the sum is lost",
             "total_less_one(exponentials, axis)", "total_less_one(exponentials, axis)[..., 0]"),
            ("the sum is missing in the pullback", "xp.sum(g, axis=axis, keepdims=True)", "g"),
            ("the pullback sums over all axes", "xp.sum(g, axis=axis, keepdims=True)", "xp.sum(g)"),
            ("the pullback multiplies by the logarithm", "g - exponentials", "g - shifted"),
            ("the logarithm of the sum is missing in the value",
             "shifted - xp.log1p(rest), (pull", "shifted, (pull"),
            ("the pullback adds a constant",
             "return g - exponentials", "return 1.0 + g - exponentials"),
            ("the softmax in the pullback is a constant",
             "exponentials * (xp.sum(g, axis=axis, keepdims=True) / (rest + 1.0))",
             "xp.stop_gradient(exponentials / (rest + 1.0)) * xp.sum(g, axis=axis, keepdims=True)"),
            ("all shifted elements are constants",
             "x - xp.stop_gradient(xp.max(x, axis=axis, keepdims=True))",
             "xp.stop_gradient(x - xp.max(x, axis=axis, keepdims=True))"),
            ("the incoming gradient is a constant",
             "g - exponentials", "xp.stop_gradient(g) - exponentials"),
            ("the sum of the gradients is a constant",
             "xp.sum(g, axis=axis, keepdims=True)",
             "xp.stop_gradient(xp.sum(g, axis=axis, keepdims=True))"),
        ),
    ),
    hints="""
        The maximum and all sums need axis=axis, keepdims=True, so that the result can be
        subtracted from x line by line.

        Subtract the largest element: the differences are at most 0, and their exponentials at
        most 1. The result does not depend on what is subtracted, so that may be
        xp.stop_gradient(…).

        The exponentials divided by their sum are the softmax. An element changes its own value
        by 1, and each value of its line by minus its softmax: the pullback returns g minus
        softmax times the sum of g.

        Use neither numpy nor xp.stop_gradient in the pullback, and let it use the exponentials
        and their sum: if the rule is applied to a tensor, these are tensors with nodes. The
        pullback returns g - exponentials / total * xp.sum(g, axis=axis, keepdims=True).
        """,
)  # fmt: skip
