"""Grading of many submissions."""

import csv
import json
import re
import signal
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._cli import main
from minispore._course import CourseError, grading, lessons
from minispore._course.grading import as_record, as_rows
from minispore._course.sandbox import CheckResult
from minispore._course.verdict import Verdict
from tests.helpers.lesson_solutions import BODY, solution
from tests.helpers.waiting import wait_until

names = st.sampled_from(["ada", "bob", "eve", "zoe"])
lines = st.lists(st.text(max_size=5), max_size=2).map(tuple)
results = st.builds(
    lambda passed, lines, counts, undetected, undecided, seconds: CheckResult(
        Verdict(passed, lines, counts[0], counts[1], undetected, undecided), "", seconds
    ),
    st.booleans(),
    lines,
    st.sampled_from([(0, 0), (0, 6), (2, 6), (6, 6)]),
    lines,
    st.booleans(),
    st.floats(0, 9),
)
grades = st.dictionaries(names, st.dictionaries(st.sampled_from([1, 4, 15]), results), min_size=1)


def test_grade_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bob", "zoe"):
        (tmp_path / name).mkdir()
    solution(tmp_path / "bob", BODY)
    result = CheckResult(Verdict(False, ("Not written yet",), 0, 6), "", 0.5)
    with patch.object(grading, "check", lambda *_, **__: result):
        assert main(["learn", "grade", str(tmp_path), "--json", "--jobs", "2"]) == 0
    expected = as_record({"bob": {1: result}, "zoe": {}})
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(expected))


PLACES = st.sampled_from(["", "minispore-course"])
LAYOUTS = st.dictionaries(
    names, st.dictionaries(st.tuples(st.sampled_from([1, 2, 15]), PLACES), st.just("x"))
)


@given(LAYOUTS, st.none() | st.integers(1, 3))
def test_exactly_the_submitted_files_are_checked(
    layout: dict[str, dict[tuple[int, str], str]], jobs: int | None
) -> None:
    """Each with its own lesson; a file in the submission itself precedes one in its subfolder."""

    def checked(number: int, file: Path, variant: int | None, stop: Event) -> CheckResult:
        assert variant is None
        return CheckResult(Verdict(True, (str(number), str(file))), "", 0.0)

    reported: list[str] = []
    with TemporaryDirectory() as temporary, patch.object(grading, "check", checked):
        folder = Path(temporary)
        (folder / ".hidden").mkdir()
        (folder / ".hidden" / f"{lessons.names()[1]}.py").touch()
        (folder / "a file").touch()
        for name, files in layout.items():
            (folder / name).mkdir()
            for number, place in files:
                (folder / name / place).mkdir(exist_ok=True)
                (folder / name / place / f"{lessons.names()[number]}.py").touch()
        if not layout:
            with pytest.raises(CourseError, match="each submission must be a folder"):
                grading.grade(folder, print, jobs=jobs)
            return
        actual, complete = grading.grade(folder, reported.append, jobs=jobs)
        assert complete
        expected = {
            name: {
                number: (str(number), str(folder / name / place / f"{lessons.names()[number]}.py"))
                for number, place in sorted(files, reverse=True)
            }
            for name, files in layout.items()
        }
    assert {
        name: {number: result.verdict.lines for number, result in graded.items()}
        for name, graded in actual.items()
    } == expected
    assert list(actual) == sorted(layout)
    assert sorted(reported) == sorted(
        f"{name}, lesson {number}: passed (0.0 s)" for name in expected for number in expected[name]
    )


