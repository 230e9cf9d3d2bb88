"""The actions of `minispore learn`, one function for each; they return the text to print."""

import json
from pathlib import Path

from minispore._course import grading, lessons, sandbox
from minispore._course.exercise import CodeExercise
from minispore._course.grading import align_columns
from minispore._course.workspace import Workspace


def list_lessons() -> str:
    """Return a table of the lessons."""
    rows = [["lesson", "title", "minutes", "you write", "page"]]
    for number in lessons.names():
        lesson = lessons.lesson(number)
        kind = "code" if isinstance(lesson.exercise, CodeExercise) else "a check"
        rows.append([str(number), lesson.title, str(lesson.minutes), kind, lessons.page(number)])
    return align_columns(rows)


def start(folder: Path, number: int) -> str:
    """Write an exercise into the folder.

    Raises:
        CourseError: See `Workspace.start`.
    """
    file = Workspace(folder).start(number)
    return (
        f"Your exercise: {file}\n"
        f"Read {lessons.page(number)}, write the missing code, then run: "
        f"minispore learn check {number}"
    )


def reset(folder: Path, number: int) -> str:
    """Replace an exercise by its initial version and keep the old file.

    Raises:
        CourseError: See `Workspace.reset`.
    """
    file, kept = Workspace(folder).reset(number)
    return f"Exercise reset: {file}\nYour previous version: {kept}"


def hint(folder: Path, number: int) -> str:
    """Return the next hint.

    Raises:
        CourseError: See `Workspace.hint`.
    """
    count, text = Workspace(folder).hint(number)
    return f"Hint {count} of {len(lessons.lesson(number).hint_list())}: {text}"


def check(folder: Path, number: int) -> tuple[str, bool]:
    """Check a solution; return the report and whether the solution is correct.

    Raises:
        CourseError: The exercise was not started, or the progress file is damaged.
    """
    workspace = Workspace(folder)
    file = workspace.solution(number)
    workspace.progress(number)  # report a damaged file before the check, not after it
    result = sandbox.check(number, file)
    verdict = result.verdict
    workspace.record_check(number, passed=verdict.passed)
    parts = [f"Your code printed:\n{text}\n"] if (text := result.printed.rstrip()) else []
    parts += verdict.lines
    if verdict.passed:
        following = next((n for n in lessons.names() if n > number), None)
        more = f" Next: lesson {following}, {lessons.page(following)}" if following else ""
        parts.append(f"Lesson {number} is solved.{more}")
    elif verdict.undecided:
        parts.append("Undecided: the check ended before it found a mistake.")
    else:
        parts.append(f"Not solved yet. For a hint: minispore learn hint {number}")
    return "\n".join(parts), verdict.passed


def status(folder: Path) -> str:
    """Return a table of the learner's progress.

    Raises:
        CourseError: The progress file is damaged.
    """
    workspace = Workspace(folder)
    rows = [["lesson", "title", "state", "checks", "hints"]]
    for number in lessons.names():
        lesson, progress = lessons.lesson(number), workspace.progress(number)
        started = "started" if workspace.file(number).is_file() else "to do"
        state = "solved" if progress.passed else started
        hints = f"{progress.hints}/{len(lesson.hint_list())}"
        rows.append([str(number), lesson.title, state, str(progress.checks), hints])
    return align_columns(rows)


def grade(folder: Path, *, as_json: bool, jobs: int | None) -> str:
    """Grade the submissions of a class; return a table or JSON.

    Raises:
        CourseError: See `grading.grade`.
    """
    grades = grading.grade(folder, jobs=jobs)
    if as_json:
        return json.dumps(grading.as_record(grades), indent=2)
    return grading.as_table(grades)
