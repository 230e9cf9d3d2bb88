"""`minispore learn` in a browser: the page stores the folder, and checks run in this process.

A request and its answer are JSON. Both contain the files of the learner's folder, whose names and
contents are those of `minispore learn`.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOBase
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Literal, TypedDict
from zipfile import ZipFile

from minispore._course import CourseError, commands, framework, lessons
from minispore._course.sandbox import MAX_PRINTED, CheckResult
from minispore._course.translation import Language, translate
from minispore._course.verdict import Verdict, judge
from minispore._course.workspace import Workspace, variant_of

FOLDER = "minispore-course"
_LEARNER_FILE = re.compile(r"progress\.json|lesson_\d\d_\w+\.py(\.bak\d*)?")
_MAX_BYTES = 2**20  # of one file in an archive

Files = dict[str, str]


class Request(TypedDict):
    """A request of the page.

    Attributes:
        action: The command of `minispore learn`, or "export" or "import".
        number: The number of the lesson.
        language: The language of the page.
        files: The folder: the text of each file by its name.
        chosen: The files to import, each in base64, by their names.
    """

    action: Literal["start", "reset", "hint", "check", "solution", "run", "export", "import"]
    number: int
    language: Language
    files: Files
    chosen: dict[str, str]


class Answer(TypedDict):
    """The answer to a request.

    Attributes:
        files: The folder after the action.
        text: What the learner reads.
        drawings: The drawings that the learner sees.
        archive: The exported folder as a zip archive in base64, otherwise "".
        error: Whether the action failed.
    """

    files: Files
    text: str
    drawings: list[str]
    archive: str
    error: bool


def answer(request: str, report: Callable[[str], object]) -> str:
    """Return the answer to a request.

    Args:
        request: A `Request` as JSON.
        report: Receives a line after each property that was checked.

    Returns:
        An `Answer` as JSON.
    """
    fields: Request = json.loads(request)
    made: Answer = {
        "files": fields["files"], "text": "", "drawings": [], "archive": "", "error": False
    }  # fmt: skip
    try:
        if fields["action"] == "import":
            made["files"] = read_chosen(
                {name: b64decode(data) for name, data in fields["chosen"].items()}
            )
        elif fields["action"] == "export":
            made["archive"] = b64encode(archive(fields["files"])).decode("ascii")
        else:
            with TemporaryDirectory() as temporary:
                folder = Path(temporary, FOLDER)
                write_files(folder, fields["files"])
                made["text"], made["drawings"] = _act(
                    fields["action"], folder, fields["number"], fields["language"], report
                )
                made["files"] = read_files(folder)
    except CourseError as error:
        made["text"], made["error"] = translate(str(error), fields["language"]), True
    return json.dumps(made)


def _act(
    action: Literal["start", "reset", "hint", "check", "solution", "run"],
    folder: Path,
    number: int,
    language: Language,
    report: Callable[[str], object],
) -> tuple[str, list[str]]:
    """Carry out a command of `minispore learn`; return what the learner reads, and drawings."""

    def translated(line: str) -> None:
        report(translate(line, language))

    def check_and_report(number: int, file: Path) -> CheckResult:
        return check(number, file, translated)

    match action:
        case "start":
            commands.start(folder, number, language=language)
            return "", []
        case "reset":
            commands.reset(folder, number, language)
            return "", []
        case "hint":
            return commands.hint(folder, number, language), []
        case "solution":
            return commands.solution(folder, number), []
        case "run":
            training = framework.run(folder, translated, language=language)
            mistakes = () if training.is_good else commands.mistake(folder, check_and_report)
            lines = [*training.lines, *(translate(mistake, language) for mistake in mistakes)]
            return "\n".join(lines), list(training.drawings.values())
        case "check":
            result = commands.run_check(folder, number, check_and_report)
    verdict = result.verdict
    wrong = commands.UNDECIDED if verdict.undecided else "Not solved yet."
    ending = f"Lesson {number} is solved." if verdict.passed else wrong
    text = translate("\n".join([*verdict.lines, ending]), language)
    if result.printed:
        heading = translate("Your code printed:", language)
        text += f"\n\n{heading}\n{result.printed.rstrip()}"
    return text, []


def check(number: int, work: Path, report: Callable[[str], object]) -> CheckResult:
    """Check a copy of a learner's file in this process.

    The time of each case is limited, but neither the time of the check nor its memory.

    Args:
        number: The number of the lesson.
        work: The file.
        report: Receives a line after each property.
    """

    def report_progress(verdict: Verdict) -> None:
        report(f"{verdict.done} of {verdict.total} properties hold so far.")

    start, printed = perf_counter(), _Tail()
    with TemporaryDirectory() as temporary:
        # Python imports a file with the same path and time of change from its cache.
        copy = Path(temporary, f"{lessons.names()[number]}.py")
        copy.write_bytes(work.read_bytes())
        working_folder = copy.with_name("work")
        working_folder.mkdir()
        with chdir(working_folder), redirect_stdout(printed), redirect_stderr(printed):
            verdict = judge(
                lessons.exercise(number, variant_of(copy)),
                copy,
                report_progress,
                memory="memory than there is",
            )
    return CheckResult(verdict, printed.text, perf_counter() - start)


class _Tail(TextIOBase):
    """The end of what is printed."""

    text = ""

    def write(self, text: str, /) -> int:
        """Keep the end of the text."""
        self.text = (self.text + text)[-MAX_PRINTED:]
        return len(text)


def initial_file(number: int, language: Language = "en") -> tuple[str, str]:
    """Return the name and the text of a lesson's file, as `start` writes it to an empty folder.

    Examples:
        >>> initial_file(1)[0]
        'lesson_01_graph.py'
    """
    with TemporaryDirectory() as temporary:
        file = Workspace(Path(temporary)).start(number, language=language)
        return file.name, file.read_text("utf-8")


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts to a new folder."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_bytes(text.encode("utf-8", "replace"))


def read_files(folder: Path) -> Files:
    """Return the texts of a folder's files."""
    return {file.name: file.read_bytes().decode("utf-8") for file in sorted(folder.iterdir())}


