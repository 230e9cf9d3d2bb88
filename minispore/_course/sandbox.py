"""The sandbox: a submission is checked in its own process, with time and memory limits."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from minispore._course.verdict import Verdict
from minispore.utils.atomic import regular

SECONDS = 30.0  # the upper bound for a check
MEGABYTES = 1024  # in addition to the memory in use before the file is imported
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONOPTIMIZE": "",  # the learner's file may use assert
}
_STACK_DUMP_SECONDS = 2.0
_MAX_PRINTED = 2000


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    Attributes:
        verdict: The verdict.
        printed: The output of the learner's code; the end of it if it is long.
        seconds: The duration of the check.
    """

    verdict: Verdict
    printed: str
    seconds: float


def check(
    number: int, work: Path, *, seconds: float = SECONDS, megabytes: int = MEGABYTES
) -> CheckResult:
    """Check a learner's file in a separate process.

    The process has an empty working folder, no standard input, and limits of time and memory. This
    protects against mistakes, not against malicious code.

    Args:
        number: The number of the lesson.
        work: The file.
        seconds: The time limit.
        megabytes: The memory limit.

    Returns:
        The result; it has a verdict also if the process ended without one.
    """
    start = perf_counter()
    with TemporaryDirectory(prefix="minispore-check-", ignore_cleanup_errors=True) as folder:
        answer, output = Path(folder, "answer.json"), Path(folder, "output.txt")
        working_folder = Path(folder, "work")
        working_folder.mkdir()
        stop = max(1.0, seconds - _STACK_DUMP_SECONDS)
        arguments = [number, work.resolve(), answer, stop, megabytes]
        with output.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 (it is Python itself)
                [sys.executable, "-m", "minispore._course.worker", *map(str, arguments)],
                cwd=working_folder,
                env=os.environ | _ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=os.name != "nt",
            )
            timed_out = False
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
            finally:
                _kill(process)
        printed = _text(output)[-_MAX_PRINTED:]
        duration = perf_counter() - start
        verdict = _verdict(answer)
        if verdict is None:
            stack = _stack(answer)
            verdict = (
                _timeout_verdict(stack, work, stop)
                if timed_out or stack
                else _crash_verdict(process.returncode)
            )
        return CheckResult(verdict, printed, duration)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and the processes that it started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _verdict(answer: Path) -> Verdict | None:
    try:
        record: dict[str, Any] = json.loads(_text(answer))
    except (OSError, ValueError):
        return None
    return Verdict(
        passed=bool(record["passed"]),
        lines=tuple(record["lines"]),
        done=record["done"],
        total=record["total"],
        undetected=tuple(record["undetected"]),
    )


def _stack(answer: Path) -> str:
    """Return the stack trace that the process wrote when its time was over, or ""."""
    try:
        return _text(answer.with_suffix(".stack"))
    except OSError:
        return ""


def _text(path: Path) -> str:
    """Return a file's text; the learner's program may have written anything to it."""
    with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
        return file.read()


def _timeout_verdict(stack: str, work: Path, seconds: float) -> Verdict:
    late = f"The check was still running after {seconds:g} seconds"
    frame = re.search(rf'{re.escape(work.name)}", line (\d+) in (\S+)', stack)
    if stack and not frame:
        busy = f"{late}, but not in {work.name}: is this computer busy? Check again."
        return Verdict(False, (busy,))
    where = f" It was in line {frame[1]}, in {frame[2]}." if frame else ""
    return Verdict(False, (f"{late}: is there an infinite loop?{where}",))


def _crash_verdict(status: int) -> Verdict:
    text = f"The process of the check exited with status {status} before it had a result."
    return Verdict(False, (f"{text} Does the file exit the program, or use too much memory?",))
