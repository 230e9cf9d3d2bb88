"""The sizes of the lessons: computed from the course, and the same wherever they are shown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course import commands, lessons
from minispore._course.effort import Effort, effort, statements, with_effort
from minispore._course.exercise import CodeExercise
from minispore._course.pages import page_source
from tests.helpers.scripts import SCRIPTS, load_script

DOCS = Path(__file__).parents[2] / "docs"
NUMBERS = [0, *lessons.names()]


@dataclass
class File:
    src_uri: str


@dataclass
class Page:
    file: File
    meta: Mapping[str, object]


class PageBuilder(Protocol):
    """The functions of docs/scripts/lessons.py."""

    def on_page_markdown(self, markdown: str, page: Page) -> str: ...
    def with_sizes(self, table: str, page: str) -> str: ...


builder = cast("PageBuilder", load_script(SCRIPTS / "lessons.py"))


def shown(name: str) -> str:
    """Return a page of the site as Markdown, without its programs."""
    text = re.sub(r"\A---\n.*?---\n\n", "", (DOCS / name).read_text("utf-8"), flags=re.DOTALL)
    without = re.sub(r"^```python\n.*?^```\n", "", text, flags=re.MULTILINE | re.DOTALL)
    return builder.on_page_markdown(without, Page(File(name), {}))


def listed(row: str) -> tuple[list[int], list[str], list[str]]:
    """Return the lessons to which a row of a table links, its minutes and its difficulties."""
    cells = row.split("|")
    place = next(i for i, cell in enumerate(cells) if re.search(r"\(\d\d-", cell)) + 1
    minutes, difficulty = cells[place : place + 2]
    numbers = [int(digits) for digits in re.findall(r"\((\d\d)-", row)]
    return numbers, minutes.strip().split(", "), difficulty.strip().split(", ")


@pytest.mark.parametrize("suffix", [".md", ".zh.md"])
def test_map_plan_list_and_page_state_the_same_size(suffix: str) -> None:
    lines = commands.list_lessons().splitlines()[1:]
    for number, line in zip(NUMBERS, lines, strict=True):
        size = effort(number)
        assert re.search(rf"  {re.escape(size.minutes)}  +{size.difficulty}", line)
        page = lessons.page(number).removeprefix("docs/").removesuffix(".md") + suffix
        title, _, below, *_ = shown(page).splitlines()
        assert title.startswith("# ")
        expected = [str(size.reading), str(size.exercise)] if number else [str(size.reading)]
        times = re.sub(r"\[\d+\]\([^)]*\)", "", below)  # without the links to other lessons
        assert re.findall(r"\d+", times) == expected
        assert re.findall("[★☆]+", below) == ([size.difficulty] if number else [])
    for name in ("learn/index", "learn/teaching"):
        rows = [
            row for row in shown(f"{name}{suffix}").splitlines() if re.match(r"\|.*\(\d\d-", row)
        ]
        found = set[int]()
        for row in rows:
            numbers, minutes, difficulties = listed(row)
            assert minutes == [effort(number).minutes for number in numbers]
            assert difficulties == [effort(number).difficulty for number in numbers]
            found |= set(numbers)
        assert found >= set(lessons.names())


@pytest.mark.parametrize("number", lessons.names())
def test_page_states_no_other_time(number: int) -> None:
    page = page_source(number).partition("---\n\n")[2]
    assert "minutes" not in page.split("\n\n")[1]


def test_more_statements_are_never_easier_or_faster() -> None:
    sizes = sorted(
        (statements(lessons.lesson(number).exercise), effort(number).exercise, effort(number).stars)
        for number in lessons.names()
    )
    for column in (1, 2):
        values = [size[column] for size in sizes]
        assert values == sorted(values)
    assert {stars for *_, stars in sizes} == {1, 2, 3}


@pytest.mark.parametrize(
    ("name", "count"), [("page_title", 1), ("page_source", 7), ("Property.__init__", 4)]
)
def test_docstrings_and_the_signature_are_not_statements(name: str, count: int) -> None:
    module = "exercise" if "." in name else "pages"
    exercise = CodeExercise(f"minispore._course.{module}", {name: ""}, (), ())
    assert statements(exercise) == count


@given(st.sampled_from(NUMBERS), st.text("ab \n"))
def test_size_is_below_the_title(number: int, body: str) -> None:
    text = with_effort(f"# Title\n\n{body}", number)
    assert text == f"# Title\n\n*{effort(number).sentence('en')}*\n\n{body}"


def test_table_without_lessons_is_unchanged() -> None:
    table = "| a | b |\n|---|---|\n| [x](y.md) | 1 |\n"
    assert builder.with_sizes(table, "learn/index.md") == table


def test_first_page_has_no_exercise() -> None:
    assert effort(0) == Effort(effort(0).reading, 0, 0)
    assert effort(0).minutes == str(effort(0).reading)
