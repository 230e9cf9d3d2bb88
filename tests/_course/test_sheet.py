"""The teacher's sheet: it takes what the page and the exercise contain."""

import re
from base64 import b64decode

import pytest

from minispore._course import lessons
from minispore._course.exercise import CodeExercise, TestExercise
from minispore._course.pages import page_text
from minispore._course.sheet import further_solutions, key_sentences, sheet

# The counterexamples of the others take seconds.
FAST = [3, 4, 5, 14]
NAMED = re.compile(r"(?<=\*\*)[^*]+(?=\*\*(?:: |; |\.$))")
NOTICED = "- An exception shows these: "


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[] if n in FAST else pytest.mark.full) for n in lessons.names()],
)
def test_sheet_has_each_bug_and_each_question(number: int) -> None:
    text, page, exercise = sheet(number), page_text(number), lessons.lesson(number).exercise
    parts = {part.partition("\n")[0]: part for part in text.split("\n## ")}
    further = ["Go further"] if number in further_solutions() else []
    assert list(parts)[1:] == [
        "On the board", "Typical mistakes", "Questions", "In short", "Homework", *further
    ]  # fmt: skip
    for name in further:
        assert f"A solution:\n\n```python\n{further_solutions()[number]}```" in parts[name]
    assert "After this lesson you can" in text.split("\n## ")[0]
    if isinstance(exercise, CodeExercise):
        bugs = [fault.description for fault in exercise.bugs]
    else:
        bugs = [implementation.description for implementation in exercise.wrong]
    mistakes = parts["Typical mistakes"].splitlines()[2:]
    assert sorted(bugs) == sorted(bug for line in mistakes for bug in NAMED.findall(line))
    for mistake in mistakes:
        assert "your code raised" not in mistake
        if isinstance(exercise, CodeExercise) and not mistake.startswith(NOTICED):
            assert any(law.description in mistake for law in exercise.properties)
            assert ": For " in mistake or ": How does the time grow " in mistake
    assert parts["Questions"].count("**") == 2 * page.count('??? question "')
    assert parts["Questions"].count("**") > 0
    assert len(parts["In short"]) > 60
    assert len(parts["On the board"]) > 60
    assert "](" not in text.replace("](http", "")


def test_sheet_of_a_file_has_the_drawings_of_the_page() -> None:
    text, illustrated = sheet(3), sheet(3, with_drawings=True)
    images = re.findall(r"!\[(.*)\]\(data:image/svg\+xml;base64,(.*)\)\n\n?", illustrated)
    assert text.count("[A drawing]") == len(images) > 0
    for title, data in images:
        assert f"[A drawing] {title}\n" in text
        assert b64decode(data).startswith(b"<svg")
    assert re.sub(r"!\[.*\]\(data:.*\)\n\n", "", illustrated) == text


def test_sentences_of_programs_and_formulas_are_no_key_sentences() -> None:
    text = "One **two**. Three.\n\n```python\nx = 2**3 + 3**2\n```\n\n- **Four** five. Six.\n"
    assert key_sentences(text) == ["One **two**.", "**Four** five."]


def test_questions_about_a_testing_exercise_name_its_wrong_implementations() -> None:
    exercise = lessons.lesson(14).exercise
    assert isinstance(exercise, TestExercise)
    text = sheet(14)
    assert all(f"- **{implementation.description}**: " in text for implementation in exercise.wrong)
