"""The pages of the lessons, as text with quotes of the shipped source.

A fence `source` of a page names a definition of minispore, and optionally texts in the first and
last line to show.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from minispore._course import CourseError, lessons
from minispore._course.source import lines_of

_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n\n", flags=re.MULTILINE | re.DOTALL)
# Translations have the ids of the English headings.
_HEADING_ID = re.compile(r"^(#+ .*?) \{#[\w-]+\}$", flags=re.MULTILINE)
_FENCE = re.compile(r"^```source\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# Comments for linters are removed from quotes.
_FOR_TOOLS = re.compile(r"  # (?:noqa|pyright|type: ignore).*$", flags=re.MULTILINE)


def page_text(number: int, language: Literal["en", "zh"] = "en") -> str:
    """Return the page of a lesson as Markdown, with the quoted source.

    Raises:
        CourseError: There is no such lesson, or this installation has no pages, or the lesson has
            none in this language.

    Examples:
        >>> page_text(8).splitlines()[0]
        '# The training loop and its callback hooks'
    """
    lessons.lesson(number)
    page = Path(lessons.page(number)).with_suffix(".md" if language == "en" else f".{language}.md")
    here = Path(__file__)
    # In a wheel the pages are in this package.
    files = [here.with_name("pages") / page.name, here.parents[2] / page]
    file = next((each for each in files if each.is_file()), None)
    if file is None:
        raise CourseError(f"this installation has no page {page.name}")
    return with_quotes(file.read_text("utf-8"))


def with_quotes(page: str) -> str:
    """Return a page without its front matter and ids of headings, and with the quoted source.

    Raises:
        ValueError: A quoted definition does not exist.
    """
    text = _HEADING_ID.sub(r"\1", _FRONT_MATTER.sub("", page))
    return _FENCE.sub(lambda match: source(match[1]), text)


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
