"""Each lesson: its solution passes, its stub does not, its bugs are found, its page is there."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from minispore._course import lessons
from minispore._course.exercise import Build, Lesson, Property
from minispore._course.folder import exercise_file
from minispore._course.judging import judge
from minispore._course.source import lines_of, mutated, text_of

ROOT = Path(__file__).parents[2]
NUMBERS = list(lessons.names())
BY_NAME = [pytest.param(number, id=name) for number, name in lessons.names().items()]
each_lesson = pytest.mark.parametrize("number", BY_NAME)


def exercise_of(number: int) -> Build | Property:
    return lessons.lesson(number).exercise


def stub_of(number: int) -> ModuleType:
    module = ModuleType(f"stub_{number}")
    exec(compile(exercise_file(number), f"<stub {number}>", "exec"), module.__dict__)
    return module


@each_lesson
def test_the_shipped_source_is_a_solution(number: int) -> None:
    exercise = exercise_of(number)
    verdict = judge(exercise, import_module(exercise.module), share=8)
    assert verdict.passed, "\n".join(verdict.lines)
    assert verdict.done == verdict.of > 0


@pytest.mark.slow
@each_lesson
def test_the_shipped_source_is_a_solution_in_every_case(number: int) -> None:
    exercise = exercise_of(number)
    verdict = judge(exercise, import_module(exercise.module))
    assert verdict.passed, "\n".join(verdict.lines)


@each_lesson
def test_the_stub_is_no_solution(number: int) -> None:
    verdict = judge(exercise_of(number), stub_of(number), share=4)
    assert not verdict.passed
    assert verdict.done == 0
    assert verdict.lines[0].startswith("Not written yet")


@each_lesson
def test_a_stub_keeps_the_types_and_has_no_solution(number: int) -> None:
    exercise = exercise_of(number)
    text = exercise_file(number)
    for name in exercise.tasks:
        _, shipped = lines_of(exercise.module, name)
        node = function(ast.parse(text), name)
        original = function(ast.parse(text_of(exercise.module)), name)
        assert ast.dump(node.args) == ast.dump(original.args)
        assert (node.returns is None) == (original.returns is None)
        assert [type(each) for each in node.body] == [ast.Expr, ast.Raise]
        assert ast.unparse(original.body[-1]) not in ast.unparse(node)
        assert shipped not in text
    assert max(map(len, text.splitlines())) <= 100


def function(tree: ast.Module, name: str) -> ast.FunctionDef:
    body: list[ast.stmt] = tree.body
    found: ast.FunctionDef | ast.ClassDef | None = None
    for part in name.split("."):
        nodes = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        found = [n for n in nodes if n.name == part][-1]
        body = found.body
    assert isinstance(found, ast.FunctionDef)
    return found


BUGS = [
    pytest.param(number, bug.says, id=f"{name}: {bug.says}")
    for number, name in lessons.names().items()
    if isinstance(exercise := lessons.lesson(number).exercise, Build)
    for bug in exercise.bugs
]


def rejected(number: int, says: str, shares: tuple[int, ...]) -> None:
    exercise = exercise_of(number)
    assert isinstance(exercise, Build)
    bug = next(each for each in exercise.bugs if each.says == says)
    work = mutated(exercise.module, bug)
    verdicts = (judge(exercise, work, share=share) for share in shares)
    verdict = next((each for each in verdicts if not each.passed), None)
    assert verdict is not None
    assert verdict.lines[0].startswith("For ")
    assert "Traceback" not in verdict.lines[0]


@pytest.mark.parametrize(("number", "says"), BUGS)
def test_each_seeded_bug_is_found(number: int, says: str) -> None:
    rejected(number, says, (16, 4, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "says"), BUGS)
def test_each_seeded_bug_is_found_and_made_small(number: int, says: str) -> None:
    rejected(number, says, (1,))


@each_lesson
def test_there_are_enough_hints_and_bugs(number: int) -> None:
    exercise = exercise_of(number)
    assert len(lessons.lesson(number).hints) >= 3
    if isinstance(exercise, Build):
        assert len(exercise.bugs) >= 4
    else:
        assert len(exercise.right) >= 4
        assert len(exercise.wrong) >= 5


# Pages.


def page_of(number: int) -> str:
    return (ROOT / lessons.page(number)).read_text("utf-8")


@each_lesson
def test_a_page_has_the_lessons_title_and_all_its_parts(number: int) -> None:
    headings = re.findall(r"^#+ .*", page_of(number), flags=re.MULTILINE)
    assert headings[0] == f"# {lessons.lesson(number).title}"
    assert headings[1] == "## Why it hurts without it"
    assert headings[-1] == "## Read next"
    assert f"minispore learn start {number}\n" in page_of(number)
    assert f"minispore learn check {number}\n" in page_of(number)


@each_lesson
def test_a_page_is_in_the_navigation(number: int) -> None:
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert lessons.page(number).removeprefix("docs/") in settings


def test_every_page_has_a_lesson() -> None:
    pages = {f"docs/learn/{page.name}" for page in (ROOT / "docs" / "learn").glob("[0-9]*.md")}
    assert pages == {lessons.page(number) for number in NUMBERS}


@each_lesson
def test_a_lesson_takes_a_sitting(number: int) -> None:
    assert 20 <= lessons.lesson(number).minutes <= 40


# What may be used when.


def resolved(name: str) -> object:
    """What an importable name stands for."""
    module, _, attribute = name.rpartition(".")
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return getattr(import_module(module), attribute)


def used(tree: ast.AST) -> Iterator[str]:
    """The names of minispore that a program imports, and those that it takes from its modules."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        found: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            found = [(a.asname or a.name.partition(".")[0], a.name) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            found = [(a.asname or a.name, f"{node.module}.{a.name}") for a in node.names]
        for name, origin in found:
            if origin.partition(".")[0] == "minispore":
                if isinstance(resolved(origin), ModuleType):
                    modules[name] = origin
                else:
                    yield origin
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = f"{modules.get(ast.unparse(node.value), '')}.{node.attr}"
            if not name.startswith(".") and not isinstance(resolved(name), ModuleType):
                yield name


