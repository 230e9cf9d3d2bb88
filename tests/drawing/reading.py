"""A picture, read back: what is written in its boxes, and how many lines lead to them."""

from typing import NamedTuple
from xml.etree import ElementTree as ET

_SVG = "{http://www.w3.org/2000/svg}"


class Picture(NamedTuple):
    """What a picture shows.

    Attributes:
        name: The title of the whole.
        words: What is read aloud after it.
        boxes: For each box what is read aloud.
        texts: For each box the texts in it.
        edges: For each edge between boxes what is read aloud.
    """

    name: str
    words: str
    boxes: list[str]
    texts: list[list[str]]
    edges: list[str]


def read(text: str) -> Picture:
    """What an XML parser finds in a picture.

    Raises:
        ET.ParseError: It is no XML.
    """
    root = ET.fromstring(text)
    assert root.tag == f"{_SVG}svg"
    groups = [group for group in root.iter(f"{_SVG}g") if group.find(f"{_SVG}title") is not None]
    boxes = [group for group in groups if group.find(f"{_SVG}rect") is not None]
    edges = [group for group in groups if group.find(f"{_SVG}rect") is None]
    return Picture(
        root.findtext(f"{_SVG}title") or "",
        root.findtext(f"{_SVG}desc") or "",
        [box.findtext(f"{_SVG}title") or "" for box in boxes],
        [[each.text or "" for each in box.iter(f"{_SVG}text")] for box in boxes],
        [edge.findtext(f"{_SVG}title") or "" for edge in edges],
    )
