"""The check of a submission in a separate process, with limits of time and memory."""

import json
import os
import select
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course.sandbox import CheckResult, _timeout_verdict, check
from minispore._course.verdict import Verdict
from tests.helpers.lesson_solutions import feedback, shipped_body, solution


def check_in_process(tmp_path: Path, body: str, seconds: float = 30.0) -> str:
    return feedback(check(1, solution(tmp_path, body), seconds=seconds).verdict)


@pytest.mark.slow
def test_correct_solution_passes(tmp_path: Path) -> None:
    result = check(1, solution(tmp_path, shipped_body()))
    assert result.verdict.passed, result
    assert result.printed == ""


@pytest.mark.full
def test_loop_that_catches_all_exceptions_is_killed(tmp_path: Path) -> None:
    # In a function, since Python 3.11 lets an exception at the very jump of a loop out of its try.
    spin = "    def spin():\n        while True: pass\n"
    inner = "        try: spin()\n        except BaseException: pass\n"
    text = check_in_process(tmp_path, f"{spin}    while True:\n{inner}", seconds=6)
    assert "The check was still running after 4 seconds: is there an infinite loop?" in text


def test_timeout_names_line_of_stack_dump() -> None:
    stack = """Timeout (0:00:28)!
Thread 0x00007f (most recent call first):
  File "/usr/lib/python3.11/heapq.py", line 3 in heappush
  File "/home/ada/minispore-course/lesson_01_graph.py", line 42 in backward_pass
  File "/home/ada/minispore-course/lesson_01_graph.py", line 12 in helper
"""
    text = feedback(_timeout_verdict(stack, Path("lesson_01_graph.py"), 28.0))
    assert text.endswith(
        "after 28 seconds: is there an infinite loop? It was in line 42, in backward_pass."
    )


def test_timeout_outside_of_solution_suggests_retry() -> None:
    stack = 'Timeout (0:00:28)!\n  File "/usr/lib/python3.11/heapq.py", line 3 in heappush\n'
    text = feedback(_timeout_verdict(stack, Path("lesson_01_graph.py"), 28.0))
    assert text == (
        "The check was still running after 28 seconds, but not in lesson_01_graph.py: "
        "is this computer busy? Check again."
    )


def check_with(script: str, folder: Path, seconds: float = 30.0, number: int = 3) -> CheckResult:
    """Return the result of a check whose process runs a shell script.

    Its arguments 3 to 7 are the lesson, the file, the file for the verdict, and the two limits.
    """
    executable = folder / "python"
    executable.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    executable.chmod(0o700)
    with patch.object(sys, "executable", str(executable)):
        return check(number, folder / "work.py", seconds=seconds, megabytes=77)


needs_shell = pytest.mark.skipif(os.name == "nt", reason="it needs a shell")
lines = st.lists(st.text(max_size=9), max_size=3).map(tuple)
verdicts = st.builds(
    Verdict, st.booleans(), lines, st.integers(0, 9), st.integers(0, 9), undetected=lines
)


@needs_shell
@given(verdicts, st.text("ab\n", max_size=9), st.sampled_from([0, 1991, 1999, 5000]))
def test_verdict_and_the_end_of_the_output_are_returned(
    verdict: Verdict, printed: str, more: int
) -> None:
    with TemporaryDirectory() as temporary:
        folder, output = Path(temporary), "x" * more + printed
        (folder / "verdict").write_text(json.dumps(asdict(verdict)), "utf-8")
        (folder / "output").write_text(output, "utf-8")
        start = perf_counter()
        result = check_with(f'cd {folder}; cp verdict "$5"; cat output >&2', folder)
        assert result.verdict == verdict
        assert result.printed == output[-2000:]
        assert 0 < result.seconds <= perf_counter() - start


@needs_shell
@given(st.sampled_from([1, 2, 15]), st.floats(20, 90))
def test_process_gets_the_lesson_and_the_limits(number: int, seconds: float) -> None:
    """It has two seconds less, for the stack trace."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        printed = check_with('echo "$3 $4 $6 $7"', folder, seconds, number).printed
    assert printed == f"{number} {folder / 'work.py'} {seconds - 2.0} 77\n"


@needs_shell
def test_process_has_an_empty_folder_no_input_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    monkeypatch.setenv("OF_THE_LEARNER", "kept")
    script = 'ls -A; cat; echo "$PYTHONOPTIMIZE,$PYTHONDONTWRITEBYTECODE,$OF_THE_LEARNER"'
    assert check_with(script, tmp_path).printed == ",1,kept\n"


@needs_shell
@pytest.mark.parametrize("script", ["sleep 60 & exit 3", "sleep 60"])
def test_process_and_its_children_are_killed(tmp_path: Path, script: str) -> None:
    """They close the pipe that they have inherited."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        result = check_with(f"exec 3> {pipe}; echo started >&3; {script}", tmp_path, seconds=3.0)
        poll = select.poll()
        poll.register(reader, select.POLLHUP)
        assert os.read(reader, 9) == b"started\n"
        assert poll.poll(20_000) == [(reader, select.POLLHUP)]
    finally:
        os.close(reader)
    expected = "exited with status 3" if "exit" in script else "still running after 1 seconds"
    assert expected in feedback(result.verdict)


def test_memory_limit_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    result = check(1, solution(tmp_path, "    print('here')\n    return bytearray(2**33)\n"))
    assert "MemoryError: the memory limit was exceeded" in feedback(result.verdict)
    assert "here" in result.printed
