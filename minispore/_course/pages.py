"""The pages of the lessons, as text with quotes of the shipped source.

A fence `source` of a page names a definition of minispore, and optionally texts in the first and
last line to show.
"""

import re
from collections.abc import Generator
from contextlib import chdir, contextmanager, redirect_stdout
from html import unescape
from importlib.util import find_spec
from io import StringIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from hypothesis import settings

from minispore._course import CourseError, lessons
from minispore._course.notebook import plain_markdown
from minispore._course.source import lines_of
from minispore._course.verdict import default_settings

_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n\n", flags=re.MULTILINE | re.DOTALL)
# Translations have the ids of the English headings.
_HEADING_ID = re.compile(r"^(#+ .*?) \{#[\w-]+\}$", flags=re.MULTILINE)
_FRAMES = re.compile(r"^```frames \w+\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^```source\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# Comments for linters are removed from quotes.
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
_QUOTE = re.compile(r'^```python linenums="(\d+)" title="([^"]+)"$', flags=re.MULTILINE)
_DRAWING = re.compile(
    r"<svg.*?\n<title>(.*?)</title>\n<desc>(.*?)</desc>.*?</svg>", flags=re.DOTALL
)
_PAGE = re.compile(r"<!doctype html>.*?<title>(.*?)</title>.*</html>", flags=re.DOTALL)
_FOR_TOOLS = re.compile(r"  # (?:noqa|pyright|type: ignore).*$", flags=re.MULTILINE)


def page_source(number: int, language: Literal["en", "zh"] = "en") -> str:
    """Return the text of the file of a lesson's page; 0 is the first page, without an exercise.

    Raises:
        CourseError: There is no such lesson, or this installation has no pages, or the lesson has
            none in this language.
    """
    page = Path(lessons.page(number)).with_suffix(".md" if language == "en" else f".{language}.md")
    here = Path(__file__)
    # In a wheel the pages are in this package.
    files = [here.with_name("pages") / page.name, here.parents[2] / page]
    file = next((path for path in files if path.is_file()), None)
    if file is None:
        raise CourseError(f"this installation has no page {page.name}")
    return file.read_text("utf-8")


def page_text(number: int, language: Literal["en", "zh"] = "en") -> str:
    """Return the page of a lesson as Markdown, with the quoted source.

    Raises:
        CourseError: There is no such lesson, or this installation has no pages, or the lesson has
            none in this language.

    Examples:
        >>> page_text(8).splitlines()[0]
        '# The training loop and its callback hooks'
    """
    return with_quotes(page_source(number, language))


def page_title(page: str) -> str:
    """Return the title of a page."""
    return page.partition("\n")[0].removeprefix("# ")


def with_quotes(page: str) -> str:
    """Return a page without its front matter and ids of headings, and with the quoted source.

    Of a figure with frames, which is on the site, the captions remain, as a numbered list.

    Raises:
        ValueError: A quoted definition does not exist.
    """
    text = _HEADING_ID.sub(r"\1", _FRONT_MATTER.sub("", page))
    text = _FRAMES.sub(lambda match: _numbered(match[1]), text)
    return _FENCE.sub(lambda match: source(match[1]), text)


def _numbered(captions: str) -> str:
    return "\n".join(f"{i}. {caption}" for i, caption in enumerate(captions.splitlines(), 1))


def terminal_text(page: str, drawings: list[str] | None = None) -> str:
    r"""Return a page for a terminal: with what its programs print, without the site's Markdown.

    A drawing is shown as its description, a page as its title. The programs are run in turn, in an
    empty folder.

    Args:
        page: The Markdown text of the page, with its quotes filled in.
        drawings: A list to which the drawings are added, as SVG.

    Examples:
        >>> print(terminal_text("```python\nx = 1\nprint(x + x)\n```\n"))
        ```python
        x = 1
        print(x + x)
        ```
        <BLANKLINE>
        ```text
        2
        ```
        <BLANKLINE>
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    numbers = count(1)

    def run(match: re.Match[str]) -> str:
        text = printed_by(match[1], f"program {next(numbers)}", namespace)
        if drawings is not None:
            drawings.extend(drawing[0] for drawing in _DRAWING.finditer(text))
        printed = _PAGE.sub(_hint, _DRAWING.sub(_description, text)).rstrip()
        return f"{match[0]}\n\n```text\n{printed}\n```" if printed else match[0]

    # As on the site, failing cases are printed and the same each time.
    with empty_folder(), default_settings(settings.get_profile("ci")):
        text = _PROGRAM.sub(run, page)
    return plain_markdown(_QUOTE.sub(r"\2:\1\n\n```python", text))


def _description(match: re.Match[str]) -> str:
    title, description = unescape(match[1]), unescape(match[2])
    return f"[A drawing] {title}\n" + "\n".join(f"  {line}" for line in description.split(". "))


def _hint(match: re.Match[str]) -> str:
    return (
        f"[A page] {unescape(match[1])}\n  Its `save` writes it to a file, which a browser opens."
    )


def printed_by(program: str, name: str, namespace: dict[str, object]) -> str:
    """Run a program of a page, and return what it prints.

    Raises:
        Exception: The program raised it.
    """
    with redirect_stdout(StringIO()) as printed:
        exec(compile(program, f"<{name}>", "exec"), namespace)  # noqa: S102
    return printed.getvalue()


@contextmanager
def empty_folder() -> Generator[None]:
    """Run the block in a temporary folder, so that programs can write files."""
    with TemporaryDirectory() as folder, chdir(folder):
        yield


def source(request: str) -> str:
    """Return a fence with the code of a definition, or of a part of it.

    Raises:
        ValueError: The definition or the part does not exist.
    """
    name, *limits = request.strip().splitlines()
    module = name
    while _find_parent(module) is None:
        module = module.rpartition(".")[0]
        if not module:
            raise ValueError(f"There is no module in {name!r}.")
    number, text = lines_of(module, name[len(module) + 1 :])
    lines = text.splitlines()
    first, last = 0, len(lines)
    for limit in limits:
        kind, _, part = limit.partition(": ")
        if kind == "from":
            matches = [i for i, line in enumerate(lines) if part in line]
            if len(matches) != 1:
                raise ValueError(f"{part!r} is in {len(matches)} lines of {name}.")
            first = matches[0]
        elif kind == "to":
            matches = [i for i, line in enumerate(lines) if part in line and i >= first]
            if not matches:
                raise ValueError(f"{part!r} is in no further line of {name}.")
            last = matches[0] + 1
        else:
            raise ValueError(f"{limit!r} is neither 'from: …' nor 'to: …'.")
    code = _FOR_TOOLS.sub("", "\n".join(lines[first:last]))
    path = module.replace(".", "/") + ".py"
    return f'```python linenums="{number + first}" title="{path}"\n{code}\n```'


def _find_parent(module: str) -> object:
    """Return the module's specification, None if there is no such module."""
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None
