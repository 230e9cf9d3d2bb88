"""The worker process in which a learner's file runs, within limits of time and memory."""

import faulthandler
import json
import math
import os
import shutil
import signal
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO

from minispore._course.lessons import exercise as exercise_of
from minispore._course.variants import renamed
from minispore._course.verdict import Verdict, judge


def main(
    number: int,
    variant: int | None,
    work: Path,
    seconds: float,
    megabytes: int,
    secret: str,
    results: IO[str],
) -> None:
    """Check a file, and write what is known of the verdict after each property.

    Args:
        number: The number of the lesson.
        variant: The seed of the variant, None for the exercise of the page.
        work: The learner's file.
        seconds: The limit of CPU time; when it is over, a stack trace is written.
        megabytes: The memory limit.
        secret: The beginning of each line with a verdict; the last one is final.
        results: The file for verdicts and the stack trace.
    """

    def report(verdict: Verdict, is_final: bool = False) -> None:
        lines = tuple(renamed(line, exercise.names) for line in verdict.lines)
        verdict = replace(verdict, lines=lines)
        results.write(f"{secret}{json.dumps([is_final, asdict(verdict)])}\n")
        results.flush()

    exercise = exercise_of(number, variant)
    _limit_memory(megabytes)
    _limit_time(seconds, results)
    verdict = judge(exercise, work, report, memory=f"{megabytes} MB of memory")
    report(verdict, is_final=True)


def _limit_time(seconds: float, results: IO[str]) -> None:
    """Let the system end this process after so much more CPU time, with a stack trace."""
    if sys.platform == "win32":  # pragma: no cover
        return
    import resource

    _lower(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds))
    _lower(resource.RLIMIT_CORE, 0)
    faulthandler.register(signal.SIGXCPU, file=results, chain=True)


def _limit_memory(megabytes: int) -> None:
    """Limit the memory of this process to so much more than it uses now, if the system can."""
    if sys.platform == "win32":  # pragma: no cover
        return
    import resource

    try:
        used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except (OSError, ValueError):  # pragma: no cover (systems without /proc)
        return  # such systems may not support the limit either
    _lower(resource.RLIMIT_AS, used + megabytes * 2**20)


def _lower(kind: int, limit: int) -> None:
    """Lower a limit of the system for this process."""
    import resource

    _, hard_limit = resource.getrlimit(kind)
    if hard_limit == resource.RLIM_INFINITY or limit < hard_limit:
        resource.setrlimit(kind, (limit, hard_limit))


def _end_with(parent: int, folder: Path) -> None:
    """Wait until the parent process has closed a pipe or ended; then end, and remove the folder."""
    while os.read(parent, 1):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    if sys.platform == "win32":  # pragma: no cover
        os._exit(1)
    os.killpg(0, signal.SIGKILL)  # with the processes that the learner's file has started


if __name__ == "__main__":
    _, number, variant, work, seconds, megabytes = sys.argv
    seed = int(variant) if variant else None
    secret = sys.stdin.readline().strip()
    # The learner's file has no input; the pipe closes when its parent ends.
    parent = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_end_with, args=(parent, Path(work).parent), daemon=True).start()
    # What the learner's file prints goes to the other pipe.
    with open(os.dup(1), "w", encoding="utf-8") as results:
        os.dup2(2, 1)
        main(int(number), seed, Path(work), float(seconds), int(megabytes), secret, results)
