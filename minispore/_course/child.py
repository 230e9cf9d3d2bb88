"""The process in which a learner's file runs: within limits, and with nobody else's data."""

import faulthandler
import json
import sys
from dataclasses import asdict
from pathlib import Path

from minispore._course.errors import CourseError
from minispore._course.judging import Verdict


def main(number: int, work: Path, answer: Path, seconds: float, megabytes: int) -> None:
    """Judge a file, and write the verdict.

    Args:
        number: The lesson.
        work: The learner's file.
        answer: Where to write the verdict, as JSON. Beside it, where the file was when time was up.
        seconds: After how many to stop.
        megabytes: How much memory there is.
    """
    with answer.with_suffix(".stack").open("w", encoding="utf-8") as stack:
        faulthandler.dump_traceback_later(seconds, exit=True, file=stack)
        from hypothesis import settings

        from minispore._course.lessons import lesson
        from minispore._course.loading import load
        from minispore._course.searching import SETTINGS

        exercise = lesson(number).exercise
        _limit_memory(megabytes)
        # For the learner's own use of hypothesis.
        settings.register_profile("course", SETTINGS)
        settings.load_profile("course")
        from minispore._course.judging import judge

        try:
            verdict = judge(exercise, load(work))
        except CourseError as error:
            verdict = Verdict(False, (str(error),))
        except MemoryError:
            verdict = Verdict(False, (f"It wants more memory than {megabytes} MB.",))
        answer.write_text(json.dumps(asdict(verdict)), "utf-8")
        faulthandler.cancel_dump_traceback_later()


def _limit_memory(megabytes: int) -> None:
    """Let this process have so much more memory than it has now, where the system can."""
    try:
        import resource
    except ImportError:  # pragma: no cover (Windows)
        return
    try:
        used = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    except (OSError, ValueError):  # pragma: no cover (systems without /proc)
        return  # some of them have no limit that can be kept either
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + megabytes * 2**20
    if most == resource.RLIM_INFINITY or limit < most:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    _, number, work, answer, seconds, megabytes = sys.argv
    main(int(number), Path(work), Path(answer), float(seconds), int(megabytes))
