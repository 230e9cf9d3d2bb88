"""A computation as a picture: what was computed from what, each value, and each gradient."""

from collections.abc import Callable, Sequence

from minispore._array import namespace
from minispore._checks import described
from minispore.common.tensor import Tensor
from minispore.drawing import _svg as svg
from minispore.drawing._boxes import Box, Boxes, Edge
from minispore.drawing._gradients import Gradients
from minispore.drawing._layers import Point, layout
from minispore.drawing._names import Names, names_in, names_of_inputs, title_of
from minispore.drawing._words import gradient_of, value_of
from minispore.nn import Cell
from minispore.nn._recorded import Call, Recorded, Watch, recorded
from minispore.ops._derivative import check_callable, tensors_in

# So many boxes can be taken in; of more, those of a cell become one.
FEW = 40
MOST = 200
_NAME, _SMALL, _LINE = 14.0, 11.0, 13.0


def draw_graph(fn: Callable[..., object], *inputs: object) -> str:
    """The graph of what a function computes, with the gradients of its output.

    >>> from minispore import Tensor, drawing
    >>> picture = drawing.draw_graph(lambda x, y: x * y + x, Tensor(3.0), Tensor(2.0))
    >>> picture[:4], "x: value 3, grad 3" in picture
    ('<svg', True)

    Each operation is a box, with its value and below it the gradient: how fast the output changes
    with this value. If the output has several elements, or there are several outputs, that is their
    sum, as in `grad`. Numbers say in which order the values were made. An edge without a gradient
    is dashed. Parameters and constants have the names that `fn` knows them by.

    A graph of more than 40 boxes is drawn by cells: a call of a cell without cells of its own
    becomes one box; where that is not enough, one of a cell that has only such cells; and so on.
    The cells are those of `fn`, or those to which it refers by a name.

    Args:
        fn: A function of tensors, or a Cell. It is called once.
        *inputs: What it is called with.

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
    called = names_of_inputs(fn, len(inputs))
    pairs = [(n, x) for n, x in zip(called, what.inputs, strict=True) if isinstance(x, Tensor)]
    graph = _small_enough(what, pairs, names, calls)
    return _Picture(title_of(fn), graph, what).text()


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


class _Picture:
    """The boxes and edges, laid out and written down."""

    def __init__(self, name: str, graph: Boxes, what: Recorded) -> None:
        self._name = name
        self._boxes = graph.boxes
        self._edges = graph.edges
        self._gradients = Gradients(what)
        self._ends = {x._node.number for x in tensors_in(what.output) if x._node}
        made = sorted(box.number for box in self._boxes if box.number)
        self._ranks = {number: rank for rank, number in enumerate(made, 1)}
        self._lines = [self._lines_of(box) for box in self._boxes]

    def text(self) -> str:
        sizes = [_size(lines) for lines in self._lines]
        places = layout(sizes, [(edge.start, edge.end) for edge in self._edges])
        parts = [self._edge(e, way) for e, way in zip(self._edges, places.edges, strict=True)]
        parts += [self._box(i, at, sizes[i]) for i, at in enumerate(places.boxes)]
        words = ". ".join(self._words(box) for box in self._boxes)
        name = f"What {self._name} computes: {len(self._boxes)} boxes"
        return svg.picture(*places.size, name, f"{words}.", parts)

    def _gradient(self, box: Box) -> str:
        """The text of a box's gradient, empty if it can have none."""
        if not box.number:
            return ""
        found = self._gradients.values.get(box.number)
        return gradient_of(namespace(box.value).zeros_like(box.value) if found is None else found)

    def _lines_of(self, box: Box) -> list[tuple[str, float, str]]:
        """What is written in a box: the texts, with their sizes and colours."""
        kind = box.kind if box.kind in {"input", "parameter"} else ""
        lines = [(box.name, _NAME, kind), (box.note, _SMALL, ""), (value_of(box.value), _LINE, "")]
        gradient = self._gradient(box)
        lines.append((gradient, _LINE, "gradient"))
        return [line for line in lines if line[0]]

    def _words(self, box: Box) -> str:
        name = " ".join(filter(None, [box.name or box.kind, box.note]))
        gradient = self._gradient(box)
        return ", ".join(filter(None, [f"{name}: value {value_of(box.value)}", gradient]))

    def _box(self, place: int, at: Point, size: Point) -> str:
        box, (x, y), (width, height) = self._boxes[place], at, size
        frame = svg.tag(
            "rect",
            x=x - width / 2,
            y=y,
            width=width,
            height=height,
            rx=4 if box.kind in {"operation", "cell"} else 14,
            stroke_width=2.5 if box.number in self._ends else 1.2,
            stroke_dasharray="4 3" if box.kind == "constant" else None,
            fill_opacity="0.06",
            **svg.coloured(box.kind, "stroke", "fill"),
        )
        texts = list[str]()
        bottom = y + 4
        for number, (text, letters, kind) in enumerate(self._lines[place]):
            bottom += letters * 1.4
            weight = "bold" if number == 0 and box.name else None
            texts.append(svg.write(x, bottom - 4, text, letters, kind, font_weight=weight))
        if box.number:
            rank = str(self._ranks[box.number])
            corner = x - width / 2 + 5
            texts.append(svg.write(corner, y + 12, rank, 9.0, text_anchor="start", opacity="0.65"))
        return svg.tag("g", svg.title(self._words(box)), frame, *texts)

    def _edge(self, edge: Edge, way: Sequence[Point]) -> str:
        share = self._gradients.shares.get(edge.use)
        x, y = way[-1]
        path = [f"M{way[0][0]:.1f} {way[0][1]:.1f}"]
        for (left, top), (right, bottom) in zip(way[1::2], way[2::2], strict=True):
            middle = (top + bottom) / 2
            path.append(f"V{top:.1f}C{left:.1f} {middle:.1f} {right:.1f} {middle:.1f}")
            path.append(f"{right:.1f} {bottom:.1f}")
        line = svg.tag(
            "path",
            d=" ".join(path),
            fill="none",
            stroke=svg.PLAIN,
            stroke_opacity="0.55",
            stroke_dasharray=None if edge.flows else "4 3",
        )
        head = svg.tag("path", d=f"M{x:.1f} {y:.1f}l-3.5 -7h7z", fill=svg.PLAIN, opacity="0.75")
        words = "no gradient comes back" if share is None else f"{gradient_of(share)} comes back"
        return svg.tag("g", svg.title(f"operand {edge.use[1] + 1}: {words}"), line, head)


def _size(lines: Sequence[tuple[str, float, str]]) -> Point:
    width = max(svg.width_of(text, letters) for text, letters, _ in lines)
    return max(width + 28, 56.0), sum(letters * 1.4 for _, letters, _ in lines) + 8
