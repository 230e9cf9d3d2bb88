"""Many submissions at once: each file in its own process, and a table of what came of it."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

from minispore._course import lessons
from minispore._course.checking import Checked, check
from minispore._course.errors import CourseError
from minispore._course.folder import Folder

Grades: TypeAlias = Mapping[str, Mapping[int, Checked]]


def grade(folder: Path, *, jobs: int | None = None) -> Grades:
    """Check all that was handed in.

    Args:
        folder: It has one folder for each submission, in which, or in whose `minispore-course`,
            lie the files of the lessons.
        jobs: How many checks run at the same time; by default half as many as there are cores.

    Returns:
        By the names of the submissions' folders, then by lessons; what was not handed in is
        left out.

    Raises:
        CourseError: It is no folder, or there are no folders in it.
        OSError: It cannot be read.
    """
    if not folder.is_dir():
        raise CourseError(f"{folder} is no folder")
    names = sorted(
        each.name for each in folder.iterdir() if each.is_dir() and not each.name.startswith(".")
    )
    if not names:
        raise CourseError(f"{folder} has no folders in it: each submission is a folder")
    wanted = [
        (name, number, file)
        for name in names
        for number in lessons.names()
        if (file := _handed_in(folder / name, number)) is not None
    ]
    with ThreadPoolExecutor(jobs or max(1, (os.cpu_count() or 1) // 2)) as pool:
        running = [pool.submit(check, number, file) for _, number, file in wanted]
        results = [each.result() for each in running]
    grades: dict[str, dict[int, Checked]] = {name: {} for name in names}
    for (name, number, _), result in zip(wanted, results, strict=True):
        grades[name][number] = result
    return grades


def _handed_in(submission: Path, number: int) -> Path | None:
    for folder in (submission, submission / "minispore-course"):
        file = Folder(folder).file(number)
        if file.is_file():
            return file
    return None


def as_table(grades: Grades) -> str:
    """A line for each submission: what is passed, in part or not, and how many.

    >>> print(as_table({"ada": {}}))
    submission  passed
    ada         0
    """
    numbers = sorted({number for one in grades.values() for number in one})
    rows = [["submission", *map(str, numbers), "passed"]]
    for name, one in grades.items():
        cells = [_cell(one.get(number)) for number in numbers]
        rows.append([name, *cells, str(sum(each.verdict.passed for each in one.values()))])
    return aligned(rows)


def _cell(checked: Checked | None) -> str:
    if checked is None:
        return "-"
    verdict = checked.verdict
    return "passed" if verdict.passed else f"{verdict.done}/{verdict.of}" if verdict.of else "no"


def as_record(grades: Grades) -> dict[str, object]:
    """The same for JSON, with what each learner would have been told."""
    return {
        "submissions": [
            {
                "name": name,
                "passed": sum(each.verdict.passed for each in one.values()),
                "lessons": {str(number): _record(each) for number, each in sorted(one.items())},
            }
            for name, one in grades.items()
        ]
    }


def _record(checked: Checked) -> dict[str, object]:
    verdict = checked.verdict
    return {
        "passed": verdict.passed,
        "done": verdict.done,
        "of": verdict.of,
        "told": list(verdict.lines),
        "got_away": list(verdict.away),
        "seconds": round(checked.seconds, 2),
    }


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines, with their cells below one another.

    >>> print(aligned([["a", "b"], ["longer", "c"]]))
    a       b
    longer  c
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)
