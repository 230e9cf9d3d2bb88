"""`minispore learn run`: the learner's functions take the package's place, and are counted."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore._course import CourseError, framework, lessons
from minispore._course.framework import LESSONS, MILESTONES, Part, Run, substituted
from minispore._course.source import Bug, mutated_text, text_of
from minispore._course.workspace import Workspace
from tests._course.test_browser import answered
from tests._course.test_workspace import learn

LOGS = [number for number in LESSONS if lessons.lesson(number).exercise.tasks.keys() >= {"RunLog"}]


def solution(number: int) -> str:
    """Return a file that passes the check; one about `RunLog` contains those that it continues."""
    text = text_of(lessons.lesson(number).exercise.module)
    if number in LOGS[1:]:
        name = f"run_log_{number - 1:02}"
        text = text.replace(f"from minispore._course.solutions import {name}\n", "")
        text = f"{solution(number - 1)}\n{text.replace(f'{name}.RunLog', 'RunLog')}"
    return text


def fill(folder: Path, *numbers: int, **texts: str) -> None:
    """Write solutions to a learner's folder, and record that they have passed."""
    workspace = Workspace(folder)
    folder.mkdir(exist_ok=True)
    for number in numbers:
        workspace.file(number).write_text(
            texts.get(f"lesson_{number}") or solution(number), "utf-8"
        )
        workspace.record_check(number, passed=True)


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framework, "_TRAINING_IMAGES", 500)
    monkeypatch.setattr(framework, "_TEST_IMAGES", 50)


def trained(folder: Path, expire: Callable[[str], object] | None = None) -> Run:
    return framework.run(folder, lambda _: None, expire)


def rows(run: Run) -> Iterator[tuple[int, str, str, int]]:
    """Yield the rows of the table: the lesson, the function, whose it is, and its calls."""
    for line in run.lines[0].splitlines()[1:]:
        lesson, name, *tail = line.split()
        yours = tail[0] == "yours"
        yield int(lesson), name, "yours" if yours else " ".join(tail), int(tail[1]) if yours else 0


def package_state() -> dict[tuple[str, str], int]:
    """Return the identity of each name's value in the package, and in its classes."""
    modules = {name: loaded for name, loaded in sys.modules.items() if name.startswith("minispore")}
    state = dict[tuple[str, str], int]()
    for module, content in modules.items():
        for name, value in vars(content).items():
            state[module, name] = id(value)
            if isinstance(value, type) and value.__module__ == module:
                for attribute, held in vars(value).items():
                    state[module, f"{name}.{attribute}"] = id(held)
    return state


@pytest.mark.usefixtures("_short")
def test_each_function_is_called_and_the_numbers_are_the_package_s(tmp_path: Path) -> None:
    """Solutions that are copies of the source give the same losses and predictions, bit for bit."""
    plain = trained(tmp_path / "nothing")
    fill(tmp_path / "all", *LESSONS)
    full = trained(tmp_path / "all")
    assert full.drawings == plain.drawings
    assert {whose for _, _, whose, _ in rows(plain)} == {"not yet yours"}
    assert all(calls > 0 for *_, calls in rows(full)), full.lines[0]
    assert {(number, name) for number, name, *_ in rows(full)} == {
        (number, name)
        for number in LESSONS
        for name in lessons.lesson(number).exercise.tasks
        if number not in LOGS[:-1]
    }
    assert [mark.reached in "".join(full.lines) for mark in MILESTONES] == [True] * len(MILESTONES)
    assert "The next milestone: automatic differentiation (lessons 1, 2, 3, 5)." in plain.lines


