"""SVG elements: text, boxes and lines.

The result needs no external font, style sheet or script. Its colours follow the surrounding text
and the colour scheme of the page.
"""

import os
import re
from collections.abc import Iterable
from unicodedata import east_asian_width

from minispore.utils.atomic import atomic_write

# Characters that XML does not allow, not even as references.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": " ", "\r": " ", "\t": " "}

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# The width of each letter of the monospaced font, in font sizes.
_LETTER = 0.61

# A file of its own uses the viewer's colours, an element of a page those of the page.
_STANDALONE_STYLE = "svg:root{color-scheme:light dark;color:CanvasText;background:Canvas}"
PLAIN = "currentColor"
# For each kind: the colour for browsers without and with `light-dark`.
COLOURS = {
    "input": ("#00897b", "light-dark(#00796b,#4db6ac)"),
    "parameter": ("#5c6bc0", "light-dark(#3949ab,#9fa8da)"),
    "gradient": ("#d9530f", "light-dark(#bf360c,#ff8a65)"),
}


class Drawing(str):
    """The text of an SVG file, which a notebook shows as a picture.

    Examples:
        >>> Drawing("<svg/>")._repr_svg_()
        '<svg/>'
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file.

        Args:
            path: The file, which should end in ".svg".

        Raises:
            OSError: The file cannot be written.
        """
        with atomic_write(path) as file:
            file.write(self.encode())


def text_of(value: object) -> str:
    """Return a value as escaped text."""
    text = _FORBIDDEN.sub("\ufffd", str(value))
    return "".join(_ESCAPES.get(letter, letter) for letter in text)


def width_of(text: str, size: float) -> float:
    """Return the width of a text at a font size."""
    columns = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    return columns * size * _LETTER


def tag(name: str, *inside: str, **attributes: object) -> str:
    """Return an element; underscores in names of attributes become hyphens."""
    listed = "".join(
        f' {key.replace("_", "-")}="{text_of(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{listed}>{''.join(inside)}</{name}>" if inside else f"<{name}{listed}/>"


def title(text: str) -> str:
    """Return the title of an element, which screen readers read and browsers show as a tooltip."""
    return tag("title", text_of(text))


def colour_attributes(kind: str, *attributes: str) -> dict[str, object]:
    """Return attributes such as `fill` with the colour of a kind, or the plain colour."""
    if kind not in COLOURS:
        return dict.fromkeys(attributes, PLAIN)
    old, new = COLOURS[kind]
    styles = [f"{attribute}:{new}" for attribute in attributes]
    return {**dict.fromkeys(attributes, old), "style": ";".join(styles)}


def write(x: float, y: float, text: str, size: float, kind: str = "", **more: object) -> str:
    """Return a text with its anchor (by default its middle) at x and its baseline at y."""
    attributes = {
        "font_size": size,
        "text_anchor": "middle",
        **colour_attributes(kind, "fill"),
        **more,
    }
    return tag("text", text_of(text), x=x, y=y, **attributes)


def arrow_head(x: float, y: float) -> str:
    """Return the head of an arrow that points down to (x, y)."""
    return tag("path", d=f"M{x:.1f} {y:.1f}l-3.5 -7h7z", fill=PLAIN, opacity="0.75")


def picture(
    width: float, height: float, name: str, description: str, parts: Iterable[str]
) -> Drawing:
    """Return the text of an SVG file.

    Args:
        width: The width of the content.
        height: The height of the content.
        name: The title.
        description: A description for screen readers.
        parts: The elements of the content.
    """
    margin = 8
    wide, high = round(width) + 2 * margin, round(height) + 2 * margin
    text = tag(
        "svg",
        f"\n{title(name)}\n",
        f"{tag('desc', text_of(description))}\n",
        f"{tag('style', _STANDALONE_STYLE)}\n",
        *(f"{part}\n" for part in parts),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"{-margin} {-margin} {wide} {high}",
        width=wide,
        height=high,
        style="max-width:100%;height:auto",
        font_family=FONT,
    )
    return Drawing(text)


def _number(value: object) -> object:
    """Return a float as text with one decimal; other values unchanged."""
    return f"{round(value, 1):g}" if isinstance(value, float) else value
