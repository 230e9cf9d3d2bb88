"""Parser of SVG pictures: their boxes with texts, and their edges, with what they say and where."""

import re
from typing import NamedTuple
from unicodedata import east_asian_width
from xml.etree import ElementTree as ET

_SVG = "{http://www.w3.org/2000/svg}"
# The width and height of a letter, in font sizes.
_LETTER, _HEIGHT = 0.6, 0.7


class Rect(NamedTuple):
    """The four sides of a box."""

    left: float
    right: float
    top: float
    bottom: float

    def contains(self, other: "Rect", margin: float = 0.0) -> bool:
        return (
            self.left + margin <= other.left
            and other.right <= self.right - margin
            and self.top <= other.top
            and other.bottom <= self.bottom
        )

    def overlaps(self, other: "Rect") -> bool:
        across = max(self.left, other.left) < min(self.right, other.right)
        return across and max(self.top, other.top) < min(self.bottom, other.bottom)


class DrawnText(NamedTuple):
    """A text with the rectangle of its letters."""

    text: str
    rect: Rect
    attributes: dict[str, str]


class DrawnBox(NamedTuple):
    """A box with its rectangle and texts, and the title for screen readers."""

    title: str
    rect: Rect
    texts: list[DrawnText]
    attributes: dict[str, str]


class DrawnEdge(NamedTuple):
    """An edge from a point to another one, at which the head of its arrow is."""

    title: str
    start: tuple[float, float]
    end: tuple[float, float]
    head: tuple[float, float]
    dashed: bool


class Picture(NamedTuple):
    """The content of a picture.

    Attributes:
        name: The title of the picture.
        words: The description of the picture.
        size: The rectangle that is shown.
        drawn_boxes: The boxes.
        drawn_edges: The edges between boxes.
    """

    name: str
    words: str
    size: Rect
    drawn_boxes: list[DrawnBox]
    drawn_edges: list[DrawnEdge]

    @property
    def boxes(self) -> list[str]:
        return [box.title for box in self.drawn_boxes]

    @property
    def texts(self) -> list[list[str]]:
        return [[text.text for text in box.texts] for box in self.drawn_boxes]

    @property
    def edges(self) -> list[str]:
        return [edge.title for edge in self.drawn_edges if edge.title]


def read(text: str) -> Picture:
    """Return the content of an SVG picture.

    Raises:
        ET.ParseError: `text` is no valid XML.
    """
    root = ET.fromstring(text)
    assert root.tag == f"{_SVG}svg"
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    assert (width, height) == (float(root.attrib["width"]), float(root.attrib["height"]))
    for element in root.iter():
        assert all(re.fullmatch("[a-z-]+|viewBox", name) for name in element.attrib), element.attrib
        assert "None" not in element.attrib.values(), element.attrib
    groups = list(root.iter(f"{_SVG}g"))
    boxes = [group for group in groups if group.find(f"{_SVG}rect") is not None]
    return Picture(
        root.findtext(f"{_SVG}title") or "",
        root.findtext(f"{_SVG}desc") or "",
        Rect(left, left + width, top, top + height),
        [_box(group) for group in boxes],
        [_edge(group) for group in groups if group.find(f"{_SVG}rect") is None],
    )


def check_texts(picture: Picture) -> None:
    """Check that each text lies within its box and that no two texts overlap."""
    for box in picture.drawn_boxes:
        for i, text in enumerate(box.texts):
            assert box.rect.contains(text.rect, margin=4), text
            assert not set(text.text) & set("\n\r\t"), text
            assert not any(text.rect.overlaps(other.rect) for other in box.texts[:i]), text


def _box(group: ET.Element) -> DrawnBox:
    rect = group.find(f"{_SVG}rect")
    assert rect is not None
    left, top, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
    return DrawnBox(
        group.findtext(f"{_SVG}title") or "",
        Rect(left, left + width, top, top + height),
        [text_of(text) for text in group.iter(f"{_SVG}text")],
        rect.attrib,
    )


def text_of(element: ET.Element) -> DrawnText:
    """Return a text element with its rectangle."""
    text, size = element.text or "", float(element.attrib["font-size"])
    width = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text) * size * _LETTER
    offset = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.attrib["text-anchor"]]
    left, baseline = float(element.attrib["x"]) - offset * width, float(element.attrib["y"])
    return DrawnText(
        text, Rect(left, left + width, baseline - _HEIGHT * size, baseline), element.attrib
    )


def _edge(group: ET.Element) -> DrawnEdge:
    line, head = group.iter(f"{_SVG}path")
    x, y, *later = (float(number) for number in re.findall(r"-?[\d.]+", line.attrib["d"]))
    end = (x, later[0]) if len(later) == 1 else (later[-2], later[-1])
    tip_x, tip_y, *_ = (float(number) for number in re.findall(r"-?[\d.]+", head.attrib["d"]))
    dashed = "stroke-dasharray" in line.attrib
    title = group.findtext(f"{_SVG}title") or ""
    return DrawnEdge(title, (x, y), end, (tip_x, tip_y), dashed)
