"""`minispore learn` and the learner's folder: files, progress and messages."""

import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minispore._cli import main
from minispore._course import lessons, sandbox
from minispore._course.exercise import CodeExercise
from minispore._course.sandbox import CheckResult
from minispore._course.verdict import Verdict, check_own_work
from minispore._course.workspace import Progress, Workspace, exercise_file

ROOT = Path(__file__).parents[2]
NUMBERS = list(lessons.names())
# The first one, a lesson without code, and the last one.
numbers = st.sampled_from([1, 4, NUMBERS[-1]])


def learn(*arguments: str, folder: Path | None = None, status: int = 0) -> str:
    """Return the output of `minispore learn`; of a failing command, its error of one line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        actual = main(["learn", *arguments, *(["--folder", str(folder)] if folder else [])])
    assert actual == status, err.getvalue()
    if status != 2:
        assert err.getvalue() == ""
        return out.getvalue()
    assert out.getvalue() == ""
    assert err.getvalue().startswith("minispore learn: error: ")
    assert err.getvalue().count("\n") == 1
    return err.getvalue()


def test_lesson_continues_own_file_if_it_is_solved(tmp_path: Path) -> None:
    """Otherwise it continues minispore's solution, which the check allows."""
    code = "class RunLog:\n    losses = []\n"
    learn("start", "9", folder=tmp_path)
    file = tmp_path / "lesson_09_observe.py"
    file.write_text(file.read_text("utf-8") + code, "utf-8")
    learn("start", "10", folder=tmp_path)
    started = (tmp_path / "lesson_10_decide.py").read_text("utf-8")
    exercise = lessons.lesson(10).exercise
    scope: dict[str, object] = {}
    exec(started, scope)
    assert scope["RunLog"] != scope["Lesson9"]
    check_own_work(exercise, tmp_path / "lesson_10_decide.py")

    Workspace(tmp_path).record_check(9, passed=True)
    learn("reset", "10", folder=tmp_path)
    assert (tmp_path / "lesson_10_decide.py").read_text("utf-8") == f"{exercise_file(10)}\n{code}"


