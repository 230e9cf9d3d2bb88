"""The catalogue of Chinese texts is complete, is used, and leaves no English sentence."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._cli import main
from minispore._course import lessons
from minispore._course.exercise import CodeExercise, TestExercise
from minispore._course.pages import page_text, page_title
from minispore._course.source import load_mutant
from minispore._course.translation import catalogue, columns, fill, fill_holes, translate
from minispore._course.verdict import evaluate_submission
from minispore._course.workspace import exercise_file

ROOT = Path(__file__).parents[2]
SOURCES = ("minispore/_course", "minispore/testing")
NUMBERS = list(lessons.names())
BY_NAME = [pytest.param(number, id=name) for number, name in lessons.names().items()]
each_lesson = pytest.mark.parametrize("number", BY_NAME)

# What is no English text: code in backticks, texts in quotes, what Python says after the name of an
# exception, and words with a letter, digit or sign that words do not have, such as on_train_end.
CODE = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|\w+(?:Error|Warning|Interrupt|Exit)[:：].*|[\w.]*[A-Z_0-9(=.*/][^\s，。：；（]*"
)
ENGLISH = re.compile(r"(?<!\w)[a-z]+(?: [a-z]+)+(?!\w)")


def english_in(text: str, names: frozenset[str] = frozenset()) -> list[str]:
    """Return the runs of two or more lower-case words, of which not all are names."""
    runs = ENGLISH.findall(CODE.sub("~", text))
    return [run for run in runs if not set(run.split()) <= names]


def names_of(exercise: CodeExercise | TestExercise) -> frozenset[str]:
    return frozenset(part for name in exercise.tasks for part in name.split("."))


def texts_of(number: int) -> Iterator[str]:
    """Yield what a lesson consists of, for the learner."""
    lesson = lessons.lesson(number)
    yield lesson.title
    yield from lesson.hint_list()
    exercise = lesson.exercise
    yield from exercise.tasks.values()
    if isinstance(exercise, CodeExercise):
        yield from (law.description for law in exercise.properties)
        yield from (bug.description for bug in exercise.bugs)
        for contract in exercise.contracts:
            yield contract.text
            yield from (law.description for law in contract.properties)
    else:
        yield from (implementation.description for implementation in exercise.wrong)


@each_lesson
def test_each_text_has_a_translation(number: int) -> None:
    names = names_of(lessons.lesson(number).exercise)
    for text in texts_of(number):
        chinese = translate(text, "zh")
        assert re.search(r"[\u4e00-\u9fff]", chinese), text
        assert english_in(chinese, names) == [], text
        assert translate(text, "en") == text


@each_lesson
def test_title_is_that_of_the_page(number: int) -> None:
    assert translate(lessons.lesson(number).title, "zh") == page_title(page_text(number, "zh"))


@each_lesson
@pytest.mark.parametrize("variant", [None, 0, 1])
def test_exercise_file_is_code_with_chinese_texts(number: int, variant: int | None) -> None:
    english = exercise_file(number, variant)
    chinese = exercise_file(number, variant, "zh")
    assert max(map(columns, chinese.splitlines())) <= 100
    head = ast.get_docstring(ast.parse(chinese)) or ""
    assert english_in(re.sub("minispore learn.*zh", "", head)) == []
    assert code(english) == code(chinese)
    assert ("To do" in english) == ("任务：" in chinese)
    for name in lessons.exercise(number, variant).tasks:
        assert chinese.count(name.rpartition(".")[2]) >= 1


def code(text: str) -> str:
    """Return a program without its docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(0)
    return ast.unparse(tree)


BUGS = [
    pytest.param(number, bug, id=f"{number}-{i}", marks=[] if number == 5 else pytest.mark.full)
    for number in NUMBERS
    if isinstance(exercise := lessons.lesson(number).exercise, CodeExercise)
    for i, bug in enumerate(range(len(exercise.bugs)))
]


@pytest.mark.parametrize(("number", "bug"), BUGS)
def test_feedback_on_each_bug_is_chinese(number: int, bug: int) -> None:
    exercise = lessons.lesson(number).exercise
    assert isinstance(exercise, CodeExercise)
    work = load_mutant(exercise.module, exercise.bugs[bug])
    verdict = evaluate_submission(exercise, work, speedup=8)
    for line in verdict.lines:
        chinese = translate(line, "zh")
        assert english_in(chinese, names_of(exercise)) == [], line
        assert re.search(r"[\u4e00-\u9fff]", chinese), line


HOLE = st.text("abcxyz_0123456789", min_size=1, max_size=5) | st.integers().map(str)


@given(st.data())
def test_texts_with_holes_are_translated_whatever_fills_them(data: st.DataObject) -> None:
    templates = sorted(text for text in catalogue() if "{}" in text and len(text) > 30)
    english = data.draw(st.sampled_from(templates))
    parts = [f"<{data.draw(HOLE)}>" for _ in range(english.count("{}"))]
    filled = fill_holes(english, parts)
    assert translate(filled, "zh") == fill_holes(catalogue()[english], parts)


