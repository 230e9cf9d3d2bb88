"""A learner's folder: a file for each lesson that was started, and the progress."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from minispore._atomic import regular, replacing
from minispore._course import lessons
from minispore._course.errors import CourseError
from minispore._course.source import stub

_FORMAT = 1


@dataclass
class Progress:
    """What is remembered of one lesson.

    Attributes:
        hints: How many hints were given.
        checks: How often it was checked.
        passed: Whether a check has ever been passed.
    """

    hints: int = 0
    checks: int = 0
    passed: bool = False


class Folder:
    """A learner's folder.

    Args:
        path: The folder; it is made when it is first written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._progress_file = path / "progress.json"

    def file(self, number: int) -> Path:
        """Where the work on a lesson lies.

        Raises:
            CourseError: There is no such lesson.
        """
        lessons.lesson(number)
        return self.path / f"{lessons.names()[number]}.py"

    def start(self, number: int) -> Path:
        """Write the stub of a lesson's exercise.

        Raises:
            CourseError: There is no such lesson, or it was started before.
        """
        file = self.file(number)
        text = exercise_file(number)
        if file.exists():
            raise CourseError(
                f"{file} is there already; 'minispore learn reset {number}' begins it anew"
            )
        self._progress()
        self.path.mkdir(parents=True, exist_ok=True)
        with replacing(file) as out:
            out.write(text.encode())
        return file

    def work(self, number: int) -> Path:
        """The file of a lesson that was started.

        Raises:
            CourseError: It was not, or there is no such lesson.
        """
        file = self.file(number)
        if not file.is_file():
            raise CourseError(f"there is no {file}; 'minispore learn start {number}' makes it")
        return file

    def reset(self, number: int) -> tuple[Path, Path]:
        """Begin an exercise anew; return its file and where the old one is now.

        Raises:
            CourseError: It was never started.
        """
        file = self.work(number)
        kept, count = file.with_suffix(".py.bak"), 1
        while kept.exists():
            count += 1
            kept = file.with_suffix(f".py.bak{count}")
        file.rename(kept)
        self.start(number)
        return file, kept

    def hint(self, number: int) -> tuple[int, str]:
        """The next hint and its number; when there are no more, the last one again.

        Raises:
            CourseError: There is no such lesson.
        """
        hints = lessons.lesson(number).hints
        progress = self._progress()
        mine = progress.setdefault(number, Progress())
        mine.hints = min(mine.hints + 1, len(hints))
        self._keep(progress)
        return mine.hints, hints[mine.hints - 1]

    def checked(self, number: int, *, passed: bool) -> None:
        """Remember a check."""
        progress = self._progress()
        mine = progress.setdefault(number, Progress())
        mine.checks += 1
        mine.passed = mine.passed or passed
        self._keep(progress)

    def progress(self, number: int) -> Progress:
        """What is remembered of a lesson.

        Raises:
            CourseError: The file with the progress is damaged.
        """
        return self._progress().get(number, Progress())

    def _keep(self, progress: dict[int, Progress]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        listed = {str(number): asdict(progress[number]) for number in sorted(progress)}
        with replacing(self._progress_file) as out:
            out.write(json.dumps({"format": _FORMAT, "lessons": listed}, indent=2).encode())

    def _progress(self) -> dict[int, Progress]:
        try:
            with open(self._progress_file, encoding="utf-8", opener=regular) as file:
                return _read(json.load(file))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            raise CourseError(
                f"{self._progress_file} is no record of this course's progress; "
                "remove it, and the counting begins anew (your solutions stay)"
            ) from None


def exercise_file(number: int) -> str:
    """The file with which an exercise begins.

    Raises:
        CourseError: There is no such lesson.
    """
    lesson = lessons.lesson(number)
    head = f'''\
"""Lesson {number}: {lesson.title}.

The page of the lesson is {lessons.page(number)}. In this folder's parent,

    minispore learn check {number}    says whether what you wrote is right
    minispore learn hint {number}     gives a hint, and another one each time

Write what is missing; leave the names and the arguments as they are.
"""
'''
    return f"{head}\n{stub(lesson.exercise.module, lesson.exercise.tasks)}"


def _read(record: object) -> dict[int, Progress]:
    if not isinstance(record, dict):
        raise ValueError
    content = cast("dict[str, object]", record)
    listed = content.get("lessons")
    if content.get("format") != _FORMAT or not isinstance(listed, dict):
        raise ValueError
    return {
        int(number): _read_one(entry) for number, entry in cast("dict[str, object]", listed).items()
    }


def _read_one(record: object) -> Progress:
    if not isinstance(record, dict):
        raise ValueError
    entry = cast("dict[str, object]", record)
    hints, checks, passed = (entry.get(key) for key in ("hints", "checks", "passed"))
    if type(hints) is not int or type(checks) is not int or type(passed) is not bool:
        raise ValueError
    if hints < 0 or checks < 0:
        raise ValueError
    return Progress(hints, checks, passed)