@given(st.sets(st.sampled_from(LESSONS), max_size=4), st.booleans())
@example({9, 10}, True)
@example({6, 7}, True)
@settings(max_examples=15)
def test_what_is_solved_is_replaced_in_the_block_and_only_there(
    tmp_path_factory: pytest.TempPathFactory, solved: set[int], raises: bool
) -> None:
    folder = tmp_path_factory.mktemp("solved") / "course"
    fill(folder, *solved)
    parts = [Part(n, name) for n in LESSONS for name in lessons.lesson(n).exercise.tasks]
    for number in LESSONS:
        import_module(lessons.lesson(number).exercise.module)
    before = package_state()
    inside = before
    try:
        with substituted(framework.solved_files(folder), parts):
            inside = package_state()
            if raises:
                raise KeyError
    except KeyError:
        assert raises
    assert {part.lesson for part in parts if part.is_yours} == solved
    # The learner's `RunLog` is new: nothing in the package is replaced by it.
    assert (inside != before) == bool(solved - set(LOGS))
    assert package_state() == before


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(
    ("number", "bug", "blamed"),
    [
        (3, Bug("it raises", "unbroadcast", "return g", "return 1 / 0"), "unbroadcast raised Zero"),
        (7, Bug("it raises", "update", "if momentum:", "if 1 / 0:"), "update raised ZeroDivision"),
    ],
)
def test_exception_is_reported_with_its_lesson_and_line(
    number: int, bug: Bug, blamed: str, tmp_path: Path
) -> None:
    wrong = mutated_text(lessons.lesson(number).exercise.module, bug)
    fill(tmp_path, *LESSONS, **{f"lesson_{number}": wrong})
    run = trained(tmp_path)
    assert not run.is_good
    assert f"Lesson {number}: {blamed}" in run.lines[-1]
    line = next(i for i, text in enumerate(wrong.splitlines(), 1) if bug.new in text)
    assert f"(line {line}: `" in run.lines[-1]


@pytest.mark.usefixtures("_short")
def test_wrong_result_is_reported_with_its_counterexample(tmp_path: Path) -> None:
    """A gradient of the wrong sign raises nothing; the check of the lesson says what is wrong."""
    exercise = lessons.lesson(2).exercise
    bug = Bug("the sign", "sigmoid", "lambda g: g", "lambda g: -g")
    fill(tmp_path, 1, 2, lesson_2=mutated_text(exercise.module, bug))
    files = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
    answer = answered("run", 1, files)
    assert "The check of lesson 2:" in answer["text"]
    assert [drawing[:4] for drawing in answer["drawings"]] == ["<svg", "<svg"]


@pytest.mark.usefixtures("_short")
def test_slow_function_is_reported(tmp_path: Path) -> None:
    slow = solution(2).replace(
        "return xp.tanh(x), ",
        "sum(map(abs, range(3 * 10**6)))\n    return xp.tanh(x), ",
    )
    assert "10**6" in slow
    fill(tmp_path, 1, 2, lesson_2=slow)
    run = trained(tmp_path, pytest.fail)
    assert run.lines[-1].startswith("Lesson 2: tanh took ")
    assert not run.is_good


@pytest.mark.usefixtures("_short")
def test_run_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its process the message ends it; here it ends the loop."""
    monkeypatch.setattr(framework, "SECONDS", 3.0)
    reasons = list[str]()
    endless = (
        solution(3)
        .replace("def unbroadcast", "REASONS = []\n\ndef unbroadcast")
        .replace("    if g.shape", "    while not REASONS: pass\n    if g.shape")
    )
    fill(tmp_path, 3, lesson_3=endless)

    def expire(reason: str) -> None:
        reasons.append(reason)
        sys.modules["lesson_03_broadcasting"].__dict__["REASONS"].append(reason)

    trained(tmp_path, expire)
    assert reasons[0].startswith("The run was stopped after 3 seconds. Lesson 3: unbroadcast took")


def test_missing_definition_and_unreadable_file_are_reported_with_the_lesson(
    tmp_path: Path,
) -> None:
    for number in LESSONS:
        fill(tmp_path, number)
        for text, words in (("x = (", "syntax error"), ("x = 1\n", "does not define")):
            Workspace(tmp_path).file(number).write_text(text, "utf-8")
            parts = [Part(number, name) for name in lessons.lesson(number).exercise.tasks]
            files = {number: Workspace(tmp_path).file(number)}
            with (
                pytest.raises(CourseError, match=f"Lesson {number}: .*{words}"),
                substituted(files, parts),
            ):
                pytest.fail("the block was entered")


@pytest.mark.full
def test_command_trains_in_its_process(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    fill(folder, 1)
    text = learn("run", folder=folder)
    assert text.startswith("epoch 1 of 4: loss ")
    assert ["1", "backward_pass", "yours"] in [line.split()[:3] for line in text.splitlines()]
    assert text.endswith(f"The loss curve and 16 predictions are in {folder / 'run'}.\n")
    for name in ("loss.svg", "predictions.svg"):
        assert (folder / "run" / name).read_text("utf-8").startswith("<svg")


def test_command_fails_with_the_check_s_counterexample(tmp_path: Path) -> None:
    fill(tmp_path, 1, lesson_1="def backward_pass(*_):\n    raise KeyError('x')\n")
    text = learn("run", folder=tmp_path, status=1)
    assert "Lesson 1: backward_pass raised KeyError: 'x' (line 2: `raise KeyError('x')`)." in text
    assert "The check of lesson 1:" in text
