"""Lesson 4: a gradient check compares the pullback with finite differences in random directions."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from minispore._course.exercise import Lesson, TestExercise, mutant, reference, with_arguments

Floats: TypeAlias = npt.NDArray[np.float64]
Rule: TypeAlias = Callable[[Floats], tuple[Floats, tuple[Callable[[Floats], Floats]]]]


def check_rule(rule: Rule) -> None:
    """Check the pullback of a rule against finite differences of its values.

    The rule takes an array of shape (2, 3) and may return one of another shape.

    Args:
        rule: Takes x and returns the value and a tuple of one pullback: (value, (pullback,)).

    Raises:
        AssertionError: The pullback does not belong to the value.
    """

    @given(st.integers(0, 2**32 - 1))
    def check_seed(seed: int) -> None:
        rng = np.random.default_rng(seed)
        x = 2.0 * rng.standard_normal((2, 3))
        value, (pullback,) = rule(x)
        u, v = rng.standard_normal(value.shape), rng.standard_normal(x.shape)
        step = 1e-6
        jvp = (rule(x + step * v)[0] - rule(x - step * v)[0]) / (2 * step)
        analytic, numerical = np.sum(pullback(u) * v), np.sum(u * jvp)
        size = np.sum(abs(pullback(u) * v)) + np.sum(abs(u * jvp))
        if not abs(analytic - numerical) <= 1e-5 * size + 1e-7:  # NaN is wrong, too
            raise AssertionError(f"analytic: {analytic}, numerical: {numerical}")

    check_seed()


_ELEMENTWISE = "minispore.engine.rules.elementwise"
_SOFTMAX = "minispore.engine.rules.reduction"
_REDUCTION = "minispore.engine.rules.reduction"
_SHAPE = "minispore.engine.rules.shape"

_along_rows = with_arguments(1)
_summed_rows = with_arguments(1, False)
_clipped = with_arguments(-1.0, 1.0)
_transposed = with_arguments((1, 0))

LESSON = Lesson(
    title="Gradient checking and property-based testing",
    exercise=TestExercise(
        module=__name__,
        name="check_rule",
        task="With @given, draw points and directions, compute finite differences, and compare. "
        "Accept every correct rule, also those that are not differentiable everywhere and "
        "those that change the shape, and reject every wrong one.",
        correct=(
            *(reference(_ELEMENTWISE, name) for name in ("exp", "square", "tanh", "sigmoid")),
            *(reference(_ELEMENTWISE, name) for name in ("softplus", "relu", "absolute")),
            reference(_ELEMENTWISE, "clip", _clipped),
            reference(_SOFTMAX, "softmax", _along_rows),
            reference(_REDUCTION, "sum", _summed_rows),
            reference(_SHAPE, "permute", _transposed),
        ),
        wrong=(
            *(
                mutant(_ELEMENTWISE, *bug)
                for bug in (
                    ("square", "the factor 2 is missing in the pullback of square",
                     "2.0 * x", "x"),
                    ("tanh", "the derivative of tanh is 1 / cosh, not its square",
                     "sech * sech", "sech"),
                    ("exp", "the pullback of exp ignores the incoming gradient",
                     "g * value", "value"),
                    ("sigmoid", "the derivative of the sigmoid has the wrong sign",
                     "g * (below", "-g * (below"),
                    ("relu", "the gradient of relu is 1 down to −0.5", "x > 0", "x > -0.5"),
                    ("absolute", "the derivative of |x| is 1 everywhere", "g * xp.sign(x)", "g"),
                    ("softplus", "the value of softplus is too small near 0",
                     "xp.log1p(", "0.9 * xp.log1p("),
                )
            ),
            mutant(
                _ELEMENTWISE, "clip", "the gradient of clip is not 0 outside of the bounds",
                "xp.where(xp.equal(value, x), g, 0.0)", "g", _clipped,
            ),
            mutant(
                _SOFTMAX, "softmax", "the pullback of softmax ignores the normalization",
                "g - xp.inner(g, value, axis=axis, keepdims=True)", "g", _along_rows,
            ),
            mutant(
                _REDUCTION, "sum", "the pullback of sum divides by the count, as that of mean does",
                "repeat_to_match_shape(g, x.shape, axis, keepdims)",
                "repeat_to_match_shape(g, x.shape, axis, keepdims) / x.shape[axis]", _summed_rows,
            ),
            mutant(
                _SHAPE, "permute", "the gradient of permute has the right shape in the wrong order",
                "xp.permute_dims(g, back)", "xp.reshape(g, x.shape)", _transposed,
            ),
        ),
    ),
    hints="""
        With a step h of about 1e-6, (f(x + hv) − f(x − hv)) / 2h approximates the directional
        derivative of f in the direction v.

        Multiply the result by a random u of the output's shape, and sum: that number must equal
        the sum of pullback(u) * v. A u of ones does not detect everything: the outputs of softmax
        always sum to 1.

        At a point where a function is not differentiable, no finite difference is correct.
        hypothesis prefers the numbers 0 and 1; let it choose the seed of np.random.default_rng,
        and draw the points from that generator.

        Compare relative to the size of the terms, and allow a small absolute difference, since
        both numbers may be 0. Draw points that are also below −1 and above 1.
        """,
)  # fmt: skip
