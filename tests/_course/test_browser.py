"""`minispore learn` in a browser does what it does in a terminal, without a process or a folder."""

import io
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minispore._course import CourseError, browser, commands, lessons, sandbox
from minispore._course.browser import FOLDER, Answer, Files
from minispore._course.exercise import CodeExercise
from minispore._course.sandbox import CheckResult
from minispore._course.source import mutated_text, text_of
from minispore._course.translation import Language, translate
from minispore._course.verdict import Verdict
from minispore._course.workspace import Progress, Workspace, exercise_file

NAMES = lessons.names()
# The first one, one without code, one that continues the one before it, and that one.
numbers = st.sampled_from([1, 4, 9, 10])


def answered(
    action: str,
    number: int,
    files: Files,
    chosen: Mapping[str, bytes] = {},
    language: Language = "en",
) -> Answer:
    encoded = {name: b64encode(data).decode() for name, data in chosen.items()}
    request = {
        "action": action,
        "number": number,
        "language": language,
        "files": files,
        "chosen": encoded,
    }
    made: Answer = json.loads(browser.answer(json.dumps(request), lambda _: None))
    return made


def submissions(number: int) -> list[str]:
    """Return a correct and a wrong solution of a lesson."""
    exercise = lessons.lesson(number).exercise
    wrong = (
        mutated_text(exercise.module, exercise.bugs[0])
        if isinstance(exercise, CodeExercise)
        else exercise_file(number)
    )
    return [text_of(exercise.module), wrong]


@pytest.mark.parametrize(
    "number", [pytest.param(n, id=NAMES[n], marks=[pytest.mark.full] * (n != 3)) for n in NAMES]
)
def test_verdict_and_output_are_those_of_a_process(number: int, tmp_path: Path) -> None:
    file, before = tmp_path / f"{NAMES[number]}.py", str(settings())
    for text, passes in zip(submissions(number), (True, False), strict=True):
        file.write_text(f"{text}\nprint('imported')\n", "utf-8")
        reported = list[str]()
        actual = browser.check(number, file, reported.append)
        expected = sandbox.check(number, file)
        assert actual.verdict == expected.verdict
        assert (actual.printed, actual.verdict.passed) == (expected.printed, passes)
        assert len(reported) in {0, actual.verdict.total}
    assert str(settings()) == before


report_lines = st.just(("first", "second"))
verdicts = st.builds(Verdict, st.booleans(), report_lines) | st.builds(
    Verdict, st.just(False), report_lines, undecided=st.just(True)
)
results = st.builds(CheckResult, verdicts, st.sampled_from(["", "x\ny\n"]), st.just(0.1))
steps = st.one_of(
    st.tuples(st.sampled_from(["start", "reset", "hint", "solution"]), numbers, st.none()),
    st.tuples(st.just("check"), numbers, results),
    st.tuples(st.just("edit"), numbers, st.text(max_size=5)),
)


@given(st.lists(steps, max_size=12))
def test_actions_change_and_say_what_the_commands_do(
    planned: list[tuple[str, int, str | CheckResult | None]],
) -> None:
    files: Files = {}
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, FOLDER)
        folder.mkdir()
        for action, number, more in planned:
            if isinstance(more, str):
                files[f"{NAMES[number]}.py"] = more
                (folder / f"{NAMES[number]}.py").write_bytes(more.encode())
                continue
            with (
                patch.object(browser, "check", return_value=more),
                patch.object(sandbox, "check", return_value=more),
            ):
                made = answered(action, number, files)
                try:
                    done = getattr(commands, action)(folder, number)
                except CourseError as error:
                    done = error
                assert made["error"] == isinstance(done, CourseError)
            if made["error"] or action in {"hint", "solution"}:
                paths = re.compile(rf"\S+{FOLDER}.")
                assert paths.sub("", made["text"]) == paths.sub("", str(done))
            elif isinstance(more, CheckResult):
                wrong = "Undecided: .*" if more.verdict.undecided else "Not solved yet."
                solved = "is solved." if more.verdict.passed else wrong
                printed = f"\n\nYour code printed:\n{more.printed}" if more.printed else ""
                assert re.fullmatch(
                    rf"first\nsecond\n.*{solved}{printed}".rstrip("\n"), made["text"]
                )
            files = made["files"]
            assert files == browser.read_files(folder)


