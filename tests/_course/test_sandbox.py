"""The check of a submission in a separate process, with limits of time and memory."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course import lessons
from minispore._course.sandbox import CheckResult, check
from minispore._course.verdict import Verdict
from tests.helpers.lesson_solutions import feedback, shipped_body, solution
from tests.helpers.waiting import wait_until


def check_in_process(
    tmp_path: Path, body: str, *, cpu_seconds: float = 30.0, seconds: float = 60.0
) -> str:
    file = solution(tmp_path, body)
    verdict = check(1, file, cpu_seconds=cpu_seconds, seconds=seconds).verdict
    assert verdict.undecided
    return feedback(verdict)


@pytest.mark.slow
def test_correct_solution_passes(tmp_path: Path) -> None:
    result = check(1, solution(tmp_path, shipped_body()))
    assert result.verdict.passed, result
    assert result.printed == ""


# In a function, since Python 3.11 lets an exception at the very jump of a loop out of its try.
CATCH_ALL = """    def spin():
        while True: {body}
    while True:
        try: spin()
        except BaseException: pass
"""


@pytest.mark.full
@pytest.mark.skipif(os.name == "nt", reason="it needs a limit of CPU time")
@pytest.mark.parametrize("body", ["pass", "print('x' * 1000)"])
def test_loop_that_catches_all_exceptions_is_killed(tmp_path: Path, body: str) -> None:
    text = check_in_process(tmp_path, CATCH_ALL.format(body=body), cpu_seconds=1)
    message = r"The check has used 1 seconds of CPU time in line \d+, in spin: is there an infinite"
    assert re.match(message, text)


@pytest.mark.full
def test_waiting_program_is_stopped_with_its_line(tmp_path: Path) -> None:
    body = "    import time\n    time.sleep(100)\n"
    text = check_in_process(tmp_path, body, seconds=5)
    assert re.match(r"The check was stopped after 5 seconds in line \d+, in backward_pass\.", text)


def check_with(script: str, folder: Path, seconds: float = 30.0, number: int = 3) -> CheckResult:
    """Return the result of a check whose process runs a shell script.

    Its arguments 3 to 6 are the lesson, the copy of the file, and two limits; its input is the
    secret.
    """
    (folder / "work.py").write_text("of the learner", "utf-8")
    executable = folder / "python"
    executable.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    executable.chmod(0o700)
    with patch.object(sys, "executable", str(executable)):
        return check(number, folder / "work.py", cpu_seconds=9, seconds=seconds, megabytes=77)


needs_shell = pytest.mark.skipif(os.name == "nt", reason="it needs a shell")
lines = st.lists(st.text(max_size=9), max_size=3).map(tuple)
counts = st.integers(0, 9)
verdicts = st.builds(Verdict, st.booleans(), lines, counts, counts, lines, st.booleans())


@needs_shell
@given(
    st.lists(verdicts, min_size=1), st.text("ab\n", max_size=9), st.sampled_from([0, 1999, 90_000])
)
def test_last_verdict_and_the_end_of_the_output_are_returned(
    reported: list[Verdict], printed: str, more: int
) -> None:
    with TemporaryDirectory() as temporary:
        folder, output = Path(temporary), "x" * more + printed
        texts = [json.dumps([verdict is reported[-1], asdict(verdict)]) for verdict in reported]
        (folder / "verdicts").write_text("\n".join([*texts, ""]), "utf-8")
        (folder / "output").write_text(output, "utf-8")
        start = perf_counter()
        script = 'read secret; cat output >&2; sed "s/^/$secret/" verdicts'
        result = check_with(f"cd {folder}; {script}", folder)
        assert result.verdict == reported[-1]
        assert result.printed == output[-2000:]
        assert 0 < result.seconds <= perf_counter() - start


@needs_shell
@given(st.none() | counts, st.integers(0, 99), st.sampled_from(["", "[true, {}]", "{}"]))
def test_process_without_a_final_verdict_is_undecided(
    done: int | None, status: int, forged: str
) -> None:
    """What was known before it ended is kept; a line without the secret is no verdict."""
    known = Verdict(False, ("known",), done or 0, 9, undecided=True)
    text = json.dumps([False, asdict(known)])
    with TemporaryDirectory() as temporary:
        report = f"echo \"$secret\"'{text}';" if done is not None else ""
        script = f"read secret; {report} echo '{forged}'; exit {status}"
        actual = check_with(script, Path(temporary)).verdict
    assert f"ended with status {status} before it had a result" in feedback(actual)
    expected = Verdict(False, (), undecided=True) if done is None else known
    assert replace(actual, lines=actual.lines[1:]) == expected


@needs_shell
@given(st.sampled_from([1, 2, 15]))
def test_process_gets_the_lesson_a_copy_and_the_limits(number: int) -> None:
    with TemporaryDirectory() as temporary:
        script = 'echo "$3 [$4] $6 $7 $(basename "$5") $(dirname "$5")" >&2; cat "$5" >&2'
        printed = check_with(script, Path(temporary), number=number).printed
    assert printed.startswith(f"{number} [] 9 77 {lessons.names()[number]}.py ")
    assert printed.endswith("\nof the learner")
    assert temporary not in printed


@needs_shell
def test_process_has_an_empty_folder_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    monkeypatch.setenv("OF_THE_LEARNER", "kept")
    script = "exec >&2; ls -A; read secret; "
    script += 'echo "$PYTHONOPTIMIZE,$PYTHONDONTWRITEBYTECODE,$OF_THE_LEARNER"'
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
    expected = "ended with status 3" if "exit" in script else "was stopped after 3 seconds"
    assert expected in feedback(result.verdict)


GRANDCHILD = """import os, subprocess, time
assert os.read(0, 1) == b""  # no input
child = subprocess.Popen(["sleep", "99"], stdout=2)
os.rename(os.getcwd(), os.path.abspath("../working"))  # now it works
time.sleep(99)
"""


@needs_shell
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, None])
def test_processes_end_with_the_one_that_checks(how: signal.Signals | None, tmp_path: Path) -> None:
    """However that ends, or with `stop`; neither they nor the folder of the check stay."""
    file = tmp_path / f"{lessons.names()[1]}.py"
    file.write_text(GRANDCHILD, "utf-8")
    folder = tmp_path / "temporary"
    folder.mkdir()
    program = f"""
import threading
from pathlib import Path
from minispore._course.sandbox import check
stop = threading.Event()
threading.Thread(target=lambda: input() or stop.set(), daemon=True).start()
check(1, Path({str(file)!r}), stop=stop)
"""
    checking = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: any(folder.glob("*/working")))
        if how is None:
            checking.communicate(b"\n")
        else:
            checking.send_signal(how)
        checking.wait(20)
        wait_until(lambda: not list(folder.iterdir()) and not processes_with(folder))
    finally:
        checking.kill()
        checking.communicate()


def processes_with(folder: Path) -> list[Path]:
    """Return the processes whose environment contains a folder, on Linux."""
    found: list[Path] = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if bytes(folder) in file.read_bytes():
                found.append(file)
    return found


def test_unreadable_file_is_undecided(tmp_path: Path) -> None:
    verdict = check(1, tmp_path / "missing.py").verdict
    assert verdict.undecided
    assert feedback(verdict) == "missing.py cannot be read: No such file or directory."


def test_memory_limit_is_reported(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    result = check(1, solution(tmp_path, "    print('here')\n    return bytearray(2**33)\n"))
    assert result.verdict.undecided
    assert "MemoryError: the memory limit was exceeded" in feedback(result.verdict)
    assert "here" in result.printed
