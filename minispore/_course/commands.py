"""The actions of `minispore learn`, one function for each; they return the text to print."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from minispore._course import CourseError, framework, grading, lessons, sandbox
from minispore._course.effort import effort, with_effort
from minispore._course.exercise import CodeExercise
from minispore._course.grading import align_columns
from minispore._course.notebook import notebook as as_notebook
from minispore._course.pages import page_text, page_title, terminal_text
from minispore._course.reports import as_csv, write_reports
from minispore._course.sandbox import CheckResult
from minispore._course.sheet import sheet as teacher_sheet
from minispore._course.source import lines_of
from minispore._course.translation import Language, translate
from minispore._course.workspace import Workspace, variant_of
from minispore.utils.atomic import atomic_write

UNDECIDED = "Undecided: the check ended before it found a mistake."


def list_lessons(language: Language = "en") -> str:
    """Return a table of the lessons, in their order.

    Raises:
        CourseError: This installation has no pages.
    """
    heads = "lesson", "title", "minutes", "difficulty", "you write", "page"
    rows = [[translate(head, language) for head in heads]]
    for number in [0, *lessons.names()]:
        size, kind = effort(number), ""
        if number:
            is_code = isinstance(lessons.lesson(number).exercise, CodeExercise)
            kind = translate("code" if is_code else "a check", language)
        title = page_title(page_text(number, language))
        page = translate(lessons.page(number), language)
        rows.append([str(number), title, size.minutes, size.difficulty, kind, page])
    return align_columns(rows)


def read(number: int, language: Language) -> str:
    """Return the page of a lesson for a terminal.

    Raises:
        CourseError: See `page_text`.
    """
    text = with_effort(page_text(number, language), number, language)
    return terminal_text(text).rstrip()


def sheet(number: int) -> str:
    """Return the teacher's sheet of a lesson; in a file it has the drawings as images.

    Raises:
        CourseError: See `page_text`.
    """
    return teacher_sheet(number, with_drawings=not sys.stdout.isatty())


def notebook(folder: Path, number: int) -> str:
    """Write the page of a lesson into the folder, as a Jupyter notebook.

    Raises:
        CourseError: See `page_text`, or the file already exists.
    """
    file = folder / f"{Path(lessons.page(number)).stem}.ipynb"
    text = as_notebook(page_text(number))
    if file.exists():
        raise CourseError(f"{file} already exists")
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as out:
        out.write(text.encode())
    return f"The notebook: {file}\nTo open it: jupyter lab {file}"


def start(folder: Path, number: int, variant: int | None = None, language: Language = "en") -> str:
    """Write an exercise, or a variant of it, into the folder.

    Raises:
        CourseError: See `Workspace.start`.
    """
    file = Workspace(folder).start(number, variant, language)
    return translate(
        f"Your exercise: {file}\n"
        f"Read {lessons.page(number)} (or: minispore learn read {number}), write the missing code, "
        f"then run: minispore learn check {number}",
        language,
    )


def reset(folder: Path, number: int, language: Language = "en") -> str:
    """Replace an exercise by its initial version and keep the old file.

    Raises:
        CourseError: See `Workspace.reset`.
    """
    file, previous = Workspace(folder).reset(number, language)
    return translate(f"Exercise reset: {file}\nYour previous version: {previous}", language)


def hint(folder: Path, number: int, language: Language = "en") -> str:
    """Return the next hint.

    Raises:
        CourseError: See `Workspace.hint`.
    """
    count, text = Workspace(folder).hint(number)
    total = len(lessons.lesson(number).hint_list())
    return translate(f"Hint {count} of {total}: {text}", language)


def check(folder: Path, number: int, language: Language = "en") -> tuple[str, bool]:
    """Check a solution; return the report and whether the solution is correct.

    Raises:
        CourseError: The exercise was not started, or the progress file is damaged.
    """
    result = run_check(
        folder, number, lambda n, file: sandbox.check(n, file, variant=variant_of(file))
    )
    verdict = result.verdict
    parts = list(verdict.lines)
    if verdict.passed:
        following = next((n for n in lessons.names() if n > number), None)
        more = f" Next: lesson {following}, {lessons.page(following)}" if following else ""
        parts.append(f"Lesson {number} is solved.{more}")
        parts.append(f"To compare with minispore's source: minispore learn solution {number}")
    elif verdict.undecided:
        parts.append(UNDECIDED)
    else:
        parts.append(f"Not solved yet. For a hint: minispore learn hint {number}")
    report = translate("\n".join(parts), language)
    if printed := result.printed.rstrip():
        report = f"{translate('Your code printed:', language)}\n{printed}\n\n{report}"
    return report, verdict.passed


def run_check(folder: Path, number: int, check: Callable[[int, Path], CheckResult]) -> CheckResult:
    """Check a solution with a function, and count the check.

    Raises:
        CourseError: The exercise was not started, or the progress file is damaged.
    """
    workspace = Workspace(folder)
    file = workspace.solution(number)
    workspace.progress(number)  # report a damaged file before the check, not after it
    result = check(number, file)
    workspace.record_check(number, passed=result.verdict.passed)
    return result


def watch(
    folder: Path, number: int, language: Language = "en", *, interval: float = 0.3
) -> Iterator[str]:
    """Check a solution now and each time its file is saved, until it is correct.

    Args:
        folder: The learner's folder.
        number: The number of the lesson.
        language: The language of the reports.
        interval: The seconds between two looks at the file.

    Yields:
        The report of each check.

    Raises:
        CourseError: As `check`.
    """
    file = Workspace(folder).solution(number)
    passed = False
    while not passed:
        before = file.stat()
        report, passed = check(folder, number, language)
        waiting = translate(f"Waiting for {file} to be saved. Ctrl-C ends it.", language)
        yield report if passed else f"{report}\n{waiting}\n"
        while not passed and _is_same(file, before.st_mtime_ns, before.st_size):
            time.sleep(interval)


def _is_same(file: Path, time_ns: int, size: int) -> bool:
    try:
        now = file.stat()
    except FileNotFoundError:  # an editor replaces it
        return True
    return (now.st_mtime_ns, now.st_size) == (time_ns, size)


def run(
    folder: Path, report: Callable[[str], object], language: Language = "en"
) -> tuple[str, bool]:
    """Train a network with the solved functions, in a process of its own.

    Args:
        folder: The learner's folder.
        report: Receives each line of the run.
        language: The language of the report.

    Returns:
        The end of the report, and whether nothing of the learner's was wrong or slow.

    Raises:
        CourseError: The progress file is damaged.
    """
    framework.solved_files(folder)  # report a damaged file as one line
    process = subprocess.Popen(  # noqa: S603 (it is Python itself)
        [sys.executable, "-m", "minispore._course.framework", str(folder), language],
        env=os.environ | sandbox.ENVIRONMENT | {"PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    assert process.stdout is not None
    with process:
        try:
            for line in process.stdout:
                report(line.rstrip("\n"))
        finally:
            process.kill()
    if process.returncode == 0:
        text = f"The loss curve and 16 predictions are in {folder / framework.OUTPUT}."
        return translate(text, language), True
    return translate("\n".join(mistake(folder, sandbox.check)), language), False


def mistake(folder: Path, check: Callable[[int, Path], CheckResult]) -> list[str]:
    """Return the feedback on the first solution of the framework that fails its check."""
    for number, file in framework.solved_files(folder).items():
        verdict = check(number, file).verdict
        if not verdict.passed:
            return [f"The check of lesson {number}:", *verdict.lines]
    return ["All solutions pass their checks."]


def solution(folder: Path, number: int) -> str:
    """Return minispore's source of what a lesson asks for.

    Raises:
        CourseError: There is no such lesson, or the learner's own solution has not passed, or the
            progress file is damaged.
    """
    exercise = lessons.lesson(number).exercise
    if not Workspace(folder).progress(number).passed:
        raise CourseError(
            f"lesson {number} is not solved yet; for a hint: minispore learn hint {number}"
        )
    return "\n\n".join(lines_of(exercise.module, name)[1] for name in exercise.tasks)


def status(folder: Path, language: Language = "en") -> str:
    """Return a table of the learner's progress, and the next step.

    Raises:
        CourseError: The progress file is damaged.
    """
    workspace = Workspace(folder)
    states = dict[int, str]()
    heads = "lesson", "title", "state", "checks", "hints"
    rows = [[translate(head, language) for head in heads]]
    for number in lessons.names():
        lesson, progress = lessons.lesson(number), workspace.progress(number)
        started = "started" if workspace.file(number).is_file() else "to do"
        state = "solved" if progress.passed else started
        hints = f"{progress.hints}/{len(lesson.hint_list())}"
        title = translate(lesson.title, language)
        rows.append([str(number), title, translate(state, language), str(progress.checks), hints])
        if state != "solved":
            states[number] = state
    begun = [number for number, state in states.items() if state == "started"]
    if begun:
        following = f"Next: minispore learn watch {begun[0]}"
    elif states:
        following = f"Next: minispore learn start {min(states)}"
    else:
        following = "All lessons are solved."
    return f"{align_columns(rows)}\n{translate(following, language)}"


def grade(
    folder: Path,
    report: Callable[[str], object],
    *,
    form: Literal["table", "json", "csv"],
    jobs: int | None,
    variant: int | None = None,
    reports: Path | None = None,
) -> tuple[str, bool]:
    """Grade a class; return the grades in one of three forms, and whether all checks were made.

    Args:
        folder: As in `grading.grade`, like the next two.
        report: Receives lines.
        form: The form of the grades.
        jobs: The number of checks that run at the same time.
        variant: The seed of the variants that were to be solved.
        reports: The folder for the files of `write_reports`.

    Raises:
        CourseError: See `grading.grade`.
    """
    grades, complete = grading.grade(folder, report, jobs=jobs, variant=variant)
    if reports is not None:
        for pair in write_reports(folder, reports, grades):
            alike = f"{pair.one} and {pair.other} are similar: {pair.similarity:.2f}"
            report(f"lesson {pair.lesson}: {alike}")
        report(f"The reports are in {reports}")
    if form == "json":
        return json.dumps(grading.as_record(grades), indent=2), complete
    rows = grading.as_rows(grades)
    if form == "table":
        return align_columns(rows), complete
    return as_csv(rows).rstrip("\n"), complete
