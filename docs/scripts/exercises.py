"""Exercises on the pages of the lessons: add the place of the editor, with the initial text.

docs/assets/exercise.js puts the editor there. Where it cannot run, the page says what to do. The
hints are files of the site as well, for browsers that cannot load what the check needs.
"""

import ast
import json
import re
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Protocol

from languages import SUFFIX, english, say

from minispore._course import lessons
from minispore._course.browser import initial_file
from minispore._course.exercise import CodeExercise
from minispore._course.translation import Language, translate

# The tests use this file without mkdocs.
if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

HEADING = '<h2 id="exercise"'
MOST_LINES = 40  # that the editor shows at first, if the file has more
# The place is before the first of these that follows the heading.
FOLLOWING = ('<div class="admonition', "<h2")

INSTEAD = (
    "To solve the exercise in a browser, the page must come from a web server, and the first check "
    "needs a network. Without them solve it on your computer: "
    '<a href="index.html#start">install minispore</a>, then run '
    "<code>minispore learn start {number}</code>, write the missing code in the file that it "
    "creates, and run <code>minispore learn check {number}</code>."
)


class PageFile(Protocol):
    """The attributes of a mkdocs file that are used here."""

    src_uri: str


class Page(Protocol):
    """The attributes of a mkdocs page that are used here."""

    file: PageFile


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the hints of all lessons in each language."""
    from mkdocs.structure.files import File

    for language in ("en", "zh"):
        name = f"assets/hints.{language}.json"
        files.append(File.generated(config, name, content=hints(language)))
    return files


def hints(language: Language) -> str:
    """Return the hints by the number of their lesson, as JSON."""
    each = {
        number: [translate(hint, language) for hint in lessons.lesson(number).hint_list()]
        for number in lessons.names()
    }
    return json.dumps(each, ensure_ascii=False)


def on_page_content(html: str, page: Page, **_: object) -> str:
    """Add the exercise to the page of a lesson (mkdocs calls this hook)."""
    numbers = {lessons.page(number): number for number in lessons.names()}
    name = page.file.src_uri
    number = numbers.get(f"docs/{english(name)}")
    return html if number is None else with_exercise(html, number, name)


def with_exercise(html: str, number: int, page: str) -> str:
    """Return the page of a lesson with the place of the editor.

    Raises:
        ValueError: The page has no exercise, or nothing follows it.
    """
    start = html.index(HEADING) + len(HEADING)
    places = [html.find(heading, start) for heading in FOLLOWING]
    place = min(i for i in places if i > 0)
    return f"{html[:place]}{exercise(number, page)}\n{html[place:]}"


def beginning(text: str, tasks: Iterable[str]) -> str:
    """Return the beginning of the line with which the editor begins; what precedes it is folded.

    It is the first definition of the file or, if more than `MOST_LINES` lines would follow, the
    first function to write. A file that is written from empty has none, and is shown as a whole.
    """
    lines = text.splitlines()
    definitions = [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    if not definitions:
        return ""
    line = lines[definitions[0].lineno - 1]
    if len(lines) - definitions[0].lineno + 1 > MOST_LINES:
        names = "|".join(name.rpartition(".")[2] for name in tasks)
        line = next(line for line in lines if re.match(rf" *def ({names})\b", line))
    return re.split("[(:]", line)[0]


def exercise(number: int, page: str) -> str:
    """Return the place of the editor: what the script needs, and what is read without it."""
    asked = lessons.lesson(number).exercise
    language: Language = "zh" if page.endswith(SUFFIX) else "en"
    name, text = initial_file(number, language)
    data = {"number": number, "lessons": len(lessons.names()), "file": name, "text": text}
    data["language"] = language
    data["beginning"] = beginning(text, asked.tasks)
    if isinstance(asked, CodeExercise) and asked.continues is not None:
        data["continues"] = asked.continues
    attributes = " ".join(
        f'data-{key}="{escape(str(value)).replace(chr(10), "&#10;")}"'
        for key, value in data.items()
    )
    advice = say(INSTEAD, page, number=number)
    return f'<div class="exercise" {attributes}>\n<p>{advice}</p>\n</div>'
