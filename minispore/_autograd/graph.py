"""The graph of a computation, and the walk back through it.

A node remembers how a value came about: the nodes of its operands and, for each, a pullback: the
map from the gradient of the value to the gradient of that operand. Nodes are numbered as they are
made, so an operand's number is always below its result's, and visiting nodes by descending number
is a reverse topological order: no sorting, no recursion, every node once. This file knows no
operation; all that it does with gradients is to have them added.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import ContextVar
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeVar

from minispore._array import Array

V = TypeVar("V")

# One sequence for all threads: next() on it is atomic.
_numbers = count(1)

# What this thread's innermost `record` block says; None outside of any.
_mode: ContextVar[bool | None] = ContextVar("recording", default=None)

# One item for each open `record` block of any thread; appending and popping are atomic.
_blocks: list[None] = []


class Node:
    """One recorded operation or, without parents, an input of the graph.

    Attributes:
        number: Greater than that of every node made before.
        parents: The operands' nodes; None for an operand that is a constant.
        pullbacks: One for each operand; None where no gradient flows.
        rule: What gave the pullbacks, so that it can give them anew for recorded operands.
        operands: The arrays that the rule was called with.
        args: What it was called with beside them.
    """

    # Long graphs cost Python's garbage collector a visit to each of their objects, several times:
    # hence slots here rather than a tuple or a dict of what a node remembers.
    __slots__ = ("args", "number", "operands", "parents", "pullbacks", "rule")

    def __init__(
        self,
        parents: Sequence["Node | None"] = (),
        pullbacks: Sequence[Callable[[Array], Array] | None] = (),
        rule: Callable[..., object] | None = None,
        operands: tuple[Array, ...] = (),
        args: tuple[object, ...] = (),
    ) -> None:
        self.number = next(_numbers)
        self.parents = parents
        self.pullbacks = pullbacks
        self.rule = rule
        self.operands = operands
        self.args = args


class record:  # noqa: N801 (used as a verb: `with record():`)
    """Record the operations of the `with` block or, with `on` False, do not.

    A class of its own, because every gradient goes through here and a generator costs more.
    """

    __slots__ = ("_on", "_token")

    def __init__(self, *, on: bool = True) -> None:
        self._on = on

    def __enter__(self) -> None:
        _blocks.append(None)
        self._token = _mode.set(self._on)

    def __exit__(self, *_: object) -> None:
        _mode.reset(self._token)
        _blocks.pop()


def is_recording() -> bool:
    """Return whether operations on values with a node are recorded.

    A thread without a `record` block of its own records while any other thread has one: it may
    work for a function that is being differentiated there.
    """
    mode = _mode.get()
    return bool(_blocks) if mode is None else mode


def in_record_block() -> bool:
    """Return whether this thread is inside a `record` block, be it on or off.

    Arrays may then be in use by a graph, so what writes in place writes to new memory.
    """
    return _mode.get() is not None


def walk(
    seeds: Iterable[tuple[Node, V]],
    wanted: Collection[int],
    since: int,
    pullbacks_of: Callable[[Node], Sequence[Callable[[V], V] | None]],
    add: Callable[[V, V], V],
) -> dict[int, V]:
    """Carry gradients from the outputs back to the wanted nodes.

    Gradients live in this function's dictionary and nowhere else: nothing has to be zeroed
    before, and nothing accumulates from one walk to the next.

    Args:
        seeds: The outputs' nodes with the gradients that they start from.
        wanted: The numbers of the nodes whose gradients are asked for; the walk ends at them.
        since: Nodes numbered below are constants of this differentiation, unless wanted.
        pullbacks_of: Gives a node's pullbacks on values of type V.
        add: The sum of two gradients.

    Returns:
        The gradient for the number of each wanted node that was reached.
    """
    pending: dict[int, tuple[Node, V]] = {}
    for node, gradient in seeds:
        number = node.number
        if number in pending:
            gradient = add(pending[number][1], gradient)  # noqa: PLW2901
        pending[number] = node, gradient
    # Negative numbers, since heapq gives the smallest first.
    heap = [-number for number in pending]
    heapify(heap)
    found: dict[int, V] = {}
    while heap:
        number = -heappop(heap)
        node, gradient = pending.pop(number)
        if number in wanted:
            found[number] = gradient
            continue
        # Of equal length by construction; to have zip check it costs a tenth of the walk.
        for parent, pullback in zip(node.parents, pullbacks_of(node)):  # noqa: B905
            if parent is None or pullback is None:
                continue
            number = parent.number
            if number < since and number not in wanted:
                continue
            share = pullback(gradient)
            if number in pending:
                share = add(pending[number][1], share)
            else:
                heappush(heap, -number)
            pending[number] = parent, share
    return found
