"""A check from outside: a process of its own, with a time limit and a memory limit."""

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
from typing import cast

from minispore._atomic import regular
from minispore._course.judging import Verdict

SECONDS = 30.0  # A check never takes longer.
MEGABYTES = 1024  # beside what Python, numpy and minispore have before the file is loaded
_ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONOPTIMIZE": "",  # The learner's file may use assert.
}
_TO_SAY_WHERE = 2.0
_PRINTED = 2000


@dataclass(frozen=True)
class Checked:
    """What came of a check.

    Attributes:
        verdict: The verdict.
        printed: What the learner's code has printed, its end if that is long.
        seconds: How long it took.
    """

    verdict: Verdict
    printed: str
    seconds: float


def check(
    number: int, work: Path, *, seconds: float = SECONDS, megabytes: int = MEGABYTES
) -> Checked:
    """Judge a learner's file in a process of its own.

    It has an empty folder as the current one, no standard input, and a limit to its time and
    memory. That keeps mistakes from doing harm; it is no wall against somebody who means harm.

    Args:
        number: The lesson, which has an exercise.
        work: The file.
        seconds: How long it may take.
        megabytes: How much memory it may want.

    Returns:
        The verdict, also where the process did not live to give one.
    """
    began = perf_counter()
    with TemporaryDirectory(prefix="minispore-check-", ignore_cleanup_errors=True) as folder:
        answer, output = Path(folder, "answer.json"), Path(folder, "output.txt")
        inside = Path(folder, "work")
        inside.mkdir()
        stop = max(1.0, seconds - _TO_SAY_WHERE)
        arguments = [number, work.resolve(), answer, stop, megabytes]
        with output.open("wb") as file:
            process = subprocess.Popen(  # noqa: S603 (it is Python itself)
                [sys.executable, "-m", "minispore._course.child", *map(str, arguments)],
                cwd=inside,
                env=os.environ | _ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=os.name != "nt",
            )
            late = False
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                late = True
            finally:
                _end(process)
        printed = _text(output)[-_PRINTED:]
        took = perf_counter() - began
        verdict = _verdict(answer)
        if verdict is None:
            stack = _stack(answer)
            verdict = _late(stack, work, stop) if late or stack else _broken_off(process.returncode)
        return Checked(verdict, printed, took)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, with those that it has started itself."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _verdict(answer: Path) -> Verdict | None:
    try:
        found = cast("dict[str, object]", json.loads(_text(answer)))
    except (OSError, ValueError):
        return None
    return Verdict(
        passed=bool(found["passed"]),
        lines=tuple(cast("list[str]", found["lines"])),
        done=cast("int", found["done"]),
        of=cast("int", found["of"]),
        away=tuple(cast("list[str]", found["away"])),
    )


def _stack(answer: Path) -> str:
    """Where the process was when it was stopped."""
    try:
        return _text(answer.with_suffix(".stack"))
    except OSError:
        return ""


def _text(path: Path) -> str:
    """A file's text; the learner's program may have put anything in its place."""
    with open(path, encoding="utf-8", errors="replace", opener=regular) as file:
        return file.read()


def _late(stack: str, work: Path, seconds: float) -> Verdict:
    late = f"It was still running after {seconds:g} seconds"
    place = re.search(rf'{re.escape(work.name)}", line (\d+) in (\S+)', stack)
    if stack and not place:
        busy = f"{late}, and not in {work.name} just then: is this computer busy? Check again."
        return Verdict(False, (busy,))
    where = f" It was in line {place[1]}, in {place[2]}." if place else ""
    return Verdict(False, (f"{late}: is there a loop that never ends?{where}",))


def _broken_off(status: int) -> Verdict:
    text = f"The check ended by itself, with status {status}, before its verdict."
    return Verdict(False, (f"{text} Does the file end the program, or want too much memory?",))