def archive(files: Mapping[str, str]) -> bytes:
    """Return a zip archive with the folder."""
    content = BytesIO()
    with ZipFile(content, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(f"{FOLDER}/{name}", text.encode("utf-8", "replace"))
    return content.getvalue()


def read_chosen(chosen: Mapping[str, bytes]) -> Files:
    """Return the texts of the chosen files, or of those in a chosen archive.

    Raises:
        CourseError: None of them belongs to the folder of `minispore learn`, or one is damaged.
    """
    contents: dict[str, bytes] = {}
    for name, data in chosen.items():
        contents |= _unzip(name, data) if name.endswith(".zip") else {name: data}
    try:
        files = {
            name: data.decode("utf-8")
            for name, data in contents.items()
            if _LEARNER_FILE.fullmatch(name)
        }
    except UnicodeDecodeError:
        raise CourseError("one of the files is no text in UTF-8") from None
    if not files:
        raise CourseError(f"none of the files belongs to the folder {FOLDER}")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, FOLDER)
        write_files(folder, files)
        Workspace(folder).progress(min(lessons.names()))
    return files


def _unzip(name: str, data: bytes) -> dict[str, bytes]:
    """Return the content of each file in an archive, by the last part of its name."""
    try:
        with ZipFile(BytesIO(data)) as zipped:
            members = [member for member in zipped.infolist() if not member.is_dir()]
            if any(member.file_size > _MAX_BYTES for member in members):
                raise CourseError(f"{name} contains a file of more than 1 MB")
            return {PurePosixPath(member.filename).name: zipped.read(member) for member in members}
    except CourseError:
        raise
    except Exception:  # zipfile raises errors of many types
        raise CourseError(f"{name} is damaged or no zip archive") from None
