"""Wrong answers of each lesson are refused, right answers of unusual form are accepted.

The wrong answers are mutants of the solution and those in `answers/`, where the right ones are.
"""

import ast
import random
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from minispore._course import lessons
from minispore._course.exercise import CodeExercise
from minispore._course.source import text_of
from minispore._course.verdict import Verdict, evaluate_submission
from tests.helpers.mutation import mutants

ANSWERS = Path(__file__).parent / "answers"
SAMPLE = 24

# For each lesson: the number of its mutants that are wrong, of the wrong answers by hand, and of
# the right ones.
COUNTS: dict[int, tuple[int, int, int]] = {
    1: (80, 5, 10),
    2: (152, 8, 10),
    3: (44, 4, 10),
    5: (54, 6, 10),
    6: (59, 5, 10),
    7: (53, 5, 10),
    8: (86, 5, 10),
    9: (25, 7, 10),
    10: (40, 6, 10),
    11: (79, 6, 10),
    12: (63, 4, 10),
    13: (90, 5, 10),
    15: (88, 4, 10),
    16: (105, 4, 10),
    17: (88, 4, 10),
    18: (108, 6, 10),
    19: (61, 4, 10),
}


def equivalent(number: int) -> set[str]:
    """Return the mutants that are right; the file says why."""
    text = (ANSWERS / "equivalent.txt").read_text("utf-8")
    lines = re.findall(rf"^=== {number}: .+\n((?:(?!=== ).*\n)*)", text, flags=re.MULTILINE)
    return set("".join(lines).splitlines())


def exercise_of(number: int) -> CodeExercise:
    exercise = lessons.lesson(number).exercise
    assert isinstance(exercise, CodeExercise)
    return exercise


def answers(number: int, kind: str) -> dict[str, str]:
    """Return the answers by hand by their names; each follows the solution and replaces it."""
    file = ANSWERS / f"lesson_{number:02}.txt"
    text = file.read_text("utf-8") if file.exists() else ""
    parts = re.findall(rf"^=== {kind}: (.+)\n((?:(?!=== ).*\n)*)", text, flags=re.MULTILINE)
    return {name: f"{text_of(exercise_of(number).module)}\n{code}" for name, code in parts}


def mutants_of(number: int) -> dict[str, str]:
    exercise = exercise_of(number)
    source = text_of(exercise.module)
    names = list(exercise.tasks)
    if exercise.from_empty:
        body = ast.parse(source).body
        names = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return dict(mutants(source, names))


def verdict_on(text: str, number: int, speedup: int = 1) -> Verdict:
    work = ModuleType(f"answer_{number}")
    sys.modules[work.__name__] = work  # dataclasses look up their module there
    exec(compile(text, "<answer>", "exec"), work.__dict__)
    return evaluate_submission(exercise_of(number), work, speedup=speedup)


def is_accepted(text: str, number: int) -> bool:
    return verdict_on(text, number, 4).passed and verdict_on(text, number).passed


@pytest.mark.parametrize("number", COUNTS)
def test_table_has_the_counts(number: int) -> None:
    wrong_mutants, wrong, right = COUNTS[number]
    found = len(mutants_of(number)) - len(equivalent(number))
    assert found == wrong_mutants >= 20
    assert (len(answers(number, "wrong")), len(answers(number, "right"))) == (wrong, right)


@pytest.mark.parametrize(
    ("number", "count"),
    [(n, SAMPLE) for n in COUNTS] + [pytest.param(n, None, marks=pytest.mark.slow) for n in COUNTS],
)
def test_mutants_are_refused(number: int, count: int | None) -> None:
    found, right = mutants_of(number), equivalent(number)
    assert right <= set(found)
    wrong = sorted(set(found) - right)
    sample = wrong if count is None else random.Random(number).sample(wrong, count)
    assert [name for name in sample if is_accepted(found[name], number)] == []


@pytest.mark.parametrize("number", COUNTS)
def test_wrong_answers_are_refused(number: int) -> None:
    wrong = answers(number, "wrong")
    assert [name for name, text in wrong.items() if is_accepted(text, number)] == []


@pytest.mark.parametrize("number", COUNTS)
def test_right_answers_are_accepted(number: int) -> None:
    for name, text in answers(number, "right").items():
        verdict = verdict_on(text, number, 2)
        assert verdict.passed, (name, verdict.lines)
