"""What a call leaves behind: its recorded operations, and in which cell each of them was made.

The graph is the one that is recorded for the gradients. Nodes are numbered as they are made, so an
operation belongs to the innermost cell within whose call its number was given.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from minispore._array import Array
from minispore._autograd import Node, record
from minispore._dtype import FLOAT
from minispore._functional.variable import wrap
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell
from minispore.ops._derivative import tensors_in

_CONSTRUCT = "construct"


class Call(NamedTuple):
    """A call of a cell, and the numbers before and after those of its own nodes."""

    cell: Cell
    start: int
    stop: int


class Recorded(NamedTuple):
    """What a call was given, what it returned, and what happened in between.

    Attributes:
        inputs: The arguments, those that are float tensors as inputs of the graph.
        output: What was returned.
        operations: The nodes that the output was computed through, in the order in which it was.
        values: What each of these nodes and of their operands' stands for, by its number.
    """

    inputs: tuple[object, ...]
    output: object
    operations: list[Node]
    values: dict[int, Array]


class Watch:
    """Notes the calls of some cells, as they end, until it is stopped."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.calls: list[Call] = []
        self._before: list[tuple[Cell, object]] = []
        for cell in cells:
            self.replace(cell, self._noting(cell))

    def replace(self, cell: Cell, construct: Callable[..., object]) -> None:
        """Put a function in the place of a cell's `construct`, until this is stopped."""
        self._before.append((cell, cell.__dict__.get(_CONSTRUCT)))
        # Not by `cell.construct = …`, so that there is nothing left to see afterwards.
        cell.__dict__[_CONSTRUCT] = construct

    def stop(self) -> None:
        """Leave the cells as they were, and forget their calls."""
        while self._before:
            cell, own = self._before.pop()
            if own is None:
                del cell.__dict__[_CONSTRUCT]
            else:
                cell.__dict__[_CONSTRUCT] = own
        self.calls = []

    def _noting(self, cell: Cell) -> Callable[..., object]:
        construct = cell.construct

        def noting(*args: object, **kwargs: object) -> object:
            start = Node().number
            output = construct(*args, **kwargs)
            self.calls.append(Call(cell, start, Node().number))
            return output

        return noting


def recorded(
    fn: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
) -> Recorded:
    """Call a function, and see what it computes."""
    # As nodes of their own the inputs are seen wherever they go. They come before those of the
    # function, so that a walk back for its gradients ends before them.
    inputs = tuple(_as_input(x) for x in args)
    since = Node().number
    with record():
        output = fn(*inputs, **kwargs)
    ends = [(x._node, x._data) for x in tensors_in(output) if x._node is not None]
    found = _reached((node for node, _ in ends), since)
    operations = sorted(found, key=lambda node: node.number)
    values = {
        parent.number: array
        for node in operations
        for parent, array in zip(node.parents, node.operands, strict=False)
        if parent is not None
    }
    values |= {node.number: array for node, array in ends}
    return Recorded(inputs, output, operations, values)


def operation(node: Node) -> str:
    """The name of what a node does."""
    return getattr(node.rule, "__name__", "").replace("<lambda>", "") or "operation"


def given_beside(node: Node) -> Iterator[object]:
    """What an operation was given beside its operands; of an index, what there is for each axis."""
    for arg in node.args:
        yield from cast("tuple[object, ...]", arg) if isinstance(arg, tuple) else (arg,)


def _as_input(x: object) -> object:
    """A float tensor as an input of the graph, unless it is in one; everything else as it is."""
    if isinstance(x, Tensor) and x._node is None and x.dtype.category == FLOAT:
        return wrap(x._data, x, Node())
    return x


def _reached(ends: Iterable[Node], since: int) -> Iterator[Node]:
    """The operations with higher numbers that the ends were computed through, and those ends."""
    seen: set[int] = set()
    todo = list(ends)
    while todo:
        node = todo.pop()
        if node.number > since and node.parents and node.number not in seen:
            seen.add(node.number)
            yield node
            todo += [parent for parent in node.parents if parent is not None]
