"""A computation as a picture: what was computed from what, each value, and each gradient."""

from collections.abc import Callable, Sequence

from minispore._checks import described
from minispore.common.tensor import Tensor
from minispore.drawing._boxes import Boxes
from minispore.drawing._gradients import Gradients
from minispore.drawing._names import Names, names_in, names_of_inputs, title_of
from minispore.drawing._picture import Picture
from minispore.nn import Cell
from minispore.nn._recorded import Call, Recorded, Watch, recorded
from minispore.ops._derivative import check_callable, tensors_in

# So many boxes can be taken in; of more, those of a cell become one.
FEW = 40
MOST = 200


def draw_graph(fn: Callable[..., object], *inputs: object) -> str:
    """The graph of what a function computes, with the gradients of its output.

    >>> from minispore import Tensor, drawing
    >>> picture = drawing.draw_graph(lambda x, y: x * y + x, Tensor(3.0), Tensor(2.0))
    >>> picture[:4], "x: value 3, grad 3" in picture
    ('<svg', True)

    Each operation is a box, with its value and below it the gradient: how fast the output changes
    with this value. If the output has several elements, or there are several outputs, that is their
    sum, as in `grad`. Numbers say in which order the values were made. An edge without a gradient
    is dashed, an output has a thick frame, and an input on its own is used in no way that is
    recorded. Parameters and constants have the names that `fn` knows them by.

    A graph of more than 40 boxes is drawn by cells: a call of a cell without cells of its own
    becomes one box; where that is not enough, one of a cell that has only such cells; and so on.
    The cells are those of `fn`, or those to which it refers by a name.

    Args:
        fn: A function of tensors, or a Cell. It is called once.
        *inputs: What it is called with: tensors, and whatever else it takes.

    Returns:
        The picture, as the text of an SVG file.

    Raises:
        TypeError: `fn` cannot be called, or returns no tensor.
        ValueError: Nothing of the output was computed from a float tensor or a parameter, or there
            are more than 200 boxes.
    """
    check_callable(fn, "draw_graph")
    names = names_in(fn)
    watch = Watch(cell for _, cell in names.cells.values())
    try:
        what = recorded(fn, inputs, {})
        calls = watch.calls
    finally:
        watch.stop()
    _check_output(what)
    ends = {x._node.number for x in tensors_in(what.output) if x._node}
    called = names_of_inputs(fn, len(inputs))
    pairs = [(n, x) for n, x in zip(called, what.inputs, strict=True) if isinstance(x, Tensor)]
    graph = _small_enough(what, pairs, names, calls)
    return Picture(title_of(fn), graph, Gradients(what), ends).text()


def _check_output(what: Recorded) -> None:
    if not tensors_in(what.output):
        raise TypeError(
            "For 'draw_graph', the argument 'fn' must return a Tensor, "
            f"but it returned {described(what.output)}."
        )
    if not what.operations:
        raise ValueError(
            "For 'draw_graph', the argument 'fn' must compute something from float tensors among "
            "the inputs or from parameters, but nothing was recorded."
        )


def _small_enough(
    what: Recorded, inputs: Sequence[tuple[str, Tensor]], names: Names, calls: Sequence[Call]
) -> Boxes:
    graph = Boxes(what, inputs, names, ())
    level = 0
    while len(graph.boxes) > FEW:
        chosen = [call for call in calls if _height(call.cell) <= level]
        graph = Boxes(what, inputs, names, _outermost(chosen))
        if len(chosen) == len(calls):
            break
        level += 1
    if len(graph.boxes) > MOST:
        raise ValueError(
            f"For 'draw_graph', a graph can have {MOST} boxes, but this one has "
            f"{len(graph.boxes)}. What is in a cell can become one box: draw a Cell that is made "
            "of cells, or a part of it."
        )
    return graph


def _outermost(calls: Sequence[Call]) -> list[Call]:
    """Those that are within no other. A call comes after those within it."""
    found = list[Call]()
    for call in reversed(calls):
        if not found or call.stop < found[-1].start:
            found.append(call)
    return found[::-1]


def _height(cell: Cell) -> int:
    """How many levels of cells are within a cell."""
    return max((path.count(".") + 1 for path, _ in cell.cells_and_names() if path), default=0)