def test_check_that_would_begin_after_the_stop_is_not_made(tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    with patch.object(grading, "check", None):
        result = grading._check(tmp_path, tmp_path / "lesson.py", 1, None, stop)
    assert result.verdict.undecided


@given(st.integers(0, 5), st.integers(1, 3), st.sampled_from(["table", "csv", "json"]))
def test_interrupt_ends_the_checks_and_keeps_the_results(done: int, jobs: int, form: str) -> None:
    """Of those that ended before; each result is also reported as soon as it is there."""
    began: list[str] = []

    def checked(_number: int, file: Path, variant: int | None, stop: Event) -> CheckResult:
        began.append(file.parent.name)
        if file.parent.name >= f"s{done}":
            if file.parent.name == f"s{done}":
                wait_until(lambda: len(err.getvalue().splitlines()) == done)
                # In this thread, so that it does not wake the main thread: an interrupt that comes
                # just before the main thread begins to wait does not wake it, either.
                signal.raise_signal(signal.SIGINT)
            assert stop.wait(30)
        return CheckResult(Verdict(True, (), 3, 3), "", 0.0)

    out, err = StringIO(), StringIO()
    with TemporaryDirectory() as temporary, patch.object(grading, "check", checked):
        for name in (names := [f"s{i}" for i in range(6)]):
            Path(temporary, name).mkdir()
            Path(temporary, name, f"{lessons.names()[2]}.py").touch()
        options = ["--jobs", str(jobs), *([f"--{form}"] if form != "table" else [])]
        with redirect_stdout(out), redirect_stderr(err):
            assert main(["learn", "grade", temporary, *options]) == 130
    assert len(began) < done + jobs + 1
    *lines, last = err.getvalue().splitlines()
    assert sorted(lines) == [f"{name}, lesson 2: passed (0.0 s)" for name in names[:done]]
    assert last == "minispore learn: stopped by Ctrl-C"
    if form == "json":
        found = [
            "undecided" if submission["lessons"]["2"]["undecided"] else "passed"
            for submission in json.loads(out.getvalue())["submissions"]
        ]
    else:
        found = [re.split(",|  +", line)[1] for line in out.getvalue().splitlines()[1:]]
    assert found == ["passed"] * done + ["undecided"] * (6 - done)


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("class/ada/{name}", "other/minispore-course/{name}"),
        ("class/ada/minispore-course", "other/minispore-course"),
        ("class/ada", "other"),
        ("class", "others"),
    ],
)
def test_links_of_a_submission_are_not_followed(link: str, target: str, tmp_path: Path) -> None:
    """They may lead to a file of the teacher's or of another learner. A link to all is followed."""
    name = f"{lessons.names()[2]}.py"
    for folder in ("other", "others/ada"):
        (tmp_path / folder / "minispore-course").mkdir(parents=True)
        (tmp_path / folder / "minispore-course" / name).touch()
    made = tmp_path / link.format(name=name)
    made.parent.mkdir(parents=True, exist_ok=True)
    made.symlink_to(tmp_path / target.format(name=name))
    result = CheckResult(Verdict(True, ()), "", 0.0)
    with patch.object(grading, "check", return_value=result) as check:
        grades, _ = grading.grade(tmp_path / "class", print)
    verdict = grades["ada"][2].verdict
    assert check.called == verdict.passed == (link == "class")
    refusal = f"{name} is not checked: its path contains a symbolic link."
    assert verdict.lines == (() if verdict.passed else (refusal,))


@given(grades)
def test_rows_and_record_contain_each_result(grades: dict[str, dict[int, CheckResult]]) -> None:
    header, *rows = as_rows(grades)
    submissions = json.loads(json.dumps(as_record(grades)))["submissions"]
    numbers = sorted({number for results in grades.values() for number in results})
    assert header == ["submission", *map(str, numbers), "passed"]
    assert [row[0] for row in rows] == [entry["name"] for entry in submissions] == list(grades)
    for row, record, results in zip(rows, submissions, grades.values(), strict=True):
        passed = sum(result.verdict.passed for result in results.values())
        assert int(row[-1]) == record["passed"] == passed
        assert record["lessons"].keys() == {str(number) for number in results}
        for number, cell in zip(numbers, row[1:-1], strict=True):
            if number not in results:
                assert cell == "-"
                continue
            verdict = results[number].verdict
            partial = f"{verdict.done}/{verdict.total}" if verdict.total else "no"
            expected = "passed" if verdict.passed else partial
            assert cell == ("undecided" if verdict.undecided else expected)
            assert record["lessons"][str(number)] == {
                "passed": verdict.passed,
                "undecided": verdict.undecided,
                "done": verdict.done,
                "of": verdict.total,
                "feedback": list(verdict.lines),
                "undetected": list(verdict.undetected),
                "seconds": round(results[number].seconds, 2),
            }


def test_missing_folder_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "grade", str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["table", "csv"])
def test_grades_are_printed_as_table_and_csv(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    for name in ("ada, b", "eve"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{lessons.names()[2]}.py").touch()
    result = CheckResult(Verdict(False, (), 3, 7), "", 0.0)
    with patch.object(grading, "check", return_value=result):
        assert main(["learn", "grade", str(tmp_path), *(["--csv"] if form == "csv" else [])]) == 0
    rows = [["submission", "2", "passed"], ["ada, b", "3/7", "0"], ["eve", "3/7", "0"]]
    out = capsys.readouterr().out
    if form == "csv":
        assert list(csv.reader(out.splitlines())) == rows
    else:
        assert [re.split("  +", line) for line in out.splitlines()] == rows


@given(
    st.lists(st.sampled_from(["", " (1)", " (2)", " (10)", "-3"]), min_size=1, unique=True),
    st.sampled_from([1, 15]),
)
def test_latest_of_renamed_files_is_graded(suffixes: list[str], number: int) -> None:
    with TemporaryDirectory() as temporary, patch.object(grading, "check") as check:
        folder = Path(temporary, "ada")
        folder.mkdir()
        for suffix in suffixes:
            (folder / f"{lessons.names()[number]}{suffix}.py").touch()
        check.return_value = CheckResult(Verdict(True, ()), "", 0.0)
        grading.grade(Path(temporary), print)
        [(_, file)] = [call.args for call in check.call_args_list]
    best = "" if "" in suffixes else max(suffixes, key=lambda x: (len(x), x))
    assert file.name == f"{lessons.names()[number]}{best}.py"
