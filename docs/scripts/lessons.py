"""Executable pages: insert quotes of the shipped source, and the output of programs.

A fence `source` names a definition of minispore, and optionally texts in the first and last line to
show; it is replaced by the code. A fence `python` is run, in the order of the page, and its output
is inserted after it; SVG and HTML output is embedded. Programs are marked for the script that lets
readers run them again. The pages of the course are run, and pages with `run: true` in their front
matter. A translation shows the outputs of its English page.
"""

import re
from collections.abc import Mapping
from html import escape
from typing import Protocol

from hypothesis import settings
from languages import english, say

from minispore._course.pages import empty_folder, printed_by, source

PRINTED_PAGE = "The printed page"
FENCE = re.compile(
    r"^```(source|python)\n(.*?)^```$(?:\n\n```printed\n(.*?)^```$)?",
    flags=re.MULTILINE | re.DOTALL,
)


# What was made of each fence of an English page, by the name of the page and the fence.
_made: dict[str, dict[str, str]] = {}


class File(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: File
    meta: Mapping[str, object]


def on_config(_: object) -> None:
    """Make hypothesis deterministic and independent of the speed of the machine."""
    settings.load_profile("ci")


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in an executable page (mkdocs calls this hook)."""
    if not is_run(page.file.src_uri, page.meta):
        return markdown
    name = page.file.src_uri
    if english(name) != name:
        return translated(markdown, name)
    return filled(markdown, name)


def is_run(name: str, meta: Mapping[str, object]) -> bool:
    """Return whether the programs of a page are run."""
    return name.startswith("learn/") or meta.get("run") is True


def filled(markdown: str, name: str) -> str:
    """Return the text of a page with quoted code and outputs.

    Raises:
        ValueError: A quoted definition is not in the source, or a program prints something else
            than the page says.
        Exception: A program of the page raised it.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    made = _made[name] = {}

    def fill(match: re.Match[str]) -> str:
        made[match[0]] = text = shown(match)
        return text

    def shown(match: re.Match[str]) -> str:
        nonlocal count
        if match[1] == "source":
            return source(match[2])
        count += 1
        printed = output(match[2], f"{name}, program {count}", match[3])
        # A reader's browser has no other libraries.
        kind = ".python .program" if match[3] is None else ".python"
        return f"``` {{ {kind} }}\n{match[2]}```{format_output(printed)}"

    def output(program: str, title: str, recorded: str | None) -> str:
        try:
            printed = printed_by(program, title, namespace)
        except ModuleNotFoundError:
            if recorded is None:
                raise
            return recorded
        if recorded is not None and printed.rstrip() != recorded.rstrip():
            raise ValueError(f"{title} printed {printed!r}, but the page says {recorded!r}.")
        return printed

    with empty_folder():
        return FENCE.sub(fill, markdown)


def translated(markdown: str, name: str) -> str:
    """Return the text of a translation with what was made of the fences of its English page.

    A fence that the English page does not have is neither filled in nor run.
    """
    made = _made.get(english(name), {})
    text = FENCE.sub(lambda match: made.get(match[0], match[0]), markdown)
    return text.replace(f'title="{PRINTED_PAGE}"', f'title="{say(PRINTED_PAGE, name)}"')


def format_output(printed: str) -> str:
    """Return the Markdown for the output of a program: a drawing, an HTML page or text."""
    if not printed.strip():
        return ""
    if printed.startswith("<svg"):
        return f'\n\n<figure class="printed">\n{printed.rstrip()}\n</figure>'
    if printed.startswith("<!doctype html>"):
        # On one line, since an empty line would end the HTML block in Markdown.
        page = escape(printed).replace("\n", "&#10;")
        return f'\n\n<iframe class="printed" title="{PRINTED_PAGE}" srcdoc="{page}"></iframe>'
    return f"\n\n``` {{ .text .printed }}\n{printed.rstrip()}\n```"
