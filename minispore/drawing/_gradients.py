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
from minispore.ops.gradients import tree_leaves


class Gradients:
    """The gradients of the summed output with respect to all values, from one backward pass.

    Attributes:
        values: The gradients by node number; missing ones are zero.
    """

    def __init__(self, record: GraphRecord) -> None:
        self.values: dict[int, Array] = {}
        self._contributions: dict[tuple[int, int], Array] = {}
        ends = [(x._node, x._data) for x in tree_leaves(record.output) if x._node is not None]
        seeds = [(node, namespace(a).ones_like(a)) for node, a in ends]
        intermediate = {node.number for node in record.operations if any(node.pullbacks)}
        self.values |= backward_pass(
            seeds, record.values.keys() - intermediate, 0, self._wrapped_pullbacks, add
        )

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
