"""Draw the structure of a cell as nested boxes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from minispore.drawing import _svg as svg
from minispore.drawing._value_labels import counted, shape_of
from minispore.nn import Cell, SequentialCell
from minispore.ops.parameter import Parameter
from minispore.utils.checks import check_type

MAX_CELLS = 200
_NAME, _SMALL = 14.0, 12.0
_PAD, _GAP, _ARROW = 12.0, 8.0, 18.0
_LETTERS_PER_LINE = 44
# The default repr of an object, whose address differs in each run: only its class is shown.
_ADDRESS = re.compile(r"<(?:[\w.]+\.)?(\w+) object at 0x[0-9a-fA-F]+>")


def draw_cell(cell: Cell) -> svg.Drawing:
    """Return a drawing of a cell with its inner cells, their settings and parameters.

    Each cell is a box with its name, its class, its settings as printed, and the shape and size of
    each parameter; inner cells are boxes within it. Arrows connect the cells of a SequentialCell. A
    cell or parameter that occurs twice is drawn once, and referred to by its path afterwards.

    Args:
        cell: The cell. It is not called.

    Returns:
        The text of an SVG file, a str with a method `save`.

    Raises:
        ValueError: If there are more than 200 cells.

    Examples:
        >>> from minispore import drawing, nn
        >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))
        >>> svg = drawing.draw_cell(net)
        >>> svg[:4], "13 parameters" in svg
        ('<svg', True)
    """
    check_type(cell, Cell, "cell")
    count = sum(1 for _ in cell.cells_and_names())
    if count > MAX_CELLS:
        raise ValueError(
            f"For 'draw_cell', the argument 'cell' can have {MAX_CELLS} cells, but it has {count}. "
            "Draw a part of it."
        )
    root = _Tree().box("", "", cell)
    name = f"{type(cell).__name__}, {counted(count, 'cell')}"
    description = ". ".join(block.description() for block in root.all())
    return svg.picture(
        root.width, root.height, name, f"{description}.", root.drawn(0, 0, root.width)
    )


class _Line(NamedTuple):
    """A line of text with a left-aligned and a right-aligned part."""

    left: str
    right: str = ""
    size: float = _SMALL
    kind: str = ""
    bold: bool = False
    faint: bool = False

    @property
    def width(self) -> float:
        gap = 3 * self.size if self.right else 0.0
        return svg.width_of(self.left, self.size) + gap + svg.width_of(self.right, self.size)


@dataclass(frozen=True)
class _Box:
    """A box with lines of text and inner boxes.

    Attributes:
        path: The path of the cell; empty for the outermost one.
        lines: The lines of text.
        inner: The inner boxes.
        sequence: Whether the inner cells form a sequence.
    """

    path: str
    lines: list[_Line]
    inner: list["_Box"]
    sequence: bool

    @property
    def width(self) -> float:
        texts, boxes = [x.width for x in self.lines], [x.width for x in self.inner]
        return max(texts + boxes) + 2 * _PAD

    @property
    def height(self) -> float:
        inside = sum(block.height + self._gap for block in self.inner)
        return _text_height(self.lines) + inside + (_PAD - self._gap if self.inner else 0)

    @property
    def _gap(self) -> float:
        return _ARROW if self.sequence else _GAP

    def all(self) -> Iterator["_Box"]:
        """Yield this box and all boxes within it."""
        yield self
        for block in self.inner:
            yield from block.all()

    def description(self) -> str:
        """Return the text of the box itself."""
        texts = [f"{line.left}: {line.right}" if line.right else line.left for line in self.lines]
        return "; ".join([self.path or "whole", *texts])

    def drawn(self, x: float, y: float, width: float) -> list[str]:
        """Return the SVG elements of the box at (x, y) with the given width."""
        frame = svg.tag(
            "rect",
            x=x,
            y=y,
            width=width,
            height=self.height,
            rx=6,
            fill=svg.PLAIN,
            fill_opacity="0.05",
            stroke=svg.PLAIN,
            stroke_opacity="0.6",
        )
        texts, down = list[str](), y + _PAD / 2
        for line in self.lines:
            down += line.size * 1.45
            texts += _line_elements(line, x + _PAD, x + width - _PAD, down - line.size * 0.3)
        parts = [svg.tag("g", svg.title(self.description()), frame, *texts)]
        down = y + _text_height(self.lines)
        for i, block in enumerate(self.inner):
            if i and self.sequence:
                middle = x + width / 2
                parts.append(_arrow(middle, down - _ARROW, down))
            parts += block.drawn(x + _PAD, down, width - 2 * _PAD)
            down += block.height + self._gap
        return parts


class _Tree:
    """Builds the boxes, and stores the paths of cells and parameters that have been drawn."""

    def __init__(self) -> None:
        self._cells: dict[int, str] = {}
        self._parameters: dict[int, str] = {}

    def box(self, path: str, name: str, cell: Cell) -> _Box:
        kind = type(cell).__name__
        if id(cell) in self._cells:
            first = self._cells[id(cell)] or "the whole"
            lines = [_Line(f"{name}: {kind}", "", _NAME, bold=True), _Line(f"is {first}")]
            return _Box(path, lines, [], sequence=False)
        self._cells[id(cell)] = path
        start = f"{path}." if path else ""
        parameters = [self._parameter(start, n, p) for n, p in cell._own_parameters()]
        inner = [self.box(f"{start}{n}", n, c) for n, c in cell._children()]
        count = sum(parameter.size for parameter in cell.get_parameters())
        head = _Line(
            f"{name}: {kind}" if name else kind,
            counted(count, "parameter") if count and (inner or not path) else "",
            _NAME,
            bold=True,
        )
        settings = _ADDRESS.sub(r"\1", cell.extend_repr())
        texts = wrap(settings, _LETTERS_PER_LINE, break_long_words=False)
        lines = [_Line(text, faint=True) for text in texts]
        sequence = isinstance(cell, SequentialCell)
        return _Box(path, [head, *lines, *parameters], inner, sequence)

    def _parameter(self, start: str, name: str, parameter: Parameter) -> _Line:
        first = self._parameters.setdefault(id(parameter), f"{start}{name}")
        if first != f"{start}{name}":
            return _Line(f"{name} is {first}", kind="parameter")
        fixed = "" if parameter.requires_grad else ", not trained"
        text = f"{name} {shape_of(parameter.shape)}{fixed}"
        return _Line(text, f"{parameter.size:,}", kind="parameter")


def _text_height(lines: list[_Line]) -> float:
    return sum(line.size * 1.45 for line in lines) + _PAD


def _line_elements(line: _Line, left: float, right: float, y: float) -> Iterator[str]:
    weight, opacity = "bold" if line.bold else None, "0.75" if line.faint else None
    yield svg.write(
        left,
        y,
        line.left,
        line.size,
        line.kind,
        text_anchor="start",
        font_weight=weight,
        opacity=opacity,
    )
    if line.right:
        yield svg.write(right, y, line.right, _SMALL, line.kind, text_anchor="end")


def _arrow(x: float, top: float, bottom: float) -> str:
    path = f"M{x:.1f} {top:.1f}V{bottom:.1f}"
    shaft = svg.tag("path", d=path, stroke=svg.PLAIN, stroke_opacity="0.55")
    return svg.tag("g", shaft, svg.arrow_head(x, bottom))
