"""The backward pass of lesson 1."""

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol, Self, TypeAlias, TypeVar

from minispore.engine.graph import Node


class _Addable(Protocol):
    def __add__(self, other: Self, /) -> Self: ...


V = TypeVar("V", bound=_Addable)
# The node of an operand, and the pullback to it.
Edge: TypeAlias = tuple[Node, Callable[[V], V]]


def backward_pass(
    seeds: Iterable[tuple[Node, V]], edges: Callable[[Node], Sequence[Edge[V]]]
) -> dict[int, V]:
    """Propagate gradients from the outputs back to the nodes at which the edges end.

    Args:
        seeds: The nodes of the outputs, each with its seed gradient.
        edges: Returns, for each operand of a node through which a gradient flows, the operand's
            node and the pullback to it. It is called once for each node.

    Returns:
        The gradients of the nodes without edges, by their numbers.

    Examples:
        >>> x = Node()
        >>> y = Node([x, x], [lambda g: 2.0 * g, lambda g: 3.0 * g])
        >>> gradients = backward_pass(
        ...     [(y, 1.0)], lambda node: list(zip(node.parents, node.pullbacks))
        ... )
        >>> gradients[x.number]
        5.0
    """
    pending: dict[int, tuple[Node, V]] = {}
    for node, gradient in seeds:
        number = node.number
        if number in pending:
            gradient = pending[number][1] + gradient  # noqa: PLW2901
        pending[number] = node, gradient
    # Negative numbers, since heapq returns the smallest item first.
    heap = [-number for number in pending]
    heapify(heap)
    result: dict[int, V] = {}
    while heap:
        number = -heappop(heap)
        node, gradient = pending.pop(number)
        operands = edges(node)
        if not operands:
            result[number] = gradient
        for parent, pullback in operands:
            number = parent.number
            contribution = pullback(gradient)
            if number in pending:
                contribution = pending[number][1] + contribution
            else:
                heappush(heap, -number)
            pending[number] = parent, contribution
    return result
