"""Grading of many submissions: each file is checked in its own process."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event
from typing import TypeAlias

from minispore._course import CourseError, lessons
from minispore._course.sandbox import CheckResult, check
from minispore._course.translation import columns
from minispore._course.verdict import Verdict
from minispore._course.workspace import Workspace

Grades: TypeAlias = Mapping[str, Mapping[int, CheckResult]]

_POLL_SECONDS = 0.2
_STOPPED = "The grading was stopped before this check ended."


def grade(
    folder: Path,
    report: Callable[[str], object],
    *,
    jobs: int | None = None,
    variant: int | None = None,
) -> tuple[Grades, bool]:
    """Check all submissions.

    KeyboardInterrupt ends the running checks; they and those that have not begun are undecided.

    Args:
        folder: Contains one folder for each submission, with the lessons' files in it or in its
            subfolder `minispore-course`.
        report: Receives a line after each check.
        jobs: The number of checks that run at the same time; by default half the number of cores.
        variant: The seed of the variants that were to be solved, None for the page's exercises.

    Returns:
        The results by submission folder and lesson, and whether all checks were made; lessons that
        were not submitted are left out.

    Raises:
        CourseError: It is not a folder, or it contains no folders.
        OSError: It cannot be read.
    """
    if not folder.is_dir():
        raise CourseError(f"{folder} is not a folder")
    names = sorted(
        path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")
    )
    if not names:
        raise CourseError(f"{folder} contains no folders: each submission must be a folder")
    files = [
        (name, number, file)
        for name in names
        for number in lessons.names()
        if (file := submitted_file(folder / name, number)) is not None
    ]
    grades: dict[str, dict[int, CheckResult]] = {name: {} for name in names}
    for name, number, _ in files:
        grades[name][number] = _undecided(_STOPPED)
    stop = Event()
    with ThreadPoolExecutor(jobs or max(1, (os.cpu_count() or 1) // 2)) as pool:
        try:
            futures = {
                pool.submit(_check, folder, file, n, variant, stop): (name, n)
                for name, n, file in files
            }
            pending = set(futures)
            while pending:
                # An interrupt that comes just before the wait begins does not end it.
                done, pending = wait(pending, _POLL_SECONDS, FIRST_COMPLETED)
                for future in done:
                    name, number = futures[future]
                    result = grades[name][number] = future.result()
                    report(
                        f"{name}, lesson {number}: {result_text(result)} ({result.seconds:.1f} s)"
                    )
        except KeyboardInterrupt:
            return grades, False
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # first: no check begins after `stop`
            stop.set()
    return grades, True


def _check(folder: Path, file: Path, number: int, variant: int | None, stop: Event) -> CheckResult:
    # The pool does not know a thread during whose start the interrupt came.
    if stop.is_set():
        return _undecided(_STOPPED)
    if is_linked(folder, file):
        # It may be the teacher's file, whose lines the feedback would quote, or another learner's.
        return _undecided(f"{file.name} is not checked: its path contains a symbolic link.")
    return check(number, file, variant=variant, stop=stop)


def is_linked(folder: Path, file: Path) -> bool:
    """Return whether the path of a submitted file contains a symbolic link."""
    return file.resolve() != folder.resolve() / file.relative_to(folder)


def _undecided(reason: str) -> CheckResult:
    return CheckResult(Verdict(False, (reason,), undecided=True), "", 0.0)


def submitted_file(submission: Path, number: int) -> Path | None:
    """Return the file of a submission for a lesson, None if there is none."""
    for folder in (submission, submission / "minispore-course"):
        file = Workspace(folder).file(number)
        if file.is_file():
            return file
        # Learning platforms rename a file that is submitted again: "lesson_01_graph (1).py".
        again = [path for path in folder.glob(f"{file.stem}*.py") if path.is_file()]
        if again:
            return max(again, key=lambda path: (len(path.name), path.name))
    return None


def as_rows(grades: Grades) -> list[list[str]]:
    """Return a row for each submission, below the names of the columns.

    >>> as_rows({"ada": {}})
    [['submission', 'passed'], ['ada', '0']]
    """
    numbers = sorted({number for results in grades.values() for number in results})
    rows = [["submission", *map(str, numbers), "passed"]]
    for name, results in grades.items():
        cells = [result_text(results.get(number)) for number in numbers]
        rows.append([name, *cells, str(_passed(results))])
    return rows


def _passed(results: Mapping[int, CheckResult]) -> int:
    return sum(result.verdict.passed for result in results.values())


def result_text(result: CheckResult | None) -> str:
    """Return a result as a word or a fraction; "-" without one."""
    if result is None:
        return "-"
    verdict = result.verdict
    if verdict.undecided:
        return "undecided"
    partial = f"{verdict.done}/{verdict.total}" if verdict.total else "no"
    return "passed" if verdict.passed else partial


def as_record(grades: Grades) -> dict[str, object]:
    """Return the grades as a JSON object, with the feedback for each learner."""
    return {
        "submissions": [
            {
                "name": name,
                "passed": _passed(results),
                "lessons": {str(n): _record(result) for n, result in sorted(results.items())},
            }
            for name, results in grades.items()
        ]
    }


def _record(result: CheckResult) -> dict[str, object]:
    verdict = result.verdict
    return {
        "passed": verdict.passed,
        "undecided": verdict.undecided,
        "done": verdict.done,
        "of": verdict.total,
        "feedback": list(verdict.lines),
        "undetected": list(verdict.undetected),
        "seconds": round(result.seconds, 2),
    }


def align_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as lines with aligned columns.

    >>> print(align_columns([["a", "b"], ["longer", "c"]]))
    a       b
    longer  c
    """
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        )
        for row in rows
    )
    return "\n".join(map(str.rstrip, lines))