@pytest.mark.parametrize("action", ["start", "hint", "check", "reset"])
def test_actions_are_in_the_language_of_the_page(action: str) -> None:
    files = (
        {f"{NAMES[1]}.py": "print('1 epoch of 2 steps')\n"} if action in {"check", "reset"} else {}
    )
    english = answered(action, 1, files)
    chinese = answered(action, 1, files, language="zh")
    if action == "check":  # the learner's own output is not translated
        english["text"], chinese["text"] = (
            answer["text"].removesuffix("\n1 epoch of 2 steps") for answer in (english, chinese)
        )
    assert chinese["text"] == translate(english["text"], "zh")
    assert (chinese["text"] == english["text"]) == (action in {"start", "reset"})
    if action != "check":
        assert ("任务：" in str(chinese["files"])) == (action != "hint")


def test_errors_are_in_the_language_of_the_page() -> None:
    assert answered("check", 3, {}, language="zh")["text"].endswith(
        "不存在；要创建它：minispore learn start 3 --language zh"
    )


entries = st.builds(Progress, st.integers(0, 9), st.integers(0, 99), st.booleans())
file_names = st.builds(
    "{}.py{}".format,
    st.sampled_from(sorted(NAMES.values())),
    st.sampled_from(["", ".bak", ".bak2"]),
)


@given(
    st.dictionaries(file_names, st.text(), min_size=1),
    st.none() | st.dictionaries(st.sampled_from(sorted(NAMES)), entries),
)
def test_exported_folder_is_one_of_the_terminal_and_imports_unchanged(
    files: Files, progress: dict[int, Progress] | None
) -> None:
    if progress is not None:
        listed = {str(number): vars(entry) for number, entry in progress.items()}
        files = files | {"progress.json": json.dumps({"format": 1, "lessons": listed})}
    archive = b64decode(answered("export", 1, files)["archive"])
    with TemporaryDirectory() as temporary:
        ZipFile(io.BytesIO(archive)).extractall(temporary)
        folder = Path(temporary, FOLDER)
        assert browser.read_files(folder) == files
        for number in NAMES:
            expected = (progress or {}).get(number, Progress())
            assert Workspace(folder).progress(number) == expected
        listed_files = {file.name: file.read_bytes() for file in folder.iterdir()}
    others = {"notes.txt": b"\xff", "lesson_01_graph.pyc": b"\xff"}
    for chosen in ({"any name.zip": archive}, listed_files | others):
        made = answered("import", 1, {"lesson_02_rules.py": "replaced"}, chosen)
        assert (made["files"], made["text"]) == (files, "")


def zipped(name: str, text: bytes) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as made:
        made.writestr(name, text)
    return content.getvalue()


@given(st.data(), st.binary(min_size=1, max_size=1))
def test_damaged_archive_is_imported_or_reported(data: st.DataObject, byte: bytes) -> None:
    archive = zipped("lesson_01_graph.py", b"x = 1\n" * 9)
    position = data.draw(st.integers(0, len(archive) - 1))
    damaged = archive[:position] + byte + archive[position + 1 :]
    made = answered("import", 1, {}, {"mine.zip": damaged})
    assert made["error"] != bool(made["files"])


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("mine.zip", b"", "mine.zip is damaged or no zip archive"),
        ("mine.zip", zipped("lesson_01_graph.py", bytes(2**20 + 1)), "more than 1 MB"),
        ("mine.zip", zipped("lesson_01_graph.py/", b""), "none of the files belongs to"),
        ("notes.txt", b"", "none of the files belongs to the folder minispore-course"),
        ("lesson_01_graph.py", b"\xff", "no text in UTF-8"),
        ("progress.json", b"{", "progress.json is damaged"),
    ],
)
def test_other_files_are_not_imported(name: str, data: bytes, message: str) -> None:
    stored = {"lesson_01_graph.py": "mine"}
    made = answered("import", 1, stored, {name: data})
    assert message in made["text"]
    assert (made["error"], made["files"]) == (True, stored)


@given(st.lists(st.sampled_from(["", "a", "bc\n"]).map(lambda text: text * 700)))
def test_only_the_end_of_the_output_is_kept(texts: list[str]) -> None:
    tail = browser._Tail()
    assert [tail.write(text) for text in texts] == [len(text) for text in texts]
    assert tail.text == "".join(texts)[-sandbox.MAX_PRINTED :]


@pytest.mark.parametrize("number", NAMES)
def test_initial_file_is_that_of_an_empty_folder(number: int, tmp_path: Path) -> None:
    name, text = browser.initial_file(number)
    commands.start(tmp_path, number)
    assert browser.read_files(tmp_path) == {name: text}
