"""Record the computational graph of a call, and the cell in which each operation was recorded.

The graph is the one that is recorded for gradients. Nodes are numbered in the order of their
creation, so an operation belongs to the innermost cell during whose call its number was assigned.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from minispore.engine.array import Array
from minispore.engine.dispatch import wrap
from minispore.engine.dtypes import FLOAT
from minispore.engine.graph import Node, record
from minispore.nn.cell import Cell
from minispore.ops._differentiation import tree_leaves
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_tuple

_CONSTRUCT = "construct"


class Call(NamedTuple):
    """A call of a cell, with the node numbers before and after it."""

    cell: Cell
    start: int
    stop: int


class GraphRecord(NamedTuple):
    """The inputs, the output and the operations of a call.

    Attributes:
        inputs: The arguments, with float tensors as inputs of the graph.
        output: The return value.
        operations: The nodes on which the output depends, in the order of their creation.
        values: The value of each of these nodes and of their operands, by its number.
    """

    inputs: tuple[object, ...]
    output: object
    operations: list[Node]
    values: dict[int, Array]


class CellCallRecorder:
    """Records the calls of some cells, in the order in which they end, until it is stopped."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.calls: list[Call] = []
        self._replaced: list[tuple[Cell, object]] = []
        for cell in cells:
            self.replace(cell, self._recording(cell))

    def replace(self, cell: Cell, construct: Callable[..., object]) -> None:
        """Replace a cell's `construct` until `stop` is called."""
        self._replaced.append((cell, cell.__dict__.get(_CONSTRUCT)))
        # Not by `cell.construct = …`, so that `stop` can restore the attributes exactly.
        cell.__dict__[_CONSTRUCT] = construct

    def stop(self) -> None:
        """Restore the cells, and forget their calls."""
        while self._replaced:
            cell, original = self._replaced.pop()
            if original is None:
                del cell.__dict__[_CONSTRUCT]
            else:
                cell.__dict__[_CONSTRUCT] = original
        self.calls = []

    def _recording(self, cell: Cell) -> Callable[..., object]:
        original = cell.construct

        def construct(*args: object, **kwargs: object) -> object:
            start = Node().number
            output = original(*args, **kwargs)
            self.calls.append(Call(cell, start, Node().number))
            return output

        return construct


def record_graph(
    fn: Callable[..., object], args: Sequence[object], kwargs: dict[str, object]
) -> GraphRecord:
    """Call a function and return the graph of its operations."""
    # The inputs get nodes, so that their uses are recorded. These precede the function's own nodes,
    # so that a backward pass for its gradients ends before them.
    inputs = tuple(_as_input(x) for x in args)
    first_number = Node().number
    output = record(lambda: fn(*inputs, **kwargs))
    outputs = [(x._node, x._data) for x in tree_leaves(output) if x._node is not None]
    operations = sorted(
        _reachable_nodes((node for node, _ in outputs), first_number), key=lambda node: node.number
    )
    values = {
        parent.number: array
        for node in operations
        for parent, array in zip(node.parents, node.operands, strict=False)
        if parent is not None
    }
    values |= {node.number: array for node, array in outputs}
    return GraphRecord(inputs, output, operations, values)


def operation(node: Node) -> str:
    """Return the name of a node's operation."""
    return getattr(node.rule, "__name__", "").replace("<lambda>", "") or "operation"


def static_arguments(node: Node) -> Iterator[object]:
    """Yield the arguments of an operation that are not operands, and the items of tuples."""
    for arg in node.args:
        yield from as_tuple(arg)


def _as_input(x: object) -> object:
    """Return `x`, as an input of the graph if it is a float tensor outside of any graph."""
    if isinstance(x, Tensor) and x._node is None and x.dtype.category == FLOAT:
        return wrap(x._data, x, Node())
    return x


def _reachable_nodes(outputs: Iterable[Node], first_number: int) -> Iterator[Node]:
    """Yield the operations, numbered above `first_number`, on which the outputs depend."""
    seen: set[int] = set()
    todo = list(outputs)
    while todo:
        node = todo.pop()
        if node.number > first_number and node.parents and node.number not in seen:
            seen.add(node.number)
            yield node
            todo += [parent for parent in node.parents if parent is not None]
