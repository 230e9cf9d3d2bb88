"""The short path through the course: a ribbon below the title of each of its pages.

It says which page this is, and how many minutes the path still takes. Those of a lesson are for
reading it, without the exercise.
"""

import re
from typing import NamedTuple

from languages import english, say
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from minispore._course.effort import effort


class Stop(NamedTuple):
    """A page of the path, what the ribbon calls it, and the minutes that it takes."""

    page: str
    label: str
    minutes: int


PATH = (
    Stop("learn/00-thirty-lines.md", "Thirty lines", effort(0).reading),
    Stop("learn/08-loop.md", "The loop", effort(8).reading),
    Stop("learn/09-observe.md", "Logging", effort(9).reading),
    Stop("playground.md", "Playground", 10),
    Stop("laws.md", "Laws", 15),
)
TITLE_END = re.compile(r"</h1>")


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Add the ribbon to a page of the path (mkdocs calls this hook)."""
    name = page.file.src_uri
    if english(name) not in {stop.page for stop in PATH}:
        return html
    return TITLE_END.sub(lambda match: f"{match[0]}\n{ribbon(name, page.url)}", html, count=1)


def ribbon(name: str, url: str) -> str:
    """Return the ribbon of the page with a name and a URL."""
    place = [stop.page for stop in PATH].index(english(name))
    left = sum(stop.minutes for stop in PATH[place:])
    items: list[str] = []
    for number, stop in enumerate(PATH):
        text = say(stop.label, name)
        link = get_relative_url(stop.page.replace(".md", ".html"), url)
        shown = f'<a href="{link}">{text}</a>'
        if number == place:
            shown = f'<span aria-current="page">{text}</span>'
        items.append(f'<li class="{"done" if number < place else "open"}">{shown}</li>')
    text = "The short path: page {number} of {count}, {minutes} minutes left"
    words = say(text, name, number=place + 1, count=len(PATH), minutes=left)
    return (
        f'<nav class="short-path" aria-label="{words}"><ol>{"".join(items)}</ol>'
        f"<p>{words}</p></nav>"
    )
