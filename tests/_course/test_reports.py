"""Feedback files and gradebooks: they contain the grades, and copies are reported."""

import csv
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given

from minispore._cli import main
from minispore._course import grading, lessons
from minispore._course.reports import as_csv, canvas_rows, moodle_rows, write_reports
from minispore._course.sandbox import CheckResult
from minispore._course.verdict import Verdict
from tests._course.test_grading import grades
from tests._course.test_similarity import INDEPENDENT, shipped


def points(result: CheckResult | None) -> str:
    if result is None or result.verdict.undecided:
        return ""
    verdict = result.verdict
    return "100" if verdict.passed else str(int(100 * verdict.done / (verdict.total or 1)))


@given(grades)
def test_gradebooks_contain_each_percentage(graded: dict[str, dict[int, CheckResult]]) -> None:
    numbers = sorted({number for results in graded.values() for number in results})
    for rows in (moodle_rows(graded, numbers), canvas_rows(graded, numbers)):
        assert list(csv.reader(StringIO(as_csv(rows), newline=""), strict=True)) == rows
        assert len(set(map(len, rows))) == 1
    _, points_possible, *in_canvas = canvas_rows(graded, numbers)
    assert points_possible[0].strip() == "Points Possible"
    learners = csv.DictReader(StringIO(as_csv(moodle_rows(graded, numbers)), newline=""))
    for (name, results), moodle, canvas in zip(graded.items(), learners, in_canvas, strict=True):
        assert moodle["Username"] == canvas[0] == canvas[3] == name
        for column, number in enumerate(numbers, 5):
            result = results.get(number)
            assert moodle[f"Lesson {number}"] == canvas[column] == points(result)
            lines = "\n".join(result.verdict.lines) if result else ""
            assert moodle[f"Lesson {number} feedback"] == lines


def test_copies_are_reported_and_learners_get_their_feedback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"ada": shipped(3), "bob": INDEPENDENT, "eve": shipped(3).replace("added", "n")}
    for name, text in texts.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / f"{lessons.names()[3]}.py").write_text(text, "utf-8")
    (tmp_path / "class" / "zoe").mkdir()
    result = CheckResult(Verdict(False, ("For x, your f gave 1.",), 2, 5), "", 0.0)
    with patch.object(grading, "check", return_value=result):
        out = tmp_path / "out"
        assert main(["learn", "grade", str(tmp_path / "class"), "--reports", str(out)]) == 0
    pairs = list(csv.reader((out / "similarity.csv").read_text("utf-8").splitlines()))
    assert pairs[0] == ["lesson", "one", "other", "similarity"]
    assert {frozenset(row[1:3]) for row in pairs[1:]} == {
        frozenset(["ada", "eve"]), frozenset(["ada", "(minispore)"]),
        frozenset(["eve", "(minispore)"]),
    }  # fmt: skip
    assert {row[3] for row in pairs[1:]} == {"1.00"}
    assert "lesson 3: ada and eve are similar: 1.00" in capsys.readouterr().err
    feedback = {file.stem: file.read_text("utf-8") for file in (out / "feedback").iterdir()}
    text = "Lesson 3: 2/5\nFor x, your f gave 1.\n"
    assert feedback == {**dict.fromkeys(texts, text), "zoe": "\n"}


def test_linked_file_is_not_compared() -> None:
    result = CheckResult(Verdict(True, ()), "", 0.0)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "class")
        for name in ("ada", "bob"):
            (folder / name).mkdir(parents=True)
        name = f"{lessons.names()[3]}.py"
        (folder / "ada" / name).write_text(INDEPENDENT, "utf-8")
        (folder / "bob" / name).symlink_to(folder / "ada" / name)
        graded = {"ada": {3: result}, "bob": {3: result}}
        assert write_reports(folder, folder / "out", graded) == []