class LearnerFolder(RuleBasedStateMachine):
    """All commands in one folder, compared with a model of its files and its progress."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = TemporaryDirectory()
        self.folder = Path(self.temporary.name, "mine")
        self.files: dict[str, str] = {}
        self.progress: dict[int, Progress] = {}

    @initialize(created=st.booleans())
    def create_folder(self, created: bool) -> None:
        if created:
            self.folder.mkdir()

    def teardown(self) -> None:
        self.temporary.cleanup()

    def learn(self, action: str, number: int, status: int = 0) -> str:
        return learn(action, str(number), folder=self.folder, status=status)

    def file(self, number: int) -> str:
        return f"{lessons.names()[number]}.py"

    @rule(number=numbers)
    def start(self, number: int) -> None:
        if self.file(number) in self.files:
            assert f"learn reset {number}\n" in self.learn("start", number, 2)
        else:
            out = self.learn("start", number)
            assert str(self.folder / self.file(number)) in out
            assert lessons.page(number) in out
            self.files[self.file(number)] = exercise_file(number)

    @rule(number=numbers)
    def reset(self, number: int) -> None:
        name = self.file(number)
        if name not in self.files:
            assert f"learn start {number}\n" in self.learn("reset", number, 2)
            return
        count = sum(file.startswith(f"{name}.bak") for file in self.files) + 1
        backup = f"{name}.bak{count if count > 1 else ''}"
        assert str(self.folder / backup) in self.learn("reset", number)
        self.files[backup] = self.files[name]
        self.files[name] = exercise_file(number)

    @precondition(lambda self: self.files)
    @rule(data=st.data(), text=st.text("ab\n", max_size=3))
    def edit(self, data: st.DataObject, text: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        (self.folder / name).write_text(text, "utf-8")
        self.files[name] = text

    @rule(number=numbers)
    def hint(self, number: int) -> None:
        hints = lessons.lesson(number).hint_list()
        entry = self.progress.setdefault(number, Progress())
        entry.hints = min(entry.hints + 1, len(hints))
        expected = f"Hint {entry.hints} of {len(hints)}: {hints[entry.hints - 1]}\n"
        assert self.learn("hint", number) == expected

    @rule(
        data=st.data(),
        outcome=st.sampled_from(["passed", "failed", "undecided"]),
        printed=st.sampled_from(["", "x\ny\n"]),
    )
    def check(self, data: st.DataObject, outcome: str, printed: str) -> None:
        passed = outcome == "passed"
        started = [number for number in NUMBERS if self.file(number) in self.files]
        number = data.draw(st.sampled_from([*started, 1]))
        if self.file(number) not in self.files:
            assert f"learn start {number}\n" in self.learn("check", number, 2)
            return
        verdict = Verdict(passed, ("first", "second"), undecided=outcome == "undecided")
        result = CheckResult(verdict, printed, 0.1)
        with patch.object(sandbox, "check", return_value=result) as check:
            out = self.learn("check", number, 0 if passed else 1)
        check.assert_called_once_with(number, self.folder / self.file(number), variant=None)
        heading = f"Your code printed:\n{printed}\n" if printed else ""
        after = NUMBERS[NUMBERS.index(number) + 1 :]
        following = f" Next: lesson {after[0]}, {lessons.page(after[0])}" if after else ""
        compare = "To compare with minispore's source: minispore learn solution"
        ending = {
            "passed": f"Lesson {number} is solved.{following}\n{compare} {number}",
            "failed": f"Not solved yet. For a hint: minispore learn hint {number}",
            "undecided": "Undecided: the check ended before it found a mistake.",
        }[outcome]
        assert out == f"{heading}first\nsecond\n{ending}\n"
        entry = self.progress.setdefault(number, Progress())
        entry.checks += 1
        entry.passed |= passed

    @invariant()
    def files_and_progress_are_those_of_the_model(self) -> None:
        names = os.listdir(self.folder) if self.folder.exists() else []
        assert {
            name: (self.folder / name).read_text("utf-8")
            for name in names
            if name != "progress.json"
        } == self.files
        workspace = Workspace(self.folder)
        actual = {number: workspace.progress(number) for number in NUMBERS}
        assert actual == {number: self.progress.get(number, Progress()) for number in NUMBERS}

    @rule(number=st.sampled_from(NUMBERS))
    def solution(self, number: int) -> None:
        """The shipped source is shown to those who have solved the exercise."""
        if not self.progress.get(number, Progress()).passed:
            assert "is not solved yet" in self.learn("solution", number, 2)
            return
        shown = self.learn("solution", number)
        for name in lessons.lesson(number).exercise.tasks:
            last = name.rpartition(".")[2]
            assert f"def {last}(" in shown or f"class {last}(" in shown

    @rule()
    def status(self) -> None:
        *rows, following = learn("status", folder=self.folder).splitlines()[1:]
        unsolved = [n for n in NUMBERS if not self.progress.get(n, Progress()).passed]
        begun = [n for n in unsolved if self.file(n) in self.files]
        action = f"watch {begun[0]}" if begun else f"start {unsolved[0]}" if unsolved else ""
        expected = f"Next: minispore learn {action}" if action else "All lessons are solved."
        assert following == expected
        for number, row in zip(NUMBERS, rows, strict=True):
            progress = self.progress.get(number, Progress())
            started = "started" if self.file(number) in self.files else "to do"
            state = "solved" if progress.passed else started
            total = len(lessons.lesson(number).hint_list())
            assert row.startswith(f"{number} ")
            ending = [*state.split(), str(progress.checks), f"{progress.hints}/{total}"]
            assert row.split()[-len(ending) :] == ending


LearnerFolder.TestCase.settings = settings(stateful_step_count=12)
TestLearnerFolder = LearnerFolder.TestCase


def test_status_of_a_complete_course_has_no_next_step(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for number in NUMBERS:
        workspace.record_check(number, passed=True)
    assert learn("status", folder=tmp_path).endswith("\nAll lessons are solved.\n")


def test_list_contains_every_page_in_the_order_of_the_navigation() -> None:
    lines = learn("list").splitlines()[1:]
    pages = [line.split()[-1] for line in lines]
    assert pages == [lessons.page(number) for number in (0, *NUMBERS)]
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert pages == [f"docs/{page}" for page in re.findall(r": (learn/\d\d-.+)", navigation)]
    for number, line in zip(NUMBERS, lines[1:], strict=True):
        lesson = lessons.lesson(number)
        kind = "code" if isinstance(lesson.exercise, CodeExercise) else "a check"
        assert line.startswith(f"{number:<6}  {lesson.title}  ")
        assert f"  {kind} " in line


@pytest.mark.parametrize("action", ["start", "hint", "check", "reset", "solution"])
def test_first_page_has_no_exercise(tmp_path: Path, action: str) -> None:
    message = "lesson 0 has no exercise; to read it: minispore learn read 0"
    assert message in learn(action, "0", folder=tmp_path, status=2)


@pytest.mark.parametrize("action", ["start", "hint", "check", "reset"])
def test_unknown_lesson_is_reported(tmp_path: Path, action: str) -> None:
    assert "there is no lesson 99" in learn(action, "99", folder=tmp_path, status=2)


def test_default_folder_is_in_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["learn", "hint", "1"]) == 0
    assert json.loads(Path("minispore-course", "progress.json").read_text("utf-8")) == {
        "format": 1,
        "lessons": {"1": {"hints": 1, "checks": 0, "passed": False}},
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\xff",
        "{",
        "[]",
        "[" * 100_000,
        '{"format": 2, "lessons": {}}',
        '{"format": 1, "lessons": []}',
        '{"format": 1, "lessons": {"one": {}}}',
        '{"format": 1, "lessons": {"1": 3}}',
        '{"format": 1, "lessons": {"1": {"hints": -1, "checks": 0, "passed": true}}}',
        '{"format": 1, "lessons": {"1": {"hints": 0, "checks": -1, "passed": true}}}',
        '{"format": 1, "lessons": {"1": {"hints": true, "checks": 0, "passed": true}}}',
    ],
)
def test_damaged_progress_file_is_reported_and_unchanged(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn("start", "1", folder=tmp_path)
    monkeypatch.setattr(sandbox, "check", None)  # must not be called
    (tmp_path / "progress.json").write_text(text, "latin-1")
    for arguments in (("status",), ("hint", "1"), ("check", "1"), ("start", "2")):
        assert "remove it" in learn(*arguments, folder=tmp_path, status=2)
    assert (tmp_path / "progress.json").read_text("latin-1") == text
    assert len(os.listdir(tmp_path)) == 2


def test_missing_hypothesis_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert "pip install 'minispore[testing]'" in learn("list", status=2)


def test_watch_checks_each_saved_version_until_one_passes(tmp_path: Path) -> None:
    learn("start", "2", folder=tmp_path)
    file = Workspace(tmp_path).file(2)
    texts = [file.read_text("utf-8"), "first", "the second", "third"]
    saved = iter(texts[1:])

    def save(_seconds: float) -> None:
        """Remove the file, and write it later, as editors do."""
        if file.exists():
            file.unlink()
        else:
            file.write_text(next(saved), "utf-8")

    def check(_number: int, path: Path, *, variant: int | None) -> CheckResult:
        assert variant is None
        text = path.read_text("utf-8")
        return CheckResult(Verdict(text == "third", (f"checked {len(text)}",)), "", 0.1)

    with patch.object(sandbox, "check", check), patch("time.sleep", save):
        reports = learn("watch", "2", folder=tmp_path).split("\n\n")
    assert [report.partition("\n")[0] for report in reports] == [
        f"checked {len(text)}" for text in texts
    ]
