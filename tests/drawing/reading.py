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


def sticking_out(text: str) -> list[str]:
    """The texts of a picture that leave their boxes, if a letter is 0.6 of its height wide."""
    found = list[str]()
    for group in ET.fromstring(text).iter(f"{_SVG}g"):
        rect = group.find(f"{_SVG}rect")
        if rect is not None:
            left = float(rect.attrib["x"])
            right = left + float(rect.attrib["width"])
            for each in group.iter(f"{_SVG}text"):
                wide = 0.6 * float(each.attrib["font-size"]) * len(each.text or "")
                part = {"start": 0.0, "middle": 0.5, "end": 1.0}[each.attrib["text-anchor"]]
                start = float(each.attrib["x"]) - part * wide
                if start < left + 4 or start + wide > right - 4:
                    found.append(each.text or "")
    return found
