"""What comes of a learner's file: in a process of its own, within limits, in plain words."""

import json
import re
import signal
import sys
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import hypothesis
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from minispore._cli import main
from minispore._course import child, judging, searching
from minispore._course.checking import Checked, _late, check
from minispore._course.errors import CourseError
from minispore._course.exercise import Build, Property
from minispore._course.folder import exercise_file
from minispore._course.grading import as_table
from minispore._course.judging import Verdict, judge
from minispore._course.lessons import lesson
from minispore._course.loading import load
from minispore._course.source import lines_of, mutated
from minispore._course.words import Wrong

BODY = "    raise NotImplementedError\n"


def solution(tmp_path: Path, body: str) -> Path:
    """A file for lesson 1 with this body of the walk."""
    text = exercise_file(1)
    assert text.endswith(BODY)
    file = tmp_path / "lesson_01_graph.py"
    file.write_text(text.removesuffix(BODY) + body, "utf-8")
    return file


def shipped_body() -> str:
    _, text = lines_of("minispore._autograd.graph", "walk")
    return text.partition('was reached.\n    """\n')[2] + "\n"


def shipped(rule: str) -> str:
    _, text = lines_of("minispore._rules.elementwise", rule)
    return text.split('"""', 2)[2].removeprefix("\n") + "\n"


def told(verdict: Verdict) -> str:
    assert not verdict.passed
    text = "\n".join(verdict.lines)
    assert "Traceback" not in text
    assert "hypothesis" not in text
    return text


def exercise() -> Build | Property:
    return lesson(1).exercise


def judged(tmp_path: Path, body: str) -> str:
    """What is said of a body, without a process."""
    return told(judge(exercise(), load(solution(tmp_path, body))))


def checked(tmp_path: Path, body: str, seconds: float = 30.0) -> str:
    return told(check(1, solution(tmp_path, body), seconds=seconds).verdict)


def test_a_wrong_result_is_told_by_the_smallest_graph(tmp_path: Path) -> None:
    body = shipped_body().replace("add(pending[number][1], share)", "share")
    assert judged(tmp_path, body).startswith(
        "For the input n0; n1 = 1·n0 + 1·n0, from the gradients 1 at n1 to n0, your walk gave "
        "{'n0': 1}, but {'n0': 2} was expected."
    )


def test_an_exception_is_told_with_its_line(tmp_path: Path) -> None:
    text = judged(tmp_path, "    return 1 / 0\n")
    assert "your code raised ZeroDivisionError: division by zero (line 4" in text
    assert "`return 1 / 0`" in text


def test_a_loop_without_an_end_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "CASE_SECONDS", 0.1)
    text = judged(tmp_path, "    while True:\n        pass\n")
    assert "had not finished after 0.1 seconds of computing (line 4" in text


def test_code_that_does_not_do_the_same_twice_is_told(tmp_path: Path) -> None:
    text = judged(tmp_path, "    import random\n    return {random.random(): 1}\n")
    assert text.startswith("For ")
    calls: list[int] = []

    def fails_once(number: int) -> None:
        calls.append(number)
        assert len(calls) > 1

    told = searching.smallest(st.integers(), fails_once)
    assert told is not None
    assert "your code did not do the same when it was asked again" in told


def test_cases_that_a_law_does_not_speak_of_are_left_out() -> None:
    def speaks_of_few(number: int) -> None:
        assume(number > 6)
        raise Wrong("it is wrong")

    assert searching.smallest(st.integers(), speaks_of_few) == "For 7, it is wrong."


def test_where_the_system_has_no_such_clock_a_case_may_take_any_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(signal, "setitimer", raising=False)
    with searching.time_limit(0.0):
        assert sum(range(100_000)) > 0


