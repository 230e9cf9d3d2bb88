"""Variants of exercises: only their own solution passes."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

from minispore._cli import main
from minispore._course import framework, grading, lessons
from minispore._course.exercise import CodeExercise
from minispore._course.sandbox import CheckResult
from minispore._course.source import mutated_text, text_of
from minispore._course.variants import vary
from minispore._course.verdict import Verdict, evaluate_submission
from minispore._course.workspace import Workspace, exercise_file, variant_of
from tests._course.test_workspace import learn

EXERCISES = {number: lessons.lesson(number).exercise for number in lessons.names()}
CODE = {number: value for number, value in EXERCISES.items() if isinstance(value, CodeExercise)}
CONTRACTS = [(number, i) for number, code in CODE.items() for i in range(len(code.contracts))]


def own_solution(exercise: CodeExercise, seed: int) -> str:
    """Return the source of the exercise's module, changed into a solution of a variant."""
    contract = exercise.contracts[seed % len(exercise.contracts)] if exercise.contracts else None
    text = mutated_text(exercise.module, *(contract.changes if contract else ()))
    names = vary(exercise, seed).names
    return "\n".join([text, *(f"{new} = {old}" for old, new in names.items()), ""])


def verdict_on(text: str, number: int, seed: int | None) -> Verdict:
    work = ModuleType("work")
    exec(compile(text, "<work>", "exec"), work.__dict__)
    return evaluate_submission(lessons.exercise(number, seed), work, speedup=8)


@pytest.mark.parametrize(("number", "seed"), [*((n, 20) for n in CODE), *CONTRACTS])
def test_own_solution_of_a_variant_passes(number: int, seed: int) -> None:
    exercise = CODE[number]
    text = own_solution(exercise, seed)
    verdict = verdict_on(text, number, seed)
    assert verdict.passed, verdict.lines
    assert not verdict_on(text, number, seed + 1).passed
    assert not verdict_on(text_of(exercise.module), number, seed).passed


@pytest.mark.parametrize(("number", "seed"), CONTRACTS)
def test_solution_of_the_page_fails_with_the_names_of_the_variant(number: int, seed: int) -> None:
    exercise = CODE[number]
    text = own_solution(replace(exercise, contracts=()), seed)
    verdict = verdict_on(text, number, seed)
    assert not verdict.passed
    assert verdict.lines[0].startswith("For ")


@pytest.mark.parametrize("number", lessons.names())
def test_file_of_a_variant_has_its_names_and_seed(number: int, tmp_path: Path) -> None:
    file = Workspace(tmp_path).start(number, 5)
    assert variant_of(file) == 5
    assert variant_of(Workspace(tmp_path / "page").start(number)) is None
    again, _ = Workspace(tmp_path).reset(number)
    assert variant_of(again) == 5
    text = exercise_file(number, 5)
    compile(text, "<stub>", "exec")
    assert max(map(len, text.splitlines())) <= 100
    for name in EXERCISES[number].tasks:
        assert f"{name.rpartition('.')[2]}_v5" in text


def test_check_uses_the_variant_of_the_file(tmp_path: Path) -> None:
    learn("start", "3", "--variant", "4", folder=tmp_path)
    assert "unbroadcast_v4 raises" in learn("check", "3", folder=tmp_path, status=1)
    file = tmp_path / "lesson_03_broadcasting.py"
    head = file.read_text("utf-8")
    exercise = CODE[3]
    file.write_text(head + own_solution(exercise, 4), "utf-8")
    assert "All 5 properties hold." in learn("check", "3", folder=tmp_path)
    file.write_text(head + own_solution(replace(exercise, contracts=()), 4), "utf-8")
    wrong = learn("check", "3", folder=tmp_path, status=1)
    assert "Property: An appended axis" in wrong
    file.write_text(
        head + f"from {exercise.module} import unbroadcast as unbroadcast_v4\n", "utf-8"
    )
    assert "write it yourself" in learn("check", "3", folder=tmp_path, status=1)


def test_grading_uses_the_variant_of_the_teacher(tmp_path: Path) -> None:
    Workspace(tmp_path / "ada").start(3, 4)
    for options, variant in (([], None), (["--variant", "7"], 7)):
        with patch.object(grading, "check") as check:
            check.return_value = CheckResult(Verdict(True, ()), "", 0.0)
            assert main(["learn", "grade", str(tmp_path), *options]) == 0
        assert check.call_args.kwargs["variant"] == variant


def test_variant_is_no_part_of_the_framework(tmp_path: Path) -> None:
    for variant in (4, None):
        Workspace(tmp_path).file(3).unlink(missing_ok=True)
        file = Workspace(tmp_path).start(3, variant)
        Workspace(tmp_path).record_check(3, passed=True)
        expected = {} if variant is not None else {3: file}
        assert framework.solved_files(tmp_path) == expected
