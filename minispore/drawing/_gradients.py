"""The gradient by every value of a computation, not only by those that somebody asks for.

The walk back returns the gradients at which it ends. Those on its way are what it hands to the
pullbacks, so these are listened to.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import add

from minispore._array import Array, namespace
from minispore._autograd import Node, walk
from minispore.nn._recorded import Recorded
from minispore.ops._derivative import tensors_in


class Gradients:
    """The gradients of the summed output by every value, from one walk back.

    Attributes:
        values: By the numbers of the nodes; where there is none, it is zero.
    """

    def __init__(self, what: Recorded) -> None:
        self.values: dict[int, Array] = {}
        self._shares: dict[tuple[int, int], Array] = {}
        ends = [(x._node, x._data) for x in tensors_in(what.output) if x._node is not None]
        seeds = [(node, namespace(a).ones_like(a)) for node, a in ends]
        on_the_way = {node.number for node in what.operations if any(node.pullbacks)}
        self.values |= walk(seeds, what.values.keys() - on_the_way, 0, self._noting, add)

    def share(self, uses: Iterable[tuple[int, int]]) -> Array | None:
        """What came to the gradient of a value from some of its uses; None if nothing did.

        Args:
            uses: Numbers of nodes, each with as which of its operands it used the value.
        """
        found = [self._shares[use] for use in uses if use in self._shares]
        return reduce(add, found) if found else None

    def _noting(self, node: Node) -> list[Callable[[Array], Array] | None]:
        return [
            pullback and self._noted(pullback, node.number, i)
            for i, pullback in enumerate(node.pullbacks)
        ]

    def _noted(
        self, pullback: Callable[[Array], Array], number: int, place: int
    ) -> Callable[[Array], Array]:
        def noted(gradient: Array) -> Array:
            self.values[number] = gradient
            share = pullback(gradient)
            self._shares[number, place] = share
            return share

        return noted
