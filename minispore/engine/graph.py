"""The computational graph and the backward pass.

A node records how a value was computed: it stores the nodes of the operands and, for each operand,
a pullback, which maps the gradient of the value to the gradient of the operand. Nodes are numbered
in the order of their creation, so an operand has a lower number than the result, and descending
order of numbers is a reverse topological order. The backward pass visits each node once, without
sorting and recursion. It contains no operation: it only calls pullbacks and adds gradients.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextvars import ContextVar
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TypeVar

from minispore.engine.array import Array

R = TypeVar("R")
V = TypeVar("V")

# One sequence for all threads: its `__next__` is atomic.
next_number: Callable[[], int] = count(1).__next__

# Whether this thread's innermost call of `record` is on; None outside of such a call.
_mode: ContextVar[bool | None] = ContextVar("recording", default=None)

# One item for each active call of `record` of any thread.
_blocks: dict[object, None] = {}


class Node:
    """One recorded operation or, without parents, an input of the graph.

    PyTorch calls it `grad_fn`.

    Args:
        parents: The nodes of the operands; None for an operand that is a constant.
        pullbacks: One function for each operand, from the gradient of the value to the gradient of
            the operand; None where no gradient flows.
        rule: The derivative rule, from which higher-order derivatives obtain recorded pullbacks.
        operands: The arrays that the rule was called with.
        args: The further arguments that the rule was called with.

    Attributes:
        number: The node's number, greater than those of all nodes created before.

    Examples:
        >>> x = Node()
        >>> doubled = Node([x], [lambda g: 2.0 * g])
        >>> doubled.number > x.number
        True
    """

    # Python's garbage collector visits each object of a graph several times: with slots, a node is
    # one object.
    __slots__ = ("args", "number", "operands", "parents", "pullbacks", "rule")

    def __init__(
        self,
        parents: Sequence["Node | None"] = (),
        pullbacks: Sequence[Callable[[Array], Array] | None] = (),
        rule: Callable[..., object] | None = None,
        operands: tuple[Array, ...] = (),
        args: tuple[object, ...] = (),
    ) -> None:
        self.number: int = next_number()
        self.parents: Sequence[Node | None] = parents
        self.pullbacks: Sequence[Callable[[Array], Array] | None] = pullbacks
        self.rule: Callable[..., object] | None = rule
        self.operands: tuple[Array, ...] = operands
        self.args: tuple[object, ...] = args


def record(function: Callable[[], R], *, on: bool = True) -> R:
    """Return `function()`, whose operations are recorded.

    Args:
        function: The function.
        on: False to stop recording while it runs.

    Examples:
        >>> record(lambda: record(is_recording, on=False))
        False
    """
    before, block = _mode.get(), object()
    try:
        try:
            _blocks[block] = None
            _mode.set(on)
            return function()
        finally:
            # Python handles Ctrl-C after a call, so the first statement is none.
            if block in _blocks:
                del _blocks[block]  # noqa: RUF051 (`pop` is a call)
            _mode.set(before)
    finally:
        # Once more: the function of a profiler, as in a capture, runs before `set`.
        _mode.set(before)


def switch_recording(*, on: bool) -> None:
    """Record in the rest of the innermost call of `record`, or do not."""
    _mode.set(on)


def is_recording() -> bool:
    """Return whether operations on values with a node are recorded.

    A thread outside of `record` records while another thread is in it, since that thread may be
    differentiating a function that works in several threads.

    Returns:
        Whether the innermost `record` of this thread is on; outside of it, whether another thread
        is in one.

    Examples:
        >>> record(is_recording)
        True
    """
    mode = _mode.get()
    return bool(_blocks) if mode is None else mode


def in_record_block() -> bool:
    """Return whether this thread is in a call of `record`, whether that is on or off.

    A graph may then refer to arrays, so in-place operations must write to new memory.
    """
    return _mode.get() is not None


def backward_pass(
    seeds: Iterable[tuple[Node, V]],
    inputs: Collection[int],
    first_number: int,
    get_pullbacks: Callable[[Node], Sequence[Callable[[V], V] | None]],
    add: Callable[[V, V], V],
) -> dict[int, V]:
    """Propagate gradients from the outputs back to the inputs.

    Gradients are stored only in this function's dictionary, so none has to be set to zero first.

    Args:
        seeds: The nodes of the outputs, each with its seed gradient.
        inputs: The numbers of the nodes whose gradients are requested. The backward pass does not
            continue from them to their parents.
        first_number: Nodes with lower numbers are constants, unless they are in `inputs`.
        get_pullbacks: Returns the pullbacks of a node, for gradients of type V.
        add: Returns the sum of two gradients.

    Returns:
        The gradient of each input that was reached, by its number.

    Examples:
        >>> x = Node()
        >>> y = Node([x, x], [lambda g: 2.0 * g, lambda g: 3.0 * g])
        >>> gradients = backward_pass(
        ...     [(y, 1.0)], {x.number}, 0, lambda node: node.pullbacks, lambda a, b: a + b
        ... )
        >>> gradients[x.number]
        5.0
    """
    pending: dict[int, tuple[Node, V]] = {}
    for node, gradient in seeds:
        number = node.number
        if number in pending:
            gradient = add(pending[number][1], gradient)  # noqa: PLW2901
        pending[number] = node, gradient
    # Negative numbers, since heapq returns the smallest item first.
    heap = [-number for number in pending]
    heapify(heap)
    result: dict[int, V] = {}
    while heap:
        number = -heappop(heap)
        node, gradient = pending.pop(number)
        if number in inputs:
            result[number] = gradient
            continue
        # Their lengths are equal; with `strict` the backward pass takes a tenth longer.
        for parent, pullback in zip(node.parents, get_pullbacks(node)):  # noqa: B905
            if parent is None or pullback is None:
                continue
            number = parent.number
            if number < first_number and number not in inputs:
                continue
            contribution = pullback(gradient)
            if number in pending:
                contribution = add(pending[number][1], contribution)
            else:
                heappush(heap, -number)
            pending[number] = parent, contribution
    return result
