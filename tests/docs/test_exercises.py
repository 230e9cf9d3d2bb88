"""The place of the exercise on the page of a lesson."""

import json
from html.parser import HTMLParser
from typing import Protocol, cast

import pytest

from minispore._course import lessons
from minispore._course.browser import initial_file
from minispore._course.exercise import CodeExercise
from minispore._course.translation import Language, translate
from tests.helpers.scripts import SCRIPTS, load_script


class Builder(Protocol):
    """The functions of docs/scripts/exercises.py."""

    MOST_LINES: int

    def with_exercise(self, html: str, number: int, page: str) -> str: ...
    def hints(self, language: Language) -> str: ...


builder = cast("Builder", load_script(SCRIPTS / "exercises.py"))


class Places(HTMLParser):
    """The attributes of each exercise."""

    def __init__(self) -> None:
        super().__init__()
        self.found = list[dict[str, str | None]]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if attributes.get("class") == "exercise":
            self.found.append(attributes)


@pytest.mark.parametrize(
    "following", ['<div class="admonition note">', '<h2 id="read-next">', '<h2 id="more">']
)
@pytest.mark.parametrize("number", lessons.names())
def test_exercise_follows_its_text_without_hints(number: int, following: str) -> None:
    before = '<h2 id="idea">The idea</h2><h2 id="exercise">Exercise</h2>\n<p>Write it.</p>\n'
    after = f"{following}More.\n<h2>The end</h2>"
    page = builder.with_exercise(before + after, number, "learn/page.md")
    assert page.startswith(before)
    assert page.endswith(after)
    (place,) = _places(page)
    assert (place["data-file"], place["data-text"]) == initial_file(number)
    assert (place["data-number"], place["data-lessons"]) == (str(number), str(len(lessons.names())))
    lesson = lessons.lesson(number)
    earlier = lesson.exercise.continues if isinstance(lesson.exercise, CodeExercise) else None
    shown = _shown(initial_file(number)[1], place["data-beginning"] or "")
    assert len(shown.splitlines()) <= builder.MOST_LINES
    assert all(f"def {name.rpartition('.')[2]}(" in shown for name in _functions(number))
    assert place.get("data-continues") == (str(earlier) if earlier else None)
    assert not any(hint in page for hint in lesson.hint_list())


def _shown(text: str, beginning: str) -> str:
    """Return what the editor shows of a file, as docs/assets/exercise.js finds it."""
    return text[f"\n{text}".index(f"\n{beginning}") :]


def _functions(number: int) -> list[str]:
    """Return the names of the functions to write, in a file that has them already."""
    exercise = lessons.lesson(number).exercise
    is_empty = isinstance(exercise, CodeExercise) and exercise.from_empty
    return [] if is_empty else list(exercise.tasks)


@pytest.mark.parametrize(("page", "language"), [("page.md", "en"), ("page.zh.md", "zh")])
def test_exercise_is_in_the_language_of_its_page(page: str, language: Language) -> None:
    html = '<h2 id="exercise">Exercise</h2><h2 id="more">'
    (place,) = _places(builder.with_exercise(html, 1, f"learn/{page}"))
    assert place["data-language"] == language
    assert place["data-text"] == initial_file(1, language)[1]


def _places(page: str) -> list[dict[str, str | None]]:
    parser = Places()
    parser.feed(page)
    return parser.found


def test_page_without_an_exercise_is_an_error() -> None:
    with pytest.raises(ValueError, match="substring not found"):
        builder.with_exercise("<h2>The idea</h2>", 1, "learn/01-graph.md")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hints_without_python_are_those_of_the_lessons(language: Language) -> None:
    found = json.loads(builder.hints(language))
    assert found.keys() == {str(number) for number in lessons.names()}
    for number, hints in found.items():
        own = lessons.lesson(int(number)).hint_list()
        assert hints == [translate(hint, language) for hint in own]
        assert (hints == own) == (language == "en")
