"""What the pages of the course are made of: the shipped source, and what its programs print.

A fence `source` names a definition of minispore, and may say in which of its lines the part to be
shown begins and ends; it is replaced by the code. A fence `python` is run, in the order of the
page, and what it prints follows it; if that is a drawing, in SVG, or a page, in HTML, the drawing
or the page is shown. Both are marked for the script that lets readers run them again. Other pages
are run as well if they say so in their front matter: `run: true`.
"""

import io
import os
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from html import escape
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Protocol

from hypothesis import settings

from minispore._course.source import lines_of

# What is said to the linter is not for the reader.
FOR_TOOLS = re.compile(r"  # (?:noqa|pyright|type: ignore).*$", flags=re.MULTILINE)
FENCE = re.compile(r"^```(source|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


class File(Protocol):
    """What is asked of a page's file."""

    src_uri: str


class Page(Protocol):
    """What is asked of a page."""

    file: File
    meta: Mapping[str, object]


def on_config(_: object) -> None:
    """Let hypothesis draw the same examples in each build, and not mind a machine that is busy."""
    settings.load_profile("ci")


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Fill in a page that is run, as mkdocs asks for it."""
    if not is_run(page.file.src_uri, page.meta):
        return markdown
    return filled(markdown, page.file.src_uri)


def is_run(name: str, meta: Mapping[str, object]) -> bool:
    """Whether the programs of a page are run: it is in the course, or says so."""
    return name.startswith("learn/") or meta.get("run") is True


def filled(markdown: str, name: str) -> str:
    """The text of a page with its code and outputs.

    Raises:
        ValueError: What the page names is not in the source.
        Exception: What a program of the page raises.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0

    def fill(match: re.Match[str]) -> str:
        nonlocal count
        if match[1] == "source":
            return source(match[2])
        count += 1
        program = compile(match[2], f"<{name}, program {count}>", "exec")
        with redirect_stdout(io.StringIO()) as printed:
            exec(program, namespace)  # noqa: S102
        return f"``` {{ .python .program }}\n{match[2]}```{shown(printed.getvalue())}"

    with empty_folder():
        return FENCE.sub(fill, markdown)


def shown(printed: str) -> str:
    """What follows a program on its page: the drawing, the page or the text that it printed."""
    if not printed.strip():
        return ""
    if printed.startswith("<svg"):
        return f'\n\n<figure class="printed">\n{printed.rstrip()}\n</figure>'
    if printed.startswith("<!doctype html>"):
        # On one line: what is an empty line for the page is one for Markdown as well.
        page = escape(printed).replace("\n", "&#10;")
        return f'\n\n<iframe class="printed" title="The printed page" srcdoc="{page}"></iframe>'
    return f"\n\n``` {{ .text .printed }}\n{printed.rstrip()}\n```"


def source(wanted: str) -> str:
    """The fence with the code for a definition, or a part of one."""
    name, *limits = wanted.strip().splitlines()
    module = name
    while find_parent(module) is None:
        module = module.rpartition(".")[0]
        if not module:
            raise ValueError(f"There is no module in {name!r}.")
    number, text = lines_of(module, name[len(module) + 1 :])
    lines = text.splitlines()
    first, last = 0, len(lines)
    for limit in limits:
        kind, _, part = limit.partition(": ")
        if kind == "from":
            places = [i for i, line in enumerate(lines) if part in line]
            if len(places) != 1:
                raise ValueError(f"{part!r} is on {len(places)} lines of {name}.")
            first = places[0]
        elif kind == "to":
            places = [i for i, line in enumerate(lines) if part in line and i >= first]
            if not places:
                raise ValueError(f"{part!r} is on no further line of {name}.")
            last = places[0] + 1
        else:
            raise ValueError(f"{limit!r} is neither 'from: …' nor 'to: …'.")
    code = FOR_TOOLS.sub("", "\n".join(lines[first:last]))
    path = module.replace(".", "/") + ".py"
    return f'```python linenums="{number + first}" title="{path}"\n{code}\n```'


def find_parent(module: str) -> object:
    """The module's specification, None where this is no module."""
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None


@contextmanager
def empty_folder() -> Generator[None]:
    """An empty folder as the current one, so that programs may write."""
    before = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
