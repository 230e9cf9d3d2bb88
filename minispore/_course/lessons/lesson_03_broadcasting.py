"""Lesson 3: the gradient of a broadcast operand is summed over the repeated axes."""

from dataclasses import dataclass
from math import prod
from types import ModuleType

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Contract, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect
from minispore._course.rule_calls import expect_unchanged
from minispore.common import Tensor

_SUBJECT = "your unbroadcast"


@dataclass(frozen=True)
class Case:
    """The shapes of a broadcast operand and of the result.

    Attributes:
        shape: The shape of the operand.
        result: The shape of the result and of its gradient.
        first: Whether the shapes are aligned at the first axis instead of the last one.
    """

    shape: tuple[int, ...]
    result: tuple[int, ...]
    first: bool = False

    def __str__(self) -> str:
        g = self.gradient()
        text = f"g = {g.tolist()}" if g.size else f"an empty g of shape {g.shape}"
        return f"{text} and the shape {self.shape}"

    def gradient(self) -> npt.NDArray[np.float64]:
        """Return 1, 2, 3, … in the shape of the result, so that a sum shows its terms."""
        return np.arange(1.0, prod(self.result) + 1).reshape(self.result)

    def expected(self) -> npt.NDArray[np.float64]:
        """Return the gradient of the operand, computed naively, element by element."""
        total, g = np.zeros(self.shape), self.gradient()
        added = len(self.result) - len(self.shape)
        for index in np.ndindex(self.result):
            aligned = index[: len(self.shape)] if self.first else index[added:]
            pairs = zip(aligned, self.shape, strict=True)
            total[tuple(0 if length == 1 else i for i, length in pairs)] += g[index]
        return total


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    prepended: bool = True,
    stretched: bool = True,
    empty: bool = False,
    first: bool = False,
) -> Case:
    """Generate operands with up to two axes, and results with up to three."""
    lengths = st.sampled_from([1, 2, 3, 0] if empty else [1, 2, 3])
    shape = draw(st.lists(lengths, max_size=2))
    result = [draw(lengths) if n == 1 and stretched else n for n in shape]
    more = draw(st.lists(lengths, max_size=3 - len(shape))) if prepended else []
    return Case(tuple(shape), (*result, *more) if first else (*more, *result), first)


def _is_correct(work: ModuleType, case: Case) -> None:
    g = case.gradient()
    _compare(work.unbroadcast(g, case.shape), case)
    expect_unchanged("unbroadcast", ("the gradient", g, case.gradient()))


def _compare(result: object, case: Case) -> None:
    shape: object = getattr(result, "shape", case.shape)
    if shape != case.shape:
        raise WrongResult(
            f"{_SUBJECT} gave an array of shape {shape}, but its operand has the shape {case.shape}"
        )
    expect(_SUBJECT, result, case.expected())


def _accepts_tensors(work: ModuleType, case: Case) -> None:
    result: object = work.unbroadcast(Tensor(case.gradient()), case.shape)
    if not isinstance(result, Tensor):
        raise WrongResult(
            f"{_SUBJECT} gave a result of type {type(result).__name__}, but a tensor was expected; "
            "use only namespace(g)"
        )
    _compare(result.asnumpy(), case)


def _show_tensor(case: Case) -> str:
    return f"the tensor {case}"


def _properties(*, first: bool = False) -> tuple[Property, ...]:
    added = "An appended" if first else "A prepended"
    return (
        Property(
            f"{added} axis is summed and removed.",
            cases(stretched=False, first=first), _is_correct, examples=60,
        ),
        Property(
            "A stretched axis is summed and kept with length 1.",
            cases(prepended=False, first=first), _is_correct, examples=60,
        ),
        Property("Both kinds of axes may occur together.", cases(first=first), _is_correct),
        Property(
            "The gradient of an operand that was copied zero times is zero.",
            cases(empty=True, first=first), _is_correct,
        ),
        Property(
            "For a tensor, the result is a tensor.",
            cases(first=first), _accepts_tensors, show=_show_tensor, examples=40,
        ),
    )  # fmt: skip


LESSON = Lesson(
    title="Gradients of broadcasting",
    exercise=CodeExercise(
        module="minispore.engine.rules.broadcasting",
        tasks={
            "unbroadcast": "Sum over the prepended axes and over those that were stretched from "
            "length 1. The result has the shape `shape`."
        },
        properties=_properties(),
        contracts=(
            Contract(
                "unbroadcast",
                "shapes are aligned at the first axis, not at the last one. So axes were appended, "
                "and axis i of the operand is axis i of g.",
                bugs(
                    "unbroadcast",
                    ("", "i + added for i, n in enumerate(shape) if n == 1 and g.shape[i + added]",
                     "i for i, n in enumerate(shape) if n == 1 and g.shape[i]"),
                    ("", "*range(added)", "*range(len(shape), g.ndim)"),
                ),
                _properties(first=True),
            ),
        ),
        bugs=bugs(
            "unbroadcast",
            ("stretched axes are not summed", "*stretched)", ")"),
            ("prepended axes are not summed", "*range(added)", "*()"),
            ("the axes are numbered as those of the operand", "(i + added for", "(i for"),
            ("the wrong length is compared", "g.shape[i + added] !=", "g.shape[i] !="),
            ("the new axes are assumed to be the last ones",
             "range(added)", "range(g.ndim - added, g.ndim)"),
            ("the gradients of the copies are averaged", "xp.sum(", "xp.mean("),
            ("only the largest gradient of the copies counts", "xp.sum(", "xp.max("),
            ("the axes of length 1 are lost",
             "xp.reshape(xp.sum(g, axis=(*range(added), *stretched)), shape)",
             "xp.sum(g, axis=(*range(added), *stretched))"),
            ("an axis that was stretched to length 0 is ignored",
             "g.shape[i + added] != 1", "g.shape[i + added] > 1"),
            ("numpy is called, whatever g is",
             "xp.sum(g,",
             "__import__('numpy').sum(g.asnumpy() if hasattr(g, 'asnumpy') else g,"),
        ),
    ),
    hints="""
        Shapes are aligned at the last axis. With added = g.ndim - len(shape), the first `added`
        axes of g are new, and axis i of the operand is axis i + added of g.

        An axis was stretched if the operand has length 1 and g has another length: 2, or 100,
        or 0.

        Collect both kinds in one tuple of axes, and sum over it once: xp.sum(g, axis=(…)). This
        also removes the axes that should stay with length 1.

        The result now has the right elements in the right order: xp.reshape(…, shape) restores
        the axes of length 1. If no axis was repeated, return g itself.
        """,
)  # fmt: skip
