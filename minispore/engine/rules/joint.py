"""Pullbacks of several operands that share a computation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from minispore.engine.array import A

S = TypeVar("S")


def jointly(backward: Callable[[A], Sequence[S]], count: int) -> list[Callable[[A], S]]:
    """Return a function for each operand, of which the first one that is called computes all.

    Args:
        backward: A function from the gradient of the value to what each operand needs of it.
        count: The number of operands.

    Examples:
        >>> import numpy as np
        >>> first, second = jointly(lambda g: [g + 1.0, g * 2.0], 2)
        >>> g = np.array([3.0])
        >>> first(g).tolist(), second(g).tolist()
        ([4.0], [6.0])
    """
    # The last gradient of the value, and what was computed from it and is not returned yet. Each
    # result is returned once: in another backward pass the same array may have other elements.
    known: list[tuple[A, dict[int, S]]] = []

    def result(i: int, g: A) -> S:
        if not known or known[0][0] is not g or i not in known[0][1]:
            known[:] = [(g, dict(enumerate(backward(g))))]
        return known[0][1].pop(i)

    return [partial(result, i) for i in range(count)]
