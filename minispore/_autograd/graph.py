"""The graph of a computation, and the walk back through it.

A node remembers what made a value: the nodes of its operands and one pullback for each, a function
from the gradient of the value to the gradient of that operand. Nodes are numbered as they are
made, so an operand's number is always smaller than its result's, and visiting nodes by descending
number is a reverse topological order: no sorting, no recursion, each node once. This file knows no
operation and no array; it multiplies nothing itself.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from heapq import heappop, heappush
from itertools import count
from typing import Protocol, Self, TypeVar


class Addable(Protocol):
    """All that the walk asks of a gradient: that two of them can be added."""

    def __add__(self, other: Self, /) -> Self: ...


V = TypeVar("V", bound=Addable)

# Counts across threads; next() on it is atomic.
_numbers = count(1)

# Whether operations leave nodes. Outside a differentiation nothing is recorded.
recording: ContextVar[bool] = ContextVar("recording", default=False)


class Node:
    """One recorded operation, or, without parents, an input of the graph.

    Attributes:
        number: Greater than that of every node made before.
        parents: The operands' nodes; None for an operand that nothing is differentiated by.
        pullbacks: For each operand the map from the value's gradient to the operand's.
        origin: What the layer above needs to make the pullbacks anew on recorded values.
    """

    __slots__ = ("number", "origin", "parents", "pullbacks")

    def __init__(
        self,
        parents: tuple["Node | None", ...] = (),
        pullbacks: Sequence[object] = (),
        origin: object = None,
    ) -> None:
        """Take the next number."""
        self.number = next(_numbers)
        self.parents = parents
        self.pullbacks = pullbacks
        self.origin = origin


@contextmanager
def record(*, on: bool = True):  # -> Iterator[None]
    """Record the operations of the `with` block, or do not."""
    token = recording.set(on)
    try:
        yield
    finally:
        recording.reset(token)