def explained(number: int) -> list[object]:
    return [
        resolved(name)
        for earlier in NUMBERS
        if earlier <= number
        for name in lessons.lesson(earlier).explains
    ]


@each_lesson
def test_a_page_uses_what_was_explained(number: int) -> None:
    programs = re.findall(
        r"^```python\n(.*?)^```$", page_of(number), flags=re.MULTILINE | re.DOTALL
    )
    known = explained(number)
    for program in programs:
        for name in used(ast.parse(program)):
            assert any(resolved(name) is each for each in known), f"{name} is not explained yet"


@each_lesson
def test_an_exercise_uses_what_was_explained(number: int) -> None:
    """The function that is to be written; what stands around it is only to be read."""
    exercise, known = exercise_of(number), explained(number)
    shipped = import_module(exercise.module)
    imports = ast.parse(text_of(exercise.module))
    origins = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in imports.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name in exercise.tasks:
        for node in ast.walk(function(imports, name)):
            if isinstance(node, ast.Name) and origins.get(node.id, "").startswith("minispore."):
                value = getattr(shipped, node.id)
                is_known = isinstance(value, ModuleType) or any(value is each for each in known)
                assert is_known, f"{origins[node.id]} is not explained yet"


def test_a_name_is_explained_once() -> None:
    seen: list[tuple[object, str]] = []
    for number in NUMBERS:
        for name in lessons.lesson(number).explains:
            value = resolved(name)
            others = [where for each, where in seen if each is value]
            assert not others, f"{name} is explained in lesson {number} and in {others}"
            seen.append((value, f"lesson {number}"))


@each_lesson
def test_a_lesson_is_a_lesson(number: int) -> None:
    lesson = lessons.lesson(number)
    assert isinstance(lesson, Lesson)
    assert lesson.idea.endswith(".")
    assert lesson.explains
