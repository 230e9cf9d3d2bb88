"""A learner's folder: a file for each started lesson, and the progress file."""

import ast
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from minispore._course import CourseError, lessons
from minispore._course.exercise import CodeExercise
from minispore._course.source import WIDTH, stub
from minispore._course.translation import Language, fill, translate
from minispore._course.variants import renamed
from minispore.train.resume import read_dict_field, read_field
from minispore.utils.atomic import atomic_write, open_regular_file

_FORMAT = 1
_CALLER = "minispore learn"
_EXAMPLES = re.compile(
    r'\n\n +Examples:\n(?:(?!""").)*?(?=\n\n +(?:To do:|任务：))', flags=re.DOTALL
)


@dataclass
class Progress:
    """The progress in one lesson.

    Attributes:
        hints: The number of hints given.
        checks: The number of checks.
        passed: Whether a check has passed.
    """

    hints: int = 0
    checks: int = 0
    passed: bool = False


class Workspace:
    """A learner's folder.

    Args:
        path: The folder; it is created when the first file is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._progress_file = path / "progress.json"

    def file(self, number: int) -> Path:
        """Return the path of a lesson's exercise file.

        Raises:
            CourseError: There is no such lesson.
        """
        lessons.lesson(number)
        return self.path / f"{lessons.names()[number]}.py"

    def start(self, number: int, variant: int | None = None, language: Language = "en") -> Path:
        """Write the file of a lesson's exercise, or of a variant of it.

        Raises:
            CourseError: There is no such lesson, or its file already exists.
        """
        file = self.file(number)
        text = exercise_file(number, variant, language)
        if file.exists():
            raise CourseError(
                f"{file} already exists; to start over: minispore learn reset {number}"
            )
        progress = self._read_progress()
        exercise = lessons.exercise(number, variant)
        earlier = exercise.continues if isinstance(exercise, CodeExercise) else None
        if earlier is not None:
            work = self.file(earlier)
            is_solved = progress.get(earlier, Progress()).passed and work.is_file()
            text += (
                _without_docstring(work) if is_solved else _continuation(earlier, variant, language)
            )
        self.path.mkdir(parents=True, exist_ok=True)
        with atomic_write(file) as out:
            out.write(text.encode())
        return file

    def solution(self, number: int) -> Path:
        """Return the file of a started lesson.

        Raises:
            CourseError: The lesson was not started or does not exist.
        """
        file = self.file(number)
        if not file.is_file():
            raise CourseError(
                f"{file} does not exist; to create it: minispore learn start {number}"
            )
        return file

    def reset(self, number: int, language: Language = "en") -> tuple[Path, Path]:
        """Restart an exercise; return its file and the copy of the old one.

        Raises:
            CourseError: The lesson was not started.
        """
        file = self.solution(number)
        backup, count = file.with_suffix(".py.bak"), 1
        while backup.exists():
            count += 1
            backup = file.with_suffix(f".py.bak{count}")
        seed = variant_of(file)
        file.rename(backup)
        self.start(number, seed, language)
        return file, backup

    def hint(self, number: int) -> tuple[int, str]:
        """Return the number and text of the next hint; after the last one, the last one again.

        Raises:
            CourseError: There is no such lesson.
        """
        hints = lessons.lesson(number).hint_list()
        progress = self._read_progress()
        entry = progress.setdefault(number, Progress())
        entry.hints = min(entry.hints + 1, len(hints))
        self._write_progress(progress)
        return entry.hints, hints[entry.hints - 1]

    def record_check(self, number: int, *, passed: bool) -> None:
        """Count a check."""
        progress = self._read_progress()
        entry = progress.setdefault(number, Progress())
        entry.checks += 1
        entry.passed = entry.passed or passed
        self._write_progress(progress)

    def progress(self, number: int) -> Progress:
        """Return the progress in a lesson.

        Raises:
            CourseError: The progress file is damaged.
        """
        return self._read_progress().get(number, Progress())

    def _write_progress(self, progress: dict[int, Progress]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        listed = {str(number): asdict(progress[number]) for number in sorted(progress)}
        with atomic_write(self._progress_file) as out:
            out.write(json.dumps({"format": _FORMAT, "lessons": listed}, indent=2).encode())

    def _read_progress(self) -> dict[int, Progress]:
        try:
            with open(self._progress_file, encoding="utf-8", opener=open_regular_file) as file:
                return _read(read_dict_field({"file": json.load(file)}, "file", object, _CALLER))
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError):
            raise CourseError(
                f"{self._progress_file} is damaged or not a progress file; "
                "remove it to reset the progress (your solutions stay)"
            ) from None


def _without_docstring(file: Path) -> str:
    """Return the code of a solved exercise, after a blank line."""
    with open(file, encoding="utf-8", opener=open_regular_file) as stream:
        text = stream.read()
    body = ast.parse(text).body
    lines = text.splitlines()
    if ast.get_docstring(ast.parse(text)) is not None:
        lines = lines[body[0].end_lineno :]
    return "\n" + "\n".join(lines).strip("\n") + "\n"


def _continuation(earlier: int, variant: int | None, language: Language) -> str:
    """Return code that continues minispore's solution of an earlier lesson."""
    exercise = lessons.exercise(earlier, variant)
    unsolved = translate("not solved yet", language)
    docstring = translate(f"Continues the solution of lesson {earlier}.", language)
    text = "".join(
        f"\nfrom {exercise.module} import {name} as Lesson{earlier}  # {unsolved}\n\n\n"
        f'class {name}(Lesson{earlier}):\n    """{docstring}"""\n'
        for name in lessons.lesson(earlier).exercise.tasks
    )
    return renamed(text, exercise.names)