def test_a_function_that_is_gone_is_told(tmp_path: Path) -> None:
    file = tmp_path / "lesson_01_graph.py"
    file.write_text("x = 1\n", "utf-8")
    assert told(judge(exercise(), load(file))) == "The file defines no walk any more."


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def walk(:\n", "Line 1 is no Python: "),
        ("import nowhere\n", "it raised ModuleNotFoundError: No module named 'nowhere' (line 1"),
        ("raise SystemExit\n", "it raised SystemExit (line 1"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_told_with_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "lesson_01_graph.py"
    file.write_text(text, "utf-8")
    with pytest.raises(CourseError, match=re.escape(words)):
        load(file)


# In a process of its own.


@pytest.mark.slow
def test_a_right_solution_passes(tmp_path: Path) -> None:
    result = check(1, solution(tmp_path, shipped_body()))
    assert result.verdict.passed, result
    assert result.printed == ""


def test_the_learners_assert_counts_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    result = check(1, solution(tmp_path, '    assert False, "this line"\n'))
    assert "this line" in told(result.verdict)


def test_a_loop_that_lets_nothing_through_ends_too(tmp_path: Path) -> None:
    # In a function, since Python 3.11 lets an exception at the very jump of a loop out of its try.
    spin = "    def spin():\n        while True: pass\n"
    inner = "        try: spin()\n        except BaseException: pass\n"
    text = checked(tmp_path, f"{spin}    while True:\n{inner}", seconds=6)
    assert "It was still running after 4 seconds: is there a loop that never ends?" in text


def test_where_it_was_is_read_from_the_interpreters_last_words() -> None:
    stack = """Timeout (0:00:28)!
Thread 0x00007f (most recent call first):
  File "/usr/lib/python3.11/heapq.py", line 3 in heappush
  File "/home/ada/minispore-course/lesson_01_graph.py", line 42 in walk
  File "/home/ada/minispore-course/lesson_01_graph.py", line 12 in helper
"""
    text = told(_late(stack, Path("lesson_01_graph.py"), 28.0))
    assert text.endswith(
        "after 28 seconds: is there a loop that never ends? It was in line 42, in walk."
    )


def test_a_check_that_is_late_elsewhere_is_not_the_learners_fault() -> None:
    stack = 'Timeout (0:00:28)!\n  File "/usr/lib/python3.11/heapq.py", line 3 in heappush\n'
    text = told(_late(stack, Path("lesson_01_graph.py"), 28.0))
    assert text == (
        "It was still running after 28 seconds, and not in lesson_01_graph.py just then: "
        "is this computer busy? Check again."
    )


def test_a_process_that_cannot_be_told_to_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaf = tmp_path / "python"
    deaf.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    deaf.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(deaf))
    assert "It was still running after 1 seconds" in checked(tmp_path, BODY, seconds=0.1)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (CourseError("In its own words."), "In its own words."),
        (MemoryError(), "more memory than 7"),
    ],
)
def test_what_keeps_a_judge_from_judging_is_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def judge(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(judging, "judge", judge)
    monkeypatch.setattr(child, "_limit_memory", lambda _: None)
    monkeypatch.setattr(hypothesis, "settings", Mock())  # these tests keep their profile
    answer = tmp_path / "answer.json"
    child.main(1, solution(tmp_path, BODY), answer, 60.0, 7)
    assert words in json.loads(answer.read_text("utf-8"))["lines"][0]


@pytest.mark.parametrize(("most", "count"), [(-1, 1), (2**60, 1), (2**20, 0)])
def test_memory_is_limited_where_the_system_does_not_limit_it_more(
    most: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    resource = pytest.importorskip("resource")
    assert resource.RLIM_INFINITY == -1
    limits: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: limits.append(limit))
    child._limit_memory(7)
    assert len(limits) == count
    assert all(soft == hard > 7 * 2**20 for soft, hard in limits)


def test_a_process_that_ends_itself_has_no_verdict(tmp_path: Path) -> None:
    body = "    import os\n    os._exit(0)\n"
    assert "with status 0, before its verdict" in checked(tmp_path, body)


def test_memory_has_an_end(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    result = check(1, solution(tmp_path, "    print('here')\n    return bytearray(2**33)\n"))
    assert "MemoryError: it wants more memory than it may have" in told(result.verdict)
    assert "here" in result.printed


# A class.


def submissions(folder: Path) -> Path:
    for name, body in (("bob", BODY), ("eve", "    import os\n    os._exit(3)\n")):
        (folder / name).mkdir(parents=True)
        solution(folder / name, body)
    (folder / "zoe").mkdir()
    return folder


def test_many_are_graded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = submissions(tmp_path / "class")
    assert main(["learn", "grade", str(folder), "--json", "--jobs", "2"]) == 0
    record = json.loads(capsys.readouterr().out)
    bob, eve, zoe = record["submissions"]
    assert [bob["name"], eve["name"], zoe["name"]] == ["bob", "eve", "zoe"]
    assert bob["passed"] == 0
    assert bob["lessons"]["1"]["told"][0].startswith("Not written yet")
    assert (bob["lessons"]["1"]["done"], bob["lessons"]["1"]["of"]) == (0, 6)
    assert "status 3" in eve["lessons"]["1"]["told"][0]
    assert zoe["lessons"] == {}


def test_a_table_has_a_line_for_each_submission() -> None:
    right = Checked(Verdict(True, (), 6, 6), "", 1.0)
    partly = Checked(Verdict(False, (), 2, 6), "", 1.0)
    ended = Checked(Verdict(False, ()), "", 1.0)
    grades = {"ada": {1: right, 4: right}, "bob": {1: partly}, "eve": {4: ended}, "zoe": {}}
    assert as_table(grades).splitlines() == [
        "submission  1       4       passed",
        "ada         passed  passed  2",
        "bob         2/6     -       0",
        "eve         -       no      0",
        "zoe         -       -       0",
    ]


def test_a_folder_without_submissions_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", "grade", str(tmp_path)]) == 2
    assert "each submission is a folder" in capsys.readouterr().err
    assert main(["learn", "grade", str(tmp_path / "none")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_a_mutant_leaves_the_module_alone() -> None:
    from minispore._autograd import graph
    from minispore._course.source import Bug

    made = mutated("minispore._autograd.graph", Bug("", "walk", "heapify(heap)", "heap.sort()"))
    assert made.walk is not graph.walk
    with pytest.raises(ValueError, match="0 times"):
        mutated("minispore._autograd.graph", Bug("", "walk", "quicksort", ""))


def test_what_is_written_is_checked_while_the_rest_is_not(tmp_path: Path) -> None:
    """Of an exercise of several functions the one that is missing is named, after the mistakes."""
    text = exercise_file(2)
    first = text.index(BODY)
    for body, wanted in (
        ("    value = namespace(x).tanh(x)\n    return value, (lambda g: g,)\n", "For tanh at"),
        (shipped("tanh"), "Not written yet: sigmoid raises NotImplementedError."),
    ):
        file = tmp_path / "lesson_02_rules.py"
        file.write_text(text[:first] + body + text[first + len(BODY) :], "utf-8")
        assert told(judge(lesson(2).exercise, load(file))).startswith(wanted)
