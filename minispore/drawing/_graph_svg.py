"""Write the SVG of a computation graph: its boxes and edges with their texts."""

from collections.abc import Collection, Sequence

from minispore.drawing import _svg as svg
from minispore.drawing._boxes import Box, Boxes, Edge
from minispore.drawing._gradients import Gradients
from minispore.drawing._layered_layout import Point, layout
from minispore.drawing._value_labels import gradient_of, value_of
from minispore.engine.array import namespace

_NAME, _SMALL, _LINE = 14.0, 11.0, 13.0


class GraphSvg:
    """The SVG text of boxes and edges.

    Args:
        name: The function's name.
        graph: The boxes and edges.
        gradients: The gradients.
        ends: The numbers of the nodes of the outputs.
    """

    def __init__(
        self, name: str, graph: Boxes, gradients: Gradients, ends: Collection[int]
    ) -> None:
        self._name = name
        self._boxes = graph.boxes
        self._edges = graph.edges
        self._gradients = gradients
        self._ends = ends
        made = sorted(box.number for box in self._boxes if box.number)
        self._ranks = {number: rank for rank, number in enumerate(made, 1)}
        self._lines = [self._lines_of(box) for box in self._boxes]

    def text(self) -> svg.Drawing:
        """Return the text of the SVG file."""
        sizes = [_size(lines) for lines in self._lines]
        places = layout(sizes, [(edge.start, edge.end) for edge in self._edges])
        parts = [self._edge(e, points) for e, points in zip(self._edges, places.edges, strict=True)]
        parts += [self._box(i, at, sizes[i]) for i, at in enumerate(places.boxes)]
        description = ". ".join(self._sentence(i) for i in range(len(self._boxes)))
        name = f"What {self._name} computes: {len(self._boxes)} boxes"
        return svg.picture(*places.size, name, f"{description}.", parts)

    def _gradient(self, box: Box) -> str:
        """Return the text of the gradient of a box; the empty text if it cannot have one."""
        if not box.number:
            return ""
        gradient = self._gradients.values.get(box.number)
        if box.number in self._gradients.incomplete:
            return "no grad yet" if gradient is None else f"{gradient_of(gradient)} so far"
        return gradient_of(
            namespace(box.value).zeros_like(box.value) if gradient is None else gradient
        )

    def _lines_of(self, box: Box) -> list[tuple[str, float, str]]:
        """Return the lines of text in a box, with their sizes and colours."""
        kind = box.kind if box.kind in {"input", "parameter"} else ""
        lines = [(box.name, _NAME, kind), (box.note, _SMALL, ""), (value_of(box.value), _LINE, "")]
        gradient = self._gradient(box)
        lines.append((gradient, _LINE, "gradient"))
        return [line for line in lines if line[0]]

    def _description(self, box: Box) -> str:
        name = " ".join(filter(None, [box.name or box.kind, box.note]))
        gradient = self._gradient(box)
        return ", ".join(filter(None, [f"{name}: value {value_of(box.value)}", gradient]))

    def _sentence(self, place: int) -> str:
        """Return the description of a box and of its operands."""
        operands = [self._called(edge.start) for edge in self._edges if edge.end == place]
        of = f", from {' and '.join(operands)}" if operands else ""
        box = self._boxes[place]
        which = f"{self._called(place)}, " if box.number else ""
        return f"{which}{self._description(box)}{of}"

    def _called(self, place: int) -> str:
        box = self._boxes[place]
        if box.number:
            return f"number {self._ranks[box.number]}"
        return box.name or value_of(box.value)

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
            **svg.colour_attributes(box.kind, "stroke", "fill"),
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
        return svg.tag("g", svg.title(self._description(box)), frame, *texts)

    def _edge(self, edge: Edge, points: Sequence[Point]) -> str:
        contribution = self._gradients.contribution(edge.uses)
        path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
        for (left, top), (right, bottom) in zip(points[1::2], points[2::2], strict=True):
            middle = (top + bottom) / 2
            path.append(f"V{top:.1f}C{left:.1f} {middle:.1f} {right:.1f} {middle:.1f}")
            path.append(f"{right:.1f} {bottom:.1f}")
        line = svg.tag(
            "path",
            d=" ".join(path),
            fill="none",
            stroke=svg.PLAIN,
            stroke_opacity="0.55",
            stroke_dasharray=None if contribution is not None else "4 3",
        )
        words = (
            "no gradient comes back"
            if contribution is None
            else f"{gradient_of(contribution)} comes back"
        )
        if edge.operand:
            words = f"operand {edge.operand}: {words}"
        return svg.tag("g", svg.title(words), line, svg.arrow_head(*points[-1]))


def _size(lines: Sequence[tuple[str, float, str]]) -> Point:
    width = max(svg.width_of(text, letters) for text, letters, _ in lines)
    return max(width + 36, 56.0), sum(letters * 1.4 for _, letters, _ in lines) + 8
