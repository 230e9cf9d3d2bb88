"""Draw the graph of a computation, with each value and each gradient."""

from collections.abc import Callable, Sequence

from minispore.drawing._boxes import Boxes
from minispore.drawing._gradients import Gradients
from minispore.drawing._graph_svg import GraphSvg
from minispore.drawing._names import Names, function_name, parameter_names, referenced_tensors
from minispore.drawing._svg import Drawing
from minispore.nn import Cell
from minispore.nn._graph_recorder import Call, CellCallRecorder, GraphRecord, record_graph
from minispore.ops._differentiation import tree_leaves
from minispore.ops.gradients import check_callable
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_int, describe_value

# From more than 40 boxes on, the boxes of a cell are drawn as one.
MAX_DETAILED_BOXES = 40
MAX_BOXES = 200


def draw_graph(fn: Callable[..., object], *inputs: object, visited: int | None = None) -> Drawing:
    """Return a drawing of the computation graph of a function, with gradients of its output.

    Each operation is a box with its value and the gradient of the output with respect to it. If the
    output has several elements, or there are several outputs, this is the gradient of their sum, as
    in `grad`. Numbers show the order in which values were computed. An edge without a gradient is
    dashed, an output has a thick frame, and an input without edges is not used in any recorded
    operation. Parameters and constants have the names of the variables in `fn`.

    In a graph of more than 40 boxes, each call of a cell without inner cells is one box; if there
    are still more, each call of a cell that has only such cells; and so on. The cells are those of
    `fn`, or those to which it refers by a name.

    Args:
        fn: A function of tensors, or a Cell. It is called once.
        *inputs: The arguments of the call: tensors and any other objects.
        visited: The number of values that the backward pass has visited, for a drawing of a pass
            that is not complete: a gradient "so far" is that of a value that is not visited yet.
            By default all values are.

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        TypeError: If `fn` does not return a tensor.
        ValueError: If the output does not depend on a float tensor or a parameter, or there are
            more than 200 boxes; or if `visited` is negative.

    Examples:
        >>> from minispore import Tensor, drawing
        >>> svg = drawing.draw_graph(lambda x, y: x * y + x, Tensor(3.0), Tensor(2.0))
        >>> svg[:4], "x: value 3, grad 3" in svg
        ('<svg', True)
    """
    check_callable(fn)
    if visited is not None:
        check_int(visited, "visited", low=0)
    names = referenced_tensors(fn)
    recorder = CellCallRecorder(cell for _, cell in names.cells.values())
    try:
        record = record_graph(fn, inputs, {})
        calls = recorder.calls
    finally:
        recorder.stop()
    _check_output(record)
    ends = {x._node.number for x in tree_leaves(record.output) if x._node}
    called = parameter_names(fn, len(inputs))
    pairs = [(n, x) for n, x in zip(called, record.inputs, strict=True) if isinstance(x, Tensor)]
    graph = _boxes_of(record, pairs, names, calls)
    return GraphSvg(function_name(fn), graph, Gradients(record, visited), ends).text()


def _check_output(record: GraphRecord) -> None:
    if not tree_leaves(record.output):
        raise TypeError(
            "For 'draw_graph', the argument 'fn' must return a Tensor, "
            f"but it returned {describe_value(record.output)}."
        )
    if not record.operations:
        raise ValueError(
            "For 'draw_graph', the argument 'fn' must compute something from float tensors among "
            "the inputs or from parameters, but nothing was recorded."
        )


def _boxes_of(
    record: GraphRecord, inputs: Sequence[tuple[str, Tensor]], names: Names, calls: Sequence[Call]
) -> Boxes:
    graph = Boxes(record, inputs, names, ())
    level = 0
    while len(graph.boxes) > MAX_DETAILED_BOXES:
        chosen = [call for call in calls if _height(call.cell) <= level]
        graph = Boxes(record, inputs, names, _outermost(chosen))
        if len(chosen) == len(calls):
            break
        level += 1
    if len(graph.boxes) > MAX_BOXES:
        raise ValueError(
            f"For 'draw_graph', a graph can have {MAX_BOXES} boxes, but this one has "
            f"{len(graph.boxes)}. The operations of a cell can be one box: draw a Cell that "
            "consists of cells, or a part of it."
        )
    return graph


def _outermost(calls: Sequence[Call]) -> list[Call]:
    """Return the calls that are not within another; a call comes after those within it."""
    outermost = list[Call]()
    for call in reversed(calls):
        if not outermost or call.stop < outermost[-1].start:
            outermost.append(call)
    return outermost[::-1]


def _height(cell: Cell) -> int:
    """Return the number of levels of cells within a cell."""
    return max((path.count(".") + 1 for path, _ in cell.cells_and_names() if path), default=0)
