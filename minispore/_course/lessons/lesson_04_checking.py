"""Lesson 4: a gradient is checked by measuring, in random directions, at random points."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from minispore._course.exercise import (
    Implementation,
    Lesson,
    Property,
    followed_by,
    paragraphs,
    seeded,
    shipped,
)

Floats: TypeAlias = npt.NDArray[np.float64]
Rule: TypeAlias = Callable[[Floats], tuple[Floats, tuple[Callable[[Floats], Floats]]]]


def check_rule(rule: Rule) -> None:
    """Check the pullback of a rule against differences of its values.

    The rule takes an array of shape (2, 3) and may give one of another shape.

    Args:
        rule: Gets x, and returns its value there and one pullback: (value, (pullback,)).

    Raises:
        AssertionError: The pullback is not the one of the value.
    """

    @given(st.integers(0, 2**32 - 1))
    def the_pullback_agrees(seed: int) -> None:
        rng = np.random.default_rng(seed)
        x = 2.0 * rng.standard_normal((2, 3))
        value, (pullback,) = rule(x)
        u, v = rng.standard_normal(value.shape), rng.standard_normal(x.shape)
        step = 1e-6
        slope = (rule(x + step * v)[0] - rule(x - step * v)[0]) / (2 * step)
        derived, measured = np.sum(pullback(u) * v), np.sum(u * slope)
        size = np.sum(abs(pullback(u) * v)) + np.sum(abs(u * slope))
        if not abs(derived - measured) <= 1e-5 * size + 1e-7:  # NaN is wrong, too
            raise AssertionError(f"derived: {derived}, measured: {measured}")

    the_pullback_agrees()


_ELEMENTWISE = "minispore._rules.elementwise"
_SOFTMAX = "minispore._rules.softmax"
_REDUCTION = "minispore._rules.reduction"
_SHAPE = "minispore._rules.shape"


_rows = followed_by(1)
_summed = followed_by(1, False)
_clipped = followed_by(-1.0, 1.0)
_turned = followed_by((1, 0))


def _smooth(name: str, says: str, old: str, new: str) -> Implementation:
    return seeded(_ELEMENTWISE, name, says, old, new)


LESSON = Lesson(
    title="Trust, but check",
    idea="Two numbers that must be equal, ⟨v, Jᵀu⟩ derived and ⟨Jv, u⟩ measured, find a wrong "
    "gradient without knowing the right one.",
    minutes=40,
    explains=(
        "minispore._rules.elementwise.relu",
        "minispore._rules.softmax.softmax",
        "minispore.testing.gradcheck",
        "minispore.testing.GradientError",
    ),
    exercise=Property(
        module=__name__,
        name="check_rule",
        task="Draw points and directions, also with hypothesis if you like, measure, and compare. "
        "It must accept every right rule, those with a kink and those that change the shape too, "
        "and reject every wrong one.",
        right=(
            *(shipped(_ELEMENTWISE, name) for name in ("exp", "square", "tanh", "sigmoid")),
            *(shipped(_ELEMENTWISE, name) for name in ("softplus", "relu", "absolute")),
            shipped(_ELEMENTWISE, "clip", _clipped),
            shipped(_SOFTMAX, "softmax", _rows),
            shipped(_REDUCTION, "sum", _summed),
            shipped(_SHAPE, "permute", _turned),
        ),
        wrong=(
            _smooth("square", "the pullback of square has lost its 2", "2.0 * x", "x"),
            _smooth("tanh", "tanh's slope is 1 − value", "1.0 - value * value", "1.0 - value"),
            _smooth("exp", "the pullback of exp ignores its argument", "g * value", "value"),
            _smooth("sigmoid", "sigmoid's slope is negative", "(1.0 - value)", "(value - 1.0)"),
            _smooth("relu", "relu lets gradients through down to −0.5", "x > 0", "x > -0.5"),
            _smooth("absolute", "|x| has slope 1 everywhere", "g * xp.sign(x)", "g"),
            _smooth("softplus", "softplus is too small in the middle", "xp.log(", "0.9 * xp.log("),
            seeded(
                _ELEMENTWISE, "clip", "clip lets gradients through outside of its bounds",
                "xp.where(xp.equal(value, x), g, 0.0)", "g", _clipped,
            ),
            seeded(
                _SOFTMAX, "softmax", "softmax forgets that its outputs share one sum",
                "g - xp.sum(g * value, axis=axis, keepdims=True)", "g", _rows,
            ),
            seeded(
                _REDUCTION, "sum", "the pullback of sum divides by the count, as that of mean does",
                "spread(g, x.shape, axis, keepdims)",
                "spread(g, x.shape, axis, keepdims) / x.shape[axis]", _summed,
            ),
            seeded(
                _SHAPE, "permute", "permute's gradient has the right shape in the wrong order",
                "xp.permute_dims(g, back)", "xp.reshape(g, x.shape)", _turned,
            ),
        ),
    ),
    hints=paragraphs(
        """
        With a step of about 1e-6, (f(x + hv) − f(x − hv)) / 2h measures how f changes in
        the direction v.

        Multiply the result by a random u of the output's shape, and sum: that number must
        be the sum of pullback(u) * v. A u of ones is blind: the outputs of softmax always
        sum to 1.

        A kink is where no slope is right. hypothesis likes 0 and 1 best of all numbers; let
        it choose the seed of np.random.default_rng, and the points come from there.

        Compare relative to the size of what was added up, and allow a little beside, since
        both numbers may be 0. Draw points that are also below −1 and above 1.
        """
    ),
)  # fmt: skip
