"""The graph of a network for TensorBoard: its operations, grouped by cells.

The calls of the cells are recorded once, when the network is next called.

The format is TensorFlow's GraphDef:

    GraphDef  { repeated NodeDef node = 1; versions { producer 1 } = 4 }
    NodeDef   { string name = 1; string op = 2; repeated string input = 3;
                map<string, AttrValue> attr = 5 }
    AttrValue { list { repeated shape 7 } 1; int type 6; shape 7 {repeated dim 2 {size 1}} }
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from minispore import ops
from minispore.common import Parameter, Tensor
from minispore.engine.graph import Node, is_recording
from minispore.nn import Cell, TrainOneStepCell
from minispore.nn._graph_recorder import (
    Call,
    CellCallRecorder,
    GraphRecord,
    operation,
    record_graph,
    static_arguments,
)
from minispore.train.checkpoint import protobuf as wire

_PRODUCER = 22


class GraphTracer:
    """Record the graph of a network during its next call.

    Args:
        network: The network.
        names: The parts of the network by name; cells in a part are named by their path. Cells
            outside all parts have no name in the graph.
    """

    def __init__(self, network: Cell, names: Mapping[str, Cell]) -> None:
        self._names = names
        self._scopes = _scopes(network, names)
        self._graph: bytes | None = None
        self._recorder = CellCallRecorder(cell for _, cell in self._scopes.values())
        # Recording a complete training step would include the gradients and take twice the time.
        forward = network.network if type(network) is TrainOneStepCell else network
        self._recorder.replace(forward, self._recording(forward.construct))

    def graph(self) -> bytes | None:
        """Return the bytes of a GraphDef, or None if the network has not been called yet."""
        return self._graph

    def stop(self) -> None:
        """Stop recording and restore the network."""
        self._recorder.stop()

    def _recording(self, construct: Callable[..., object]) -> Callable[..., object]:
        def recording(*args: object, **kwargs: object) -> object:
            inside = is_recording()
            try:
                record = record_graph(construct, args, kwargs)
                self._graph = self._encode(record)
            finally:
                self.stop()
            return record.output if inside else ops.stop_gradient(record.output)

        return recording

    def _encode(self, record: GraphRecord) -> bytes:
        calls = [(self._scopes[id(call.cell)][0], call) for call in self._recorder.calls]
        parameters = {
            _path(name, path): parameter
            for name, cell in self._names.items()
            for path, parameter in cell.parameters_and_names()
        }
        return _GraphDefBuilder(record, calls, parameters).graph_def()


def parts_of(network: Cell, loss_fn: object) -> dict[str, Cell]:
    """Return the network and the loss function of a model by their class names."""
    parts = {type(network).__name__: network}
    if isinstance(loss_fn, Cell):
        parts.setdefault(type(loss_fn).__name__, loss_fn)
    return parts


class _GraphDefBuilder:
    """Encode recorded operations as nodes whose names are paths of cells."""

    def __init__(
        self,
        record: GraphRecord,
        calls: Sequence[tuple[str, Call]],
        parameters: Mapping[str, Parameter],
    ) -> None:
        self._record = record
        self._calls = calls
        self._names: dict[int, str] = {}
        # Constants are identified by their arrays.
        self._arrays: dict[int, str] = {}
        self._used_names: set[str] = set()
        self._defs: list[bytes] = []
        for i, x in enumerate(x for x in record.inputs if isinstance(x, Tensor)):
            self._add_leaf(self._unique_name(f"input_{i}"), "Input", x)
        for name, parameter in parameters.items():
            self._add_leaf(self._unique_name(name), "Parameter", parameter)

    def graph_def(self) -> bytes:
        for node in self._record.operations:
            self._add(node, self._record.values[node.number].shape)
        return b"".join(self._defs) + wire.bytes_field(4, wire.varint_field(1, _PRODUCER))

    def _add_leaf(self, name: str, op: str, x: Tensor) -> None:
        if x._node is not None:
            self._names[x._node.number] = name
        self._arrays[id(x._data)] = name
        self._defs.append(_node_def(name, op, (), x.shape))

    def _add(self, node: Node, shape: tuple[int, ...]) -> None:
        op = operation(node)
        # A call ends after the calls inside it, so the first match is the innermost.
        scope = next((s for s, call in self._calls if call.start < node.number < call.stop), "")
        name = self._unique_name(f"{scope}/{op}" if scope else op)
        self._names[node.number] = name
        inputs = [
            self._names[parent.number]
            if parent is not None and parent.number in self._names
            else self._arrays.get(id(array))
            for parent, array in zip(node.parents, node.operands, strict=False)
        ]
        inputs += [self._arrays.get(id(argument)) for argument in static_arguments(node)]
        self._defs.append(_node_def(name, op, filter(None, inputs), shape))

    def _unique_name(self, name: str) -> str:
        free, n = name, 0
        while free in self._used_names:
            n += 1
            free = f"{name}_{n}"
        self._used_names.add(free)
        return free


def _scopes(network: Cell, names: Mapping[str, Cell]) -> dict[int, tuple[str, Cell]]:
    """Return each cell of `network` with its name in the graph, by its id."""
    scopes = {id(cell): ("", cell) for _, cell in network.cells_and_names()}
    for name, part in names.items():
        for path, cell in part.cells_and_names():
            scopes[id(cell)] = _path(name, path), cell
    return scopes


def _path(part: str, name: str) -> str:
    """Return the name in the graph of a cell or parameter of a part."""
    return f"{part}/{name.replace('.', '/')}".rstrip("/")


def _node_def(name: str, op: str, inputs: Iterable[str], shape: tuple[int, ...]) -> bytes:
    parts = [wire.text_field(1, name), wire.text_field(2, op)]
    parts += [wire.text_field(3, other) for other in inputs]
    dims = b"".join(wire.bytes_field(2, wire.varint_field(1, n)) for n in shape)
    listed = wire.bytes_field(1, wire.bytes_field(7, dims))
    parts.append(
        wire.bytes_field(5, wire.text_field(1, "_output_shapes") + wire.bytes_field(2, listed))
    )
    return wire.bytes_field(1, b"".join(parts))
