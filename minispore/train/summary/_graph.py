"""A network's graph as TensorBoard draws it: which operations it is made of, and in which cells.

The cells' calls are watched once, the next time that the network is called, and never again.

What is written is TensorFlow's GraphDef:

    GraphDef  { repeated NodeDef node = 1; versions { producer 1 } = 4 }
    NodeDef   { string name = 1; string op = 2; repeated string input = 3;
                map<string, AttrValue> attr = 5 }
    AttrValue { list { repeated shape 7 } 1; int type 6; shape 7 {repeated dim 2 {size 1}} }
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from minispore._autograd import Node, is_recording
from minispore._functional.differentiate import detached
from minispore.common import Parameter, Tensor
from minispore.nn import Cell, TrainOneStepCell
from minispore.nn._recorded import Call, Recorded, Watch, given_beside, operation, recorded
from minispore.train._files import protobuf as wire

_PRODUCER = 22


class Tracer:
    """Watches the next call of a network.

    Args:
        network: The network.
        names: What to call which of its parts; cells inside a part are named after their path.
            Cells that belong to none have no name in the graph.
    """

    def __init__(self, network: Cell, names: Mapping[str, Cell]) -> None:
        self._names = names
        self._scopes = _scopes(network, names)
        self._graph: bytes | None = None
        self._watch = Watch(cell for _, cell in self._scopes.values())
        drawn = _forward(network)
        self._watch.replace(drawn, self._drawing(drawn.construct))

    def graph(self) -> bytes | None:
        """The graph as the bytes of a GraphDef, or None if the network has not been called."""
        return self._graph

    def stop(self) -> None:
        """Leave the network as it was."""
        self._watch.stop()

    def _drawing(self, construct: Callable[..., object]) -> Callable[..., object]:
        def drawing(*args: object, **kwargs: object) -> object:
            inside = is_recording()
            try:
                what = recorded(construct, args, kwargs)
                self._graph = self._drawn(what)
            finally:
                self.stop()
            return what.output if inside else detached(what.output)

        return drawing

    def _drawn(self, what: Recorded) -> bytes:
        calls = [(self._scopes[id(call.cell)][0], call) for call in self._watch.calls]
        return _Drawing(what, calls, self._parameters()).graph_def()

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
        what: Recorded,
        calls: Sequence[tuple[str, Call]],
        parameters: Mapping[str, Parameter],
    ) -> None:
        self._what = what
        self._calls = calls
        self._names: dict[int, str] = {}
        # Constants are known by their arrays.
        self._arrays: dict[int, str] = {}
        self._taken: set[str] = set()
        self._defs: list[bytes] = []
        for i, x in enumerate(x for x in what.inputs if isinstance(x, Tensor)):
            self._add_leaf(self._free(f"input_{i}"), "Input", x)
        for name, parameter in parameters.items():
            self._add_leaf(self._free(name), "Parameter", parameter)

    def graph_def(self) -> bytes:
        for node in self._what.operations:
            self._add(node, self._what.values[node.number].shape)
        return b"".join(self._defs) + wire.bytes_field(4, wire.varint_field(1, _PRODUCER))

    def _add_leaf(self, name: str, op: str, x: Tensor) -> None:
        if x._node is not None:
            self._names[x._node.number] = name
        self._arrays[id(x._data)] = name
        self._defs.append(_node_def(name, op, (), x.shape))

    def _add(self, node: Node, shape: tuple[int, ...]) -> None:
        op = operation(node)
        # A call ends after those within it: the first one is the innermost.
        scope = next((s for s, call in self._calls if call.start < node.number < call.stop), "")
        name = self._free(f"{scope}/{op}" if scope else op)
        self._names[node.number] = name
        inputs = [
            self._names[parent.number]
            if parent is not None and parent.number in self._names
            else self._arrays.get(id(array))
            for parent, array in zip(node.parents, node.operands, strict=False)
        ]
        inputs += [self._arrays.get(id(each)) for each in given_beside(node)]
        self._defs.append(_node_def(name, op, filter(None, inputs), shape))

    def _free(self, name: str) -> str:
        free, n = name, 0
        while free in self._taken:
            n += 1
            free = f"{name}_{n}"
        self._taken.add(free)
        return free


def _forward(network: Cell) -> Cell:
    """What is drawn of a network: of a training step, its loss.

    Its gradients would be recorded, too, if it were watched as a whole: twice the time of a step.
    """
    return network.network if type(network) is TrainOneStepCell else network


def _scopes(network: Cell, names: Mapping[str, Cell]) -> dict[int, tuple[str, Cell]]:
    """Each cell below `network` with its name in the graph."""
    scopes = {id(cell): ("", cell) for _, cell in network.cells_and_names()}
    for name, part in names.items():
        for path, cell in part.cells_and_names():
            scopes[id(cell)] = f"{name}/{path.replace('.', '/')}".rstrip("/"), cell
    return scopes


def _node_def(name: str, op: str, inputs: Iterable[str], shape: tuple[int, ...]) -> bytes:
    parts = [wire.text_field(1, name), wire.text_field(2, op)]
    parts += [wire.text_field(3, other) for other in inputs]
    dims = b"".join(wire.bytes_field(2, wire.varint_field(1, n)) for n in shape)
    listed = wire.bytes_field(1, wire.bytes_field(7, dims))
    parts.append(
        wire.bytes_field(5, wire.text_field(1, "_output_shapes") + wire.bytes_field(2, listed))
    )
    return wire.bytes_field(1, b"".join(parts))
