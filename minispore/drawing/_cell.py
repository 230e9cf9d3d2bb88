"""A cell as a picture: boxes within boxes, as its cells are within one another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import NamedTuple

from minispore._checks import check_type
from minispore.common.parameter import Parameter
from minispore.drawing import _svg as svg
from minispore.drawing._words import counted, shape_of
from minispore.nn import Cell, SequentialCell

MOST = 200
_NAME, _SMALL = 14.0, 12.0
_PAD, _GAP, _ARROW = 12.0, 8.0, 18.0
# Settings are broken into lines of so many letters.
_LETTERS = 44
# Of an object without a text of its own, its class: where it lies in memory is never the same.
_ADDRESS = re.compile(r"<(?:[\w.]+\.)?(\w+) object at 0x[0-9a-fA-F]+>")


def draw_cell(cell: Cell) -> str:
    """What a cell consists of: its cells with their settings and parameters.

    >>> from minispore import drawing, nn
    >>> net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))
    >>> picture = drawing.draw_cell(net)
    >>> picture[:4], "13 parameters" in picture
    ('<svg', True)

    Each cell is a box with its name, its class, its settings as they are printed, and the shape
    and size of each parameter; its own cells are boxes within it. Those of a SequentialCell follow
    one another, so arrows lead from one to the next. What is in two places counts once: in the
    second it only says where it was first.

    Args:
        cell: The cell. It is not called.

    Returns:
        The picture, as the text of an SVG file.

    Raises:
        TypeError: `cell` is no Cell.
        ValueError: There are more than 200 cells.
    """
    check_type(cell, Cell, "cell", "draw_cell")
    count = sum(1 for _ in cell.cells_and_names())
    if count > MOST:
        raise ValueError(
            f"For 'draw_cell', the argument 'cell' can have {MOST} cells, but it has {count}. "
            "Draw a part of it."
        )
    whole = _Tree().block("", "", cell)
    name = f"{type(cell).__name__}, {counted(count, 'cell')}"
    words = ". ".join(block.words() for block in whole.all())
    return svg.picture(whole.width, whole.height, name, f"{words}.", whole.drawn(0, 0, whole.width))


class _Line(NamedTuple):
    """A line of text: what stands at its left end, and what at its right."""

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
class _Block:
    """A box with lines of text, and boxes in it.

    Attributes:
        path: Where the cell is, empty for the whole.
        lines: The lines.
        inner: The boxes.
        sequence: Whether the cells of those boxes follow one another.
    """

    path: str
    lines: list[_Line]
    inner: list["_Block"]
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

    def all(self) -> Iterator["_Block"]:
        """This box and those within it."""
        yield self
        for block in self.inner:
            yield from block.all()

    def words(self) -> str:
        """What is written in the box itself."""
        texts = [f"{line.left}: {line.right}" if line.right else line.left for line in self.lines]
        return "; ".join([self.path or "whole", *texts])

    def drawn(self, x: float, y: float, width: float) -> list[str]:
        """The box at a place, as wide as there is room."""
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
            texts += _written(line, x + _PAD, x + width - _PAD, down - line.size * 0.3)
        parts = [svg.tag("g", svg.title(self.words()), frame, *texts)]
        down = y + _text_height(self.lines)
        for i, block in enumerate(self.inner):
            if i and self.sequence:
                middle = x + width / 2
                parts.append(_arrow(middle, down - _ARROW, down))
            parts += block.drawn(x + _PAD, down, width - 2 * _PAD)
            down += block.height + self._gap
        return parts


class _Tree:
    """Makes the boxes, and remembers what was in one already."""

    def __init__(self) -> None:
        self._cells: dict[int, str] = {}
        self._parameters: dict[int, str] = {}

    def block(self, path: str, name: str, cell: Cell) -> _Block:
        kind = type(cell).__name__
        if id(cell) in self._cells:
            first = self._cells[id(cell)] or "the whole"
            lines = [_Line(f"{name}: {kind}", "", _NAME, bold=True), _Line(f"is {first}")]
            return _Block(path, lines, [], sequence=False)
        self._cells[id(cell)] = path
        start = f"{path}." if path else ""
        parameters = [self._parameter(start, n, p) for n, p in cell._own_parameters()]
        inner = [self.block(f"{start}{n}", n, c) for n, c in cell._children()]
        count = sum(parameter.size for parameter in cell.get_parameters())
        head = _Line(
            f"{name}: {kind}" if name else kind,
            counted(count, "parameter") if count and (inner or not path) else "",
            _NAME,
            bold=True,
        )
        settings = _ADDRESS.sub(r"\1", cell.extend_repr())
        lines = [_Line(line, faint=True) for line in wrap(settings, _LETTERS)]
        sequence = isinstance(cell, SequentialCell)
        return _Block(path, [head, *lines, *parameters], inner, sequence)

    def _parameter(self, start: str, name: str, parameter: Parameter) -> _Line:
        first = self._parameters.setdefault(id(parameter), f"{start}{name}")
        if first != f"{start}{name}":
            return _Line(f"{name} is {first}", kind="parameter")
        fixed = "" if parameter.requires_grad else ", not trained"
        text = f"{name} {shape_of(parameter.shape)}{fixed}"
        return _Line(text, f"{parameter.size:,}", kind="parameter")


def _text_height(lines: list[_Line]) -> float:
    return sum(line.size * 1.45 for line in lines) + _PAD


def _written(line: _Line, left: float, right: float, y: float) -> Iterator[str]:
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
    way = f"M{x:.1f} {top:.1f}V{bottom:.1f}"
    shaft = svg.tag("path", d=way, stroke=svg.PLAIN, stroke_opacity="0.55")
    return svg.tag("g", shaft, svg.arrow_head(x, bottom))
