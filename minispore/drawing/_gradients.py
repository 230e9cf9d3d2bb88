"""Gradients with respect to all values of a computation, including intermediate ones.

The backward pass returns gradients of leaves only. Those of intermediate values are the arguments
of the pullbacks, so these are wrapped.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add

from minispore.engine.array import Array, namespace
from minispore.engine.graph import Node, backward_pass
from minispore.nn._graph_recorder import GraphRecord
from minispore.ops._differentiation import tree_leaves


class Gradients:
    """The gradients of the summed output with respect to all values, from one backward pass.

    Args:
        record: The recorded graph.
        visited: The number of nodes that the backward pass visits; None for all.

    Attributes:
        values: The gradients by node number; missing ones are zero.
        incomplete: The numbers of the nodes that are not visited.
    """

    def __init__(self, record: GraphRecord, visited: int | None = None) -> None:
        self.incomplete = set[int]()
        self.values: dict[int, Array] = {}
        self._contributions: dict[tuple[int, int], Array] = {}
        ends = [(x._node, x._data) for x in tree_leaves(record.output) if x._node is not None]
        seeds = [(node, namespace(a).ones_like(a)) for node, a in ends]
        intermediate = {node.number for node in record.operations if any(node.pullbacks)}
        self.values |= backward_pass(
            seeds, record.values.keys() - intermediate, 0, self._wrapped_pullbacks, add
        )
        if visited is not None:
            self._end_after(visited, record.operations, seeds)

    def _end_after(
        self, visited: int, operations: Iterable[Node], seeds: Iterable[tuple[Node, Array]]
    ) -> None:
        """Keep the contributions of the first visited nodes, and the sums of these."""
        order = sorted(self.values, reverse=True)
        self.incomplete = set(order[visited:])
        sums = dict[int, Array]()

        def contribute(number: int, gradient: Array) -> None:
            sums[number] = sums[number] + gradient if number in sums else gradient

        for node, seed in seeds:
            contribute(node.number, seed)
        for node in operations:
            for i, parent in enumerate(node.parents):
                gradient = self._contributions.get((node.number, i))
                if node.number in self.incomplete:
                    self._contributions.pop((node.number, i), None)
                elif parent is not None and gradient is not None:
                    contribute(parent.number, gradient)
        self.values = sums

    def contribution(self, uses: Iterable[tuple[int, int]]) -> Array | None:
        """Return the sum of the contributions of some uses to a gradient; None if there are none.

        Args:
            uses: Pairs of the number of a node and the index of the operand.
        """
        arrays = [self._contributions[use] for use in uses if use in self._contributions]
        return reduce(add, arrays) if arrays else None

    def _wrapped_pullbacks(self, node: Node) -> list[Callable[[Array], Array] | None]:
        return [
            pullback and self._wrap(pullback, node.number, i)
            for i, pullback in enumerate(node.pullbacks)
        ]

    def _wrap(
        self, pullback: Callable[[Array], Array], number: int, index: int
    ) -> Callable[[Array], Array]:
        def wrapped(gradient: Array) -> Array:
            self.values[number] = gradient
            contribution = pullback(gradient)
            self._contributions[number, index] = contribution
            return contribution

        return wrapped
