"""A learner's folder on the command line: what is written, kept, counted and told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from minispore._cli import main
from minispore._course import commands, lessons
from minispore._course.checking import Checked
from minispore._course.judging import Verdict


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> "Run":
    monkeypatch.chdir(tmp_path)
    return Run(capsys)


class Run:
    """`minispore learn` in an empty folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str, status: int = 0) -> str:
        assert main(["learn", *arguments]) == status
        out, err = self.capsys.readouterr()
        if status == 2:
            assert out == ""
            assert err.startswith("minispore learn: error: ")
            assert err.count("\n") == 1
            return err
        assert err == ""
        return out


FILE = Path("minispore-course", "lesson_01_graph.py")
RECORD = Path("minispore-course", "progress.json")


def test_the_list_has_every_lesson(run: Run) -> None:
    lines = run("list").splitlines()
    assert len(lines) == 1 + len(lessons.names())
    assert all(lessons.lesson(n).title in line for n, line in zip(lessons.names(), lines[1:]))  # noqa: B905


def test_an_exercise_is_started_once(run: Run) -> None:
    assert str(FILE) in run("start", "1")
    FILE.write_text("mine", "utf-8")
    assert "learn reset 1" in run("start", "1", status=2)
    assert FILE.read_text("utf-8") == "mine"


def test_a_reset_keeps_what_was_there(run: Run) -> None:
    run("start", "1")
    fresh = FILE.read_text("utf-8")
    FILE.write_text("first", "utf-8")
    run("reset", "1")
    FILE.write_text("second", "utf-8")
    run("reset", "1")
    assert FILE.read_text("utf-8") == fresh
    assert FILE.with_suffix(".py.bak").read_text("utf-8") == "first"
    assert FILE.with_suffix(".py.bak2").read_text("utf-8") == "second"


def test_hints_come_one_by_one(run: Run) -> None:
    hints = lessons.lesson(1).hints
    for count in [*range(1, len(hints) + 1), len(hints)]:
        assert run("hint", "1") == f"Hint {count} of {len(hints)}: {hints[count - 1]}\n"


def test_checks_are_counted_and_what_is_solved_stays_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("start", "1")
    for passed in (False, True, False):
        result = Checked(Verdict(passed, ("a line",)), "printed\n", 0.1)
        monkeypatch.setattr(commands, "check", lambda *_, result=result: result)
        out = run("check", "1", status=0 if passed else 1)
        assert "Your code printed:\nprinted\n\na line\n" in out
        assert ("Lesson 1 is solved." in out) == passed
    row = run("status").splitlines()[1].split()
    assert row[-3:] == ["solved", "3", f"0/{len(lessons.lesson(1).hints)}"]


def test_another_folder_may_be_named(run: Run) -> None:
    run("start", "1", "--folder", "mine")
    assert Path("mine", FILE.name).is_file()
    assert "started" in run("status", "--folder", "mine")
    assert not FILE.exists()


@pytest.mark.parametrize("action", ["check", "reset"])
def test_what_was_not_started_is_told(run: Run, action: str) -> None:
    assert "learn start 1" in run(action, "1", status=2)


def test_a_lesson_that_does_not_exist_is_told(run: Run) -> None:
    assert "there is no lesson 99" in run("start", "99", status=2)


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
        '{"format": 1, "lessons": {"1": {"hints": true, "checks": 0, "passed": true}}}',
    ],
)
def test_a_damaged_record_is_told_and_left_alone(
    run: Run, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("start", "1")
    monkeypatch.setattr(commands, "check", None)  # there is to be no work for nothing
    RECORD.write_text(text, "latin-1")
    for arguments in (("status",), ("hint", "1"), ("check", "1")):
        assert "remove it" in run(*arguments, status=2)
    assert RECORD.read_text("latin-1") == text


def test_the_record_is_small_json(run: Run) -> None:
    run("hint", "1")
    assert json.loads(RECORD.read_text("utf-8")) == {
        "format": 1,
        "lessons": {"1": {"hints": 1, "checks": 0, "passed": False}},
    }


def test_without_hypothesis_one_sentence_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    assert "pip install 'minispore[testing]'" in run("list", status=2)


def test_a_reader_of_the_output_may_stop_early(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "minispore", "learn", "list"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