def variant_of(file: Path) -> int | None:
    """Return the variant that a file was started for, None for the exercise of the page."""
    with open(file, encoding="utf-8", errors="replace", opener=open_regular_file) as stream:
        match = re.match(
            r'"""(?:Lesson \d+, variant|第 \d+ 课，变体) (\d+)[:：]', stream.readline()
        )
    return int(match[1]) if match else None


def exercise_file(number: int, variant: int | None = None, language: Language = "en") -> str:
    """Return the initial text of an exercise file, without the code that it continues.

    Raises:
        CourseError: There is no such lesson.
    """
    lesson, exercise = lessons.lesson(number), lessons.exercise(number, variant)
    title = f"Lesson {number}" if variant is None else f"Lesson {number}, variant {variant}"
    head = f"""\
{title}: {lesson.title}.

The page of the lesson is {lessons.page(number)}. In this folder's parent,

    minispore learn check {number}    checks your solution
    minispore learn hint {number}     gives a hint, and a further one each time

"""
    head = f'"""{translate(head, language)}'
    # The catalogue has the texts without the names of a variant.
    tasks = {
        name: renamed(translate(task.replace(f"_v{variant}", ""), language), exercise.names)
        for name, task in exercise.tasks.items()
    }
    if isinstance(exercise, CodeExercise) and exercise.from_empty:
        listed = "\n\n".join(fill(f"{name}: {task}", WIDTH) for name, task in tasks.items())
        return f'{head}\n{listed}\n"""\n'
    advice = "Write the missing code; do not change the names and the arguments."
    head += f'\n{translate(advice, language)}\n"""\n'
    old_names = lesson.exercise.tasks
    tasks_of = dict(zip(old_names, tasks.values(), strict=True))
    given = exercise.given if isinstance(exercise, CodeExercise) else ()
    text = stub(exercise.module, tasks_of, "任务：" if language == "zh" else "To do: ", given)
    if isinstance(exercise, CodeExercise) and exercise.contracts and variant is not None:
        # The examples in the docstrings are those of the page's contract.
        text = re.sub(_EXAMPLES, "", text)
    return f"{head}\n{renamed(text, exercise.names)}"


def _read(content: dict[str, object]) -> dict[int, Progress]:
    """Return the progress by lesson.

    Raises:
        ValueError: The content is not that of a progress file.
    """
    if read_field(content, "format", int, _CALLER) != _FORMAT:
        raise ValueError
    listed = cast(
        "dict[str, dict[str, object]]", read_dict_field(content, "lessons", dict, _CALLER)
    )
    progress = {
        int(number): Progress(
            hints=read_field(entry, "hints", int, _CALLER),
            checks=read_field(entry, "checks", int, _CALLER),
            passed=read_field(entry, "passed", bool, _CALLER),
        )
        for number, entry in listed.items()
    }
    if any(entry.hints < 0 or entry.checks < 0 for entry in progress.values()):
        raise ValueError
    return progress
