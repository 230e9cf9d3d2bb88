"""Figures with frames, of which a reader sees one at a time.

A fence `frames NAME` has a caption in each line, one for each drawing that the function NAME of
pictures.py returns. docs/assets/frames.js shows the controls and moves through the frames; without
it the last one is shown. A translation has the drawings of its English page.
"""

import re
from functools import cache
from html import escape
from typing import Protocol

import pictures
from languages import say

FENCE = re.compile(r"^```frames (\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")


class File(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: File


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Put the figures into a page (mkdocs calls this hook)."""
    name = page.file.src_uri
    return FENCE.sub(lambda match: figure(match[1], match[2].splitlines(), name), markdown)


@cache
def drawings(name: str) -> list[str]:
    """Return the drawings of a figure."""
    return pictures.FIGURES[name]()


def figure(name: str, captions: list[str], page: str) -> str:
    """Return the HTML of a figure.

    Raises:
        KeyError: There is no such figure.
        ValueError: It has not as many drawings as captions.
    """
    made = drawings(name)
    if len(made) != len(captions):
        raise ValueError(f"{page}: {len(captions)} captions for {len(made)} frames of {name!r}.")
    frames = [
        f'<div class="frame">\n{drawing.strip()}\n<p>{with_code(text)}</p></div>'
        for drawing, text in zip(made, captions, strict=True)
    ]
    last = len(frames) - 1
    back, on, slider = (say(label, page) for label in ("Previous step", "Next step", "Step"))
    return "\n".join(
        [
            '<figure class="frames">',
            '<div class="controls" hidden>',
            f'<button type="button" aria-label="{back}">◀</button>',
            f'<input type="range" min="0" max="{last}" value="{last}" aria-label="{slider}">',
            f'<button type="button" aria-label="{on}">▶</button>',
            "<output></output></div>",
            *frames,
            "</figure>",
        ]
    )


def with_code(caption: str) -> str:
    """Return the HTML of a caption, in which backticks mark code."""
    return CODE.sub(r"<code>\1</code>", escape(caption))
