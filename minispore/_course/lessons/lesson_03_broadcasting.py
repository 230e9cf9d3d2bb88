"""Lesson 3: what broadcasting has repeated on the way forward is summed on the way back."""

from dataclasses import dataclass
from math import prod
from types import ModuleType

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong, expect
from minispore.common import Tensor

_WORK = "your unbroadcast"


@dataclass(frozen=True)
class Case:
    """An operand that was broadcast, by its shape and that of the result.

    Attributes:
        shape: The operand's.
        result: The result's, and so that of the gradient.
    """

    shape: tuple[int, ...]
    result: tuple[int, ...]

    def __str__(self) -> str:
        g = self.gradient()
        said = f"g = {g.tolist()}" if g.size else f"a g of shape {g.shape}, without elements,"
        return f"{said} and the shape {self.shape}"

    def gradient(self) -> npt.NDArray[np.float64]:
        """1, 2, 3, … in the shape of the result, so that each sum tells what was added."""
        return np.arange(1.0, prod(self.result) + 1).reshape(self.result)

    def summed(self) -> npt.NDArray[np.float64]:
        """What the operand should get, naively: each element to where it was copied from."""
        total, g = np.zeros(self.shape), self.gradient()
        added = len(self.result) - len(self.shape)
        for place in np.ndindex(self.result):
            pairs = zip(place[added:], self.shape, strict=True)
            total[tuple(0 if length == 1 else i for i, length in pairs)] += g[place]
        return total


@st.composite
def cases(
    draw: st.DrawFn, *, in_front: bool = True, stretched: bool = True, empty: bool = False
) -> Case:
    """Operands of up to two axes, in results of up to three."""
    lengths = st.sampled_from([1, 2, 3, 0] if empty else [1, 2, 3])
    shape = draw(st.lists(lengths, max_size=2))
    result = [draw(lengths) if n == 1 and stretched else n for n in shape]
    more = draw(st.lists(lengths, max_size=3 - len(shape))) if in_front else []
    return Case(tuple(shape), (*more, *result))


def _sums(work: ModuleType, case: Case) -> None:
    found: object = work.unbroadcast(case.gradient(), case.shape)
    _compare(found, case)


def _compare(found: object, case: Case) -> None:
    shape: object = getattr(found, "shape", case.shape)
    if shape != case.shape:
        raise Wrong(
            f"{_WORK} gave an array of shape {shape}, but its operand has the shape {case.shape}"
        )
    expect(_WORK, found, case.summed())


def _works_on_tensors(work: ModuleType, case: Case) -> None:
    found: object = work.unbroadcast(Tensor(case.gradient()), case.shape)
    if not isinstance(found, Tensor):
        raise Wrong(
            f"{_WORK} gave something of type {type(found).__name__}, but a tensor was expected; "
            "compute it with namespace(g) alone"
        )
    _compare(found.asnumpy(), case)


def _for_tensor(case: Case) -> str:
    return f"the tensor {case}"


LESSON = Lesson(
    title="Broadcasting backwards",
    idea="An element that broadcasting has copied was used several times, so its gradient is the "
    "sum of the gradients of its copies.",
    minutes=25,
    explains=(
        "minispore._array.Shape",
        "minispore._rules._types.Binary",
        "minispore._rules.arithmetic.add",
        "minispore._rules.arithmetic.multiply",
        "minispore._rules.broadcasting.unbroadcast",
    ),
    exercise=Build(
        module="minispore._rules.broadcasting",
        tasks={
            "unbroadcast": "Sum over the axes that were put in front, and over those that were "
            "stretched from length 1. The result has the shape `shape`."
        },
        laws=(
            law(
                "An axis that was put in front is summed away.",
                cases(stretched=False),
                _sums,
                show=str,
                examples=60,
            ),
            law(
                "An axis that was stretched is summed, and is there afterwards with length 1.",
                cases(in_front=False),
                _sums,
                show=str,
                examples=60,
            ),
            law("Both may be so at the same time.", cases(), _sums, show=str),
            law(
                "An operand that was copied zero times gets zeros.",
                cases(empty=True),
                _sums,
                show=str,
            ),
            law(
                "Given a tensor, what comes out is a tensor.",
                cases(),
                _works_on_tensors,
                show=_for_tensor,
                examples=40,
            ),
        ),
        bugs=(
            Bug("what was stretched is not summed", "unbroadcast", "*stretched)", ")"),
            Bug("what was put in front is not summed", "unbroadcast", "*range(added)", "*()"),
            Bug("the axes are counted as the operand's", "unbroadcast", "(i + added for", "(i for"),
            Bug(
                "the wrong length is looked at", "unbroadcast", "g.shape[i + added] !=",
                "g.shape[i] !=",
            ),
            Bug(
                "the new axes are sought at the end",
                "unbroadcast", "range(added)", "range(g.ndim - added, g.ndim)",
            ),
            Bug("the copies are averaged", "unbroadcast", "xp.sum(", "xp.mean("),
            Bug("only one of the copies counts", "unbroadcast", "xp.sum(", "xp.max("),
            Bug(
                "the axes of length 1 are lost",
                "unbroadcast", "xp.reshape(xp.sum(g, axis=(*range(added), *stretched)), shape)",
                "xp.sum(g, axis=(*range(added), *stretched))",
            ),
            Bug(
                "an axis that was stretched to length 0 is forgotten",
                "unbroadcast", "g.shape[i + added] != 1", "g.shape[i + added] > 1",
            ),
            Bug(
                "numpy is called, whatever g is",
                "unbroadcast", "xp.sum(g,", "__import__('numpy').sum(g.asnumpy() "
                "if hasattr(g, 'asnumpy') else g,",
            ),
        ),
    ),
    hints=paragraphs(
        """
        Shapes are aligned at the end. With added = g.ndim - len(shape), the first `added` axes
        of g are new, and axis i of the operand is axis i + added of g.

        An axis was stretched where the operand has length 1 and g has another one: 2, or 100,
        or 0.

        Take both kinds together into one tuple of axes, and sum over it once: xp.sum(g,
        axis=(…)). That removes the axes which are to stay with length 1.

        The right number of elements is there now, in the right order: xp.reshape(…, shape)
        puts the axes of length 1 back. If nothing was repeated, g itself is the answer.
        """
    ),
)  # fmt: skip
