"""A network's graph as TensorBoard draws it: which operations it is made of, and in which cells.

The graph is the one that is recorded for the gradients. Nodes are numbered as they are made, so an
operation belongs to the innermost cell within whose call its number was given. The cells' calls
are watched once, the next time that the network is called, and never again.

What is written is TensorFlow's GraphDef:

    GraphDef  { repeated NodeDef node = 1; versions { producer 1 } = 4 }
    NodeDef   { string name = 1; string op = 2; repeated string input = 3;
                map<string, AttrValue> attr = 5 }
    AttrValue { list { repeated shape 7 } 1; int type 6; shape 7 {repeated dim 2 {size 1}} }
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from minispore._autograd import Node, record, recording
from minispore._functional.differentiate import detached
from minispore._functional.variable import wrap
from minispore.common import Parameter, Tensor
from minispore.common.dtype import float16, float32, float64
from minispore.nn import Cell
from minispore.train import _protobuf as wire

_CONSTRUCT = "construct"
_PRODUCER = 22
_FLOATS = (float16, float32, float64)


class _Call(NamedTuple):
    """A cell's call: its name in the graph, and the numbers before and after its own nodes."""

    scope: str
    start: int
    stop: int


class Tracer:
    """Watches the next call of a network.

    Args:
        network: The network.
        names: What to call which of its parts; cells inside a part are named after their path.
            Cells that belong to none have no name in the graph.
    """

    def __init__(self, network: Cell, names: Mapping[str, Cell]) -> None:
        self._network = network
        self._names = names
        self._calls: list[_Call] = []
        self._inputs: list[Tensor] = []
        self._ends: list[Tensor] = []
        self._graph: bytes | None = None
        self._watched: list[tuple[Cell, object]] = []
        for scope, cell in _scopes(network, names).values():
            self._watch(cell, scope)

    def graph(self) -> bytes | None:
        """The graph as the bytes of a GraphDef, or None if the network has not been called."""
        return self._graph

    def stop(self) -> None:
        """Leave the network as it was."""
        for cell, own in self._watched:
            if own is None:
                del cell.__dict__[_CONSTRUCT]
            else:
                cell.__dict__[_CONSTRUCT] = own
        self._watched = []

    def _watch(self, cell: Cell, scope: str) -> None:
        construct = cell.construct
        self._watched.append((cell, cell.__dict__.get(_CONSTRUCT)))

        def watched(*args: object, **kwargs: object) -> object:
            if cell is self._network:
                return self._whole(scope, construct, args, kwargs)
            return self._part(scope, construct, args, kwargs)

        # Not by `cell.construct = …`, so that there is nothing left to see afterwards.
        cell.__dict__[_CONSTRUCT] = watched

    def _part(
        self,
        scope: str,
        construct: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        start = Node().number
        output = construct(*args, **kwargs)
        ends = [x for x in _tensors(output) if x._node is not None]
        if ends:
            self._calls.append(_Call(scope, start, Node().number))
            self._ends = ends
        return output

    def _whole(
        self,
        scope: str,
        construct: Callable[..., object],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        inside = recording.get()
        # As nodes of their own the inputs are seen wherever they go. They come before those of
        # the network, so that a walk back for its gradients ends before them.
        given = tuple(_as_input(x) for x in args)
        self._inputs = [x for x in given if isinstance(x, Tensor)]
        try:
            with record():
                output = self._part(scope, construct, given, kwargs)
            self._graph = self._drawn()
        finally:
            self.stop()
            self._inputs, self._ends, self._calls = [], [], []
        return output if inside else detached(output)

    def _drawn(self) -> bytes | None:
        nodes = sorted(_reached(x._node for x in self._ends), key=lambda node: node.number)
        return _Drawing(nodes, self._calls, self._inputs, self._parameters()).graph_def()

    def _parameters(self) -> dict[str, Parameter]:
        found: dict[str, Parameter] = {}
        for name, cell in self._names.items():
            for path, parameter in cell.parameters_and_names():
                found[f"{name}/{path.replace('.', '/')}"] = parameter
        return found


def parts_of(network: Cell, loss_fn: object) -> dict[str, Cell]:
    """A model's network and its loss under the names of their classes."""
    parts = {type(network).__name__: network}
    if isinstance(loss_fn, Cell):
        parts.setdefault(type(loss_fn).__name__, loss_fn)
    return parts


class _Drawing:
    """The nodes of a graph under names that are paths of cells."""

    def __init__(
        self,
        nodes: list[Node],
        calls: list[_Call],
        inputs: list[Tensor],
        parameters: Mapping[str, Parameter],
    ) -> None:
        self._nodes = nodes
        self._calls = sorted(calls, key=lambda call: call.stop - call.start)
        self._names: dict[int, str] = {}
        # Constants are known by their arrays.
        self._arrays: dict[int, str] = {}
        self._taken: set[str] = set()
        self._defs: list[bytes] = []
        for i, x in enumerate(inputs):
            self._add_leaf(self._free(f"input_{i}"), "Input", x)
        for name, parameter in parameters.items():
            self._add_leaf(self._free(name), "Parameter", parameter)

    def graph_def(self) -> bytes:
        shapes = _shapes(self._nodes)
        for node in self._nodes:
            if node.number not in self._names and node.rule is not None:
                self._add(node, shapes.get(node.number))
        return b"".join(self._defs) + wire.bytes_field(4, wire.varint_field(1, _PRODUCER))

    def _add_leaf(self, name: str, op: str, x: Tensor) -> None:
        if x._node is not None:
            self._names[x._node.number] = name
        self._arrays[id(x._data)] = name
        self._defs.append(_node_def(name, op, (), x.shape))

    def _add(self, node: Node, shape: tuple[int, ...] | None) -> None:
        op = getattr(node.rule, "__name__", "").replace("<lambda>", "") or "operation"
        scope = next((c.scope for c in self._calls if c.start < node.number < c.stop), "")
        name = self._free(f"{scope}/{op}" if scope else op)
        self._names[node.number] = name
        inputs = [
            self._names[parent.number]
            if parent is not None and parent.number in self._names
            else self._arrays.get(id(array), "")
            for parent, array in zip(node.parents, node.operands, strict=False)
        ]
        inputs += [self._arrays.get(id(extra), "") for extra in node.args]
        self._defs.append(_node_def(name, op, filter(None, inputs), shape))

    def _free(self, name: str) -> str:
        free, n = name, 0
        while free in self._taken:
            n += 1
            free = f"{name}_{n}"
        self._taken.add(free)
        return free


def _scopes(network: Cell, names: Mapping[str, Cell]) -> dict[int, tuple[str, Cell]]:
    """Each cell below `network` with its name in the graph."""
    scopes = {id(cell): ("", cell) for _, cell in network.cells_and_names()}
    for name, part in names.items():
        for path, cell in part.cells_and_names():
            scopes[id(cell)] = f"{name}/{path.replace('.', '/')}".rstrip("/"), cell
    return scopes


def _as_input(x: object) -> object:
    """A float tensor as an input of the graph, unless it is in one; everything else as it is."""
    if isinstance(x, Tensor) and x._node is None and x.dtype in _FLOATS:
        return wrap(x._data, x, Node())
    return x


def _tensors(values: object) -> list[Tensor]:
    if isinstance(values, Tensor):
        return [values]
    if isinstance(values, tuple | list):
        return [x for x in cast("list[object]", values) if isinstance(x, Tensor)]
    return []


def _reached(ends: Iterable[Node | None]) -> Iterator[Node]:
    """All nodes from which the ends were computed, and the ends."""
    seen: set[int] = set()
    todo = [node for node in ends if node is not None]
    while todo:
        node = todo.pop()
        if node.number not in seen:
            seen.add(node.number)
            yield node
            todo += [parent for parent in node.parents if parent is not None]


def _shapes(nodes: Iterable[Node]) -> dict[int, tuple[int, ...]]:
    """The shapes of those nodes that are an operand of another."""
    return {
        parent.number: array.shape
        for node in nodes
        for parent, array in zip(node.parents, node.operands, strict=False)
        if parent is not None and isinstance(getattr(array, "shape", None), tuple)
    }


def _node_def(name: str, op: str, inputs: Iterable[str], shape: tuple[int, ...] | None) -> bytes:
    parts = [wire.text_field(1, name), wire.text_field(2, op)]
    parts += [wire.text_field(3, other) for other in inputs]
    if shape is not None:
        dims = b"".join(wire.bytes_field(2, wire.varint_field(1, n)) for n in shape)
        listed = wire.bytes_field(1, wire.bytes_field(7, dims))
        parts.append(
            wire.bytes_field(5, wire.text_field(1, "_output_shapes") + wire.bytes_field(2, listed))
        )
    return wire.bytes_field(1, b"".join(parts))
