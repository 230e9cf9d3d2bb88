"""The worker process in which a learner's file runs, within limits of time and memory."""

import faulthandler
import json
import sys
from dataclasses import asdict
from pathlib import Path

from minispore._course import CourseError
from minispore._course.verdict import Verdict


def main(number: int, work: Path, answer: Path, seconds: float, megabytes: int) -> None:
    """Check a file and write the verdict.

    Args:
        number: The number of the lesson.
        work: The learner's file.
        answer: The JSON file for the verdict; a stack trace goes to the same name with ".stack" if
            the time is over.
        seconds: The time limit.
        megabytes: The memory limit.
    """
    with answer.with_suffix(".stack").open("w", encoding="utf-8") as stack:
        faulthandler.dump_traceback_later(seconds, exit=True, file=stack)
        from hypothesis import settings

        from minispore._course.counterexamples import SETTINGS
        from minispore._course.lessons import lesson

        exercise = lesson(number).exercise
        _limit_memory(megabytes)
        # For the learner's own use of hypothesis.
        settings.register_profile("course", SETTINGS)
        settings.load_profile("course")
        from minispore._course.verdict import evaluate_submission, load

        try:
            verdict = evaluate_submission(exercise, load(work))
        except CourseError as error:
            verdict = Verdict(False, (str(error),))
        except MemoryError:
            verdict = Verdict(False, (f"The solution needs more than {megabytes} MB of memory.",))
        answer.write_text(json.dumps(asdict(verdict)), "utf-8")
        faulthandler.cancel_dump_traceback_later()


def _limit_memory(megabytes: int) -> None:
    """Limit the memory of this process to so much more than it uses now, if the system can."""
    try:
        import resource
    except ImportError:  # pragma: no cover (Windows)
        return
    try:
        used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except (OSError, ValueError):  # pragma: no cover (systems without /proc)
        return  # such systems may not support the limit either
    _, hard_limit = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + megabytes * 2**20
    if hard_limit == resource.RLIM_INFINITY or limit < hard_limit:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    _, number, work, answer, seconds, megabytes = sys.argv
    main(int(number), Path(work), Path(answer), float(seconds), int(megabytes))