SENTENCES = {
    # The case contains the separators of the sentence, and names that are words.
    "For 2 epochs of 1 batch, after on_train_begin of epoch 1, step 2 your loop emitted the "
    "network, but the end was expected.": "对于 2 个轮次、每个轮次 1 个批次，在第 1 个轮次、"
    "第 2 步的 on_train_begin 之后你的循环发出了网络，但应为结束。",
    "For x = ['a, b of c', 'it gave (1'], your sum gave ['a, but b was exp…, but 1 was "
    "expected.": "对于 x = ['a, b of c', 'it gave (1']，你的 sum 得到 ['a, but b was exp…，"
    "但应为 1。",
    # What Python says stays as it is.
    "For n = 1, your code raised ValueError: size 2 of 3, but 4 was expected (line 3: "
    "`f(`).": "对于 n = 1，你的代码抛出了 ValueError: size 2 of 3, but 4 was expected"
    "（第 3 行：`f(`）。",
    "For n = 1, your code raised MemoryError: the memory limit was exceeded (line 3: `x`).": "对于 "
    "n = 1，你的代码抛出了 MemoryError: 超过了内存上限（第 3 行：`x`）。",
    "Importing the file did not finish within 8 seconds of CPU time (line 2: `f()`).": "导入文件"
    "用了 8 秒 CPU 时间仍未结束（第 2 行：`f()`）。",
    "Not in the catalogue": "Not in the catalogue",
    "A sentence of another author, with an epoch": "A sentence of another author, with an epoch",
}


@pytest.mark.parametrize("english", SENTENCES)
def test_sentences_are_read_as_the_code_wrote_them(english: str) -> None:
    assert translate(english, "zh") == SENTENCES[english]


def test_a_line_that_can_be_read_in_too_many_ways_stays_english() -> None:
    clause = "some of a learner's words and of others with it; at the end, for each"
    english = ", ".join([clause] * 20)
    assert (
        translate(f"The network\n  {english}\nmodules", "zh") == f"The network\n  {english}\n模块"
    )


def test_a_translation_has_the_holes_and_the_code_of_its_text() -> None:
    for english, chinese in catalogue().items():
        holes = re.findall(r"\{(\d?)\}", chinese)
        assert len(holes) == english.count("{}"), english
        assert set(holes) <= {""} or sorted(map(int, holes)) == list(range(len(holes))), english
        assert "{}{}" not in english
        for part in re.findall(r"`([^`]+)`", english):
            assert part in chinese


@cache
def constants() -> list[str]:
    """Return the texts in the sources, with their spaces as in hints."""
    found = list[str]()
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(" ".join(node.value.split()))
    return found


def test_the_catalogue_has_no_text_that_the_sources_lack() -> None:
    text = "\n".join(constants())

    def is_used(words: str, pieces: int) -> bool:
        """Return whether the code can put the words together from so many texts."""
        if not words or words in text:
            return True
        cuts = [i for i in range(len(words)) if words[:i].strip() and words[:i].strip() in text]
        return pieces > 1 and any(is_used(words[i:].strip(), pieces - 1) for i in cuts[-1:])

    for english in catalogue():
        for piece in re.split(r"\{\}|[.,;:?] |\(", english):
            words = piece.strip(" .,:;)`")
            # The code puts short ones together, and makes the plural of nouns.
            pieces = 3 if len(words) < 80 else 1
            assert is_used(words, pieces) or is_used(words[:-2].rstrip("e"), 1), (english, words)


def learn(*arguments: str, folder: Path) -> None:
    main(["learn", *arguments, "--language", "zh", "--folder", str(folder)])


def test_command_line_is_chinese(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A learner's own output, paths and commands stay as they are."""
    for action in ("start", "check", "hint", "reset", "start", "status"):
        learn(action, *(() if action == "status" else ("1",)), folder=tmp_path)
        (tmp_path / "lesson_01_graph.py").write_text("print('some text of mine')\n", "utf-8")
        learn("check", "1", folder=tmp_path)
        out, error = capsys.readouterr()
        text = re.sub(
            rf"{re.escape(str(tmp_path))}\S*|minispore[: ]learn[\w -]*zh|minispore learn: error",
            "~",
            out + error,
        )
        assert "你的代码打印了：\nsome text of mine\n" in text
        assert english_in(text.replace("some text of mine", "")) == []


def test_lists_are_chinese_and_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn", "list", "--language", "zh"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert english_in(" ".join(lines)) == []
    assert len({columns(line.partition("docs/learn/")[0]) for line in lines[1:]}) == 1


PIECES = st.sampled_from(["word", "轮次，", "梯度", "x = 1。", "a_long_name(x)"])


@given(st.lists(PIECES, max_size=60))
def test_fill_keeps_the_text_and_the_width(parts: list[str]) -> None:
    text = " ".join(parts)
    filled = fill(text, 40)
    assert "".join(filled.split()) == "".join(text.split())
    assert all(columns(line) <= 40 for line in filled.splitlines())
    assert not re.search(r"^[，。]", filled, flags=re.MULTILINE)
