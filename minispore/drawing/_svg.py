"""The parts of a picture in SVG, which every browser draws: text, boxes and lines.

Nothing in it is defined elsewhere: no font, no style sheet, no script. Its colours are those of the
text around it and, where that says so, of a light or a dark page.
"""

import re
from collections.abc import Iterable
from unicodedata import east_asian_width

# What XML does not know, even as a number.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": " ", "\r": " ", "\t": " "}

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# All letters of the font are as wide.
_LETTER = 0.61

# A picture by itself takes the reader's colours, one in a page those of the page.
_ALONE = "svg:root{color-scheme:light dark;color:CanvasText;background:Canvas}"
PLAIN = "currentColor"
# For browsers that know one colour for light and another for dark, and for those that do not.
COLOURS = {
    "input": ("#00897b", "light-dark(#00796b,#4db6ac)"),
    "parameter": ("#5c6bc0", "light-dark(#3949ab,#9fa8da)"),
    "gradient": ("#d9530f", "light-dark(#bf360c,#ff8a65)"),
}


def text_of(value: object) -> str:
    """A text between two tags, whatever is in it."""
    found = _FORBIDDEN.sub("\ufffd", str(value))
    return "".join(_ESCAPES.get(letter, letter) for letter in found)


def width_of(text: str, size: float) -> float:
    """How wide a text is at a font size."""
    columns = sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
    return columns * size * _LETTER


def tag(name: str, *inside: str, **attributes: object) -> str:
    """An element; an underscore in an attribute's name stands for a hyphen."""
    listed = "".join(
        f' {key.replace("_", "-")}="{text_of(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{listed}>{''.join(inside)}</{name}>" if inside else f"<{name}{listed}/>"


def title(text: str) -> str:
    """What is read aloud, and shown where the mouse rests."""
    return tag("title", text_of(text))


def coloured(kind: str, *attributes: str) -> dict[str, object]:
    """The attributes that give `fill` or `stroke` the colour of a kind, plain if it has none."""
    if kind not in COLOURS:
        return dict.fromkeys(attributes, PLAIN)
    old, new = COLOURS[kind]
    styles = [f"{attribute}:{new}" for attribute in attributes]
    return {**dict.fromkeys(attributes, old), "style": ";".join(styles)}


def write(x: float, y: float, text: str, size: float, kind: str = "", **more: object) -> str:
    """A text whose middle, or what `text_anchor` says, is at x, and whose letters stand on y."""
    attributes = {"font_size": size, "text_anchor": "middle", **coloured(kind, "fill"), **more}
    return tag("text", text_of(text), x=x, y=y, **attributes)


def arrow_head(x: float, y: float) -> str:
    """The end of an arrow that comes from above."""
    return tag("path", d=f"M{x:.1f} {y:.1f}l-3.5 -7h7z", fill=PLAIN, opacity="0.75")


def picture(width: float, height: float, name: str, words: str, parts: Iterable[str]) -> str:
    """The whole picture.

    Args:
        width: The width of what is on it.
        height: Its height.
        name: What it is called.
        words: What is to be seen on it, for those who cannot.
        parts: What is on it.
    """
    margin = 8
    wide, high = round(width) + 2 * margin, round(height) + 2 * margin
    return tag(
        "svg",
        f"\n{title(name)}\n",
        f"{tag('desc', text_of(words))}\n",
        f"{tag('style', _ALONE)}\n",
        *(f"{part}\n" for part in parts),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"{-margin} {-margin} {wide} {high}",
        width=wide,
        height=high,
        style="max-width:100%;height:auto",
        font_family=FONT,
    )


def _number(value: object) -> object:
    """A number with as many places as can be seen."""
    return f"{round(value, 1):g}" if isinstance(value, float) else value
