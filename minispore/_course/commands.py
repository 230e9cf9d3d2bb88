"""What `minispore learn` does and says, one function for each action."""

import json
from pathlib import Path

from minispore._course import lessons
from minispore._course.checking import check
from minispore._course.exercise import Build
from minispore._course.folder import Folder
from minispore._course.grading import aligned, as_record, as_table, grade


def listed() -> str:
    """The lessons as a table."""
    rows = [["lesson", "title", "minutes", "you write", "page"]]
    for number in lessons.names():
        one = lessons.lesson(number)
        written = "code" if isinstance(one.exercise, Build) else "a check"
        rows.append([str(number), one.title, str(one.minutes), written, lessons.page(number)])
    return aligned(rows)


def started(folder: Path, number: int) -> str:
    """Put an exercise into the folder.

    Raises:
        CourseError: As in `Folder.start`.
    """
    file = Folder(folder).start(number)
    return (
        f"Your exercise: {file}\n"
        f"Read {lessons.page(number)}, write what is missing, then: minispore learn check {number}"
    )


def begun_anew(folder: Path, number: int) -> str:
    """Begin an exercise anew, with the old file kept.

    Raises:
        CourseError: As in `Folder.reset`.
    """
    file, kept = Folder(folder).reset(number)
    return f"Your exercise begins anew: {file}\nWhat you had is now {kept}"


def hint(folder: Path, number: int) -> str:
    """The next hint.

    Raises:
        CourseError: As in `Folder.hint`.
    """
    count, text = Folder(folder).hint(number)
    return f"Hint {count} of {len(lessons.lesson(number).hints)}: {text}"


def checked(folder: Path, number: int) -> tuple[str, bool]:
    """Check a solution; return what to say, and whether it is right.

    Raises:
        CourseError: There is nothing to check, or the record of the progress is damaged.
    """
    mine = Folder(folder)
    file = mine.work(number)
    mine.progress(number)  # a damaged record is told before the work, not after it
    result = check(number, file)
    verdict = result.verdict
    mine.checked(number, passed=verdict.passed)
    parts = [f"Your code printed:\n{text}\n"] if (text := result.printed.rstrip()) else []
    parts += verdict.lines
    if verdict.passed:
        following = next((n for n in lessons.names() if n > number), None)
        more = f" Next: lesson {following}, {lessons.page(following)}" if following else ""
        parts.append(f"Lesson {number} is solved.{more}")
    else:
        parts.append(f"Not solved yet. For a hint: minispore learn hint {number}")
    return "\n".join(parts), verdict.passed


def status(folder: Path) -> str:
    """How far the learner is, as a table.

    Raises:
        CourseError: The record of the progress is damaged.
    """
    mine = Folder(folder)
    rows = [["lesson", "title", "state", "checks", "hints"]]
    for number in lessons.names():
        one, progress = lessons.lesson(number), mine.progress(number)
        if progress.passed:
            state = "solved"
        elif mine.file(number).is_file():
            state = "started"
        else:
            state = "to do"
        hints = f"{progress.hints}/{len(one.hints)}"
        rows.append([str(number), one.title, state, str(progress.checks), hints])
    return aligned(rows)


def graded(folder: Path, *, as_json: bool, jobs: int | None) -> str:
    """Grade what a class has handed in, as a table or as JSON.

    Raises:
        CourseError: As in `grade`.
    """
    grades = grade(folder, jobs=jobs)
    return json.dumps(as_record(grades), indent=2) if as_json else as_table(grades)
