"""The map of the course, its tracks, and what the pages of the lessons say that they need."""

import re
from types import ModuleType

import pytest

from minispore._course import lessons
from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script

MAP = (DOCS / "learn" / "index.md").read_text("utf-8")
TRACKS = re.findall(r"^- \*\*(.*?)\*\*: ((?:[^.\n]|\n)*)\.", MAP, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    pytest.importorskip("mkdocs")
    return load_script(SCRIPTS / "lessons.py")


def needed(script: ModuleType, number: int) -> set[int]:
    """Return the lessons that one needs, and those that these need."""
    direct: list[int] = script.map_of_lessons()[number][1] if number else []
    return {*direct, *(each for n in direct for each in needed(script, n))}


def test_map_has_each_lesson_and_needs_only_earlier_ones(script: ModuleType) -> None:
    known = script.map_of_lessons()
    assert list(known) == list(lessons.names())
    for number, (file, needs) in known.items():
        assert (DOCS / "learn" / file).is_file()
        assert file.startswith(f"{number:02d}-")
        assert max(needs) < number


@pytest.mark.parametrize("number", lessons.names())
def test_page_builds_on_nothing_but_what_the_map_says(script: ModuleType, number: int) -> None:
    page = (DOCS / "learn" / script.map_of_lessons()[number][0]).read_text("utf-8")
    goal = page.partition("\n# ")[2].partition("\n## ")[0]
    named = {int(each) for each in re.findall(r"\]\((\d\d)-[\w-]+\.md", goal)}
    assert named <= needed(script, number)
    end = script.prerequisites(number, "learn/x.md")
    assert [int(each) for each in re.findall(r"\[(\d+)\]\(", end)] == (
        script.map_of_lessons()[number][1]
    )


@pytest.mark.parametrize(("name", "text"), TRACKS)
def test_track_has_what_its_lessons_need(script: ModuleType, name: str, text: str) -> None:
    numbers: set[int] = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        numbers |= {*range(int(first), int(last or first) + 1)}
    assert len(numbers) >= 5, name
    for number in numbers:
        assert needed(script, number) <= numbers, (name, number)


def test_chinese_map_is_the_same(script: ModuleType) -> None:
    chinese = (DOCS / "learn" / "index.zh.md").read_text("utf-8").replace("、", ", ")
    rows = {int(n): (file, needs) for n, file, needs in script.MAP_ROW.findall(chinese)}
    expected = {
        n: (file, ", ".join(map(str, each))) for n, (file, each) in script.map_of_lessons().items()
    }
    assert rows == expected
