"""Each lesson: its solution passes, its stub fails, its bugs are detected, its page is complete."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from minispore._course import lessons
from minispore._course.exercise import CodeExercise, TestExercise
from minispore._course.source import Bug, lines_of, load_mutant, text_of
from minispore._course.verdict import evaluate_submission
from minispore._course.workspace import exercise_file

ROOT = Path(__file__).parents[2]
NUMBERS = list(lessons.names())
BY_NAME = [pytest.param(number, id=name) for number, name in lessons.names().items()]
each_lesson = pytest.mark.parametrize("number", BY_NAME)


def exercise_of(number: int) -> CodeExercise | TestExercise:
    return lessons.lesson(number).exercise


def stub_of(number: int) -> ModuleType:
    module = ModuleType(f"stub_{number}")
    exec(compile(exercise_file(number), f"<stub {number}>", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("speedup", [8, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "number",
    # Its implementations take seconds.
    [pytest.param(n, id=lessons.names()[n], marks=[pytest.mark.full] * (n == 4)) for n in NUMBERS],
)
def test_shipped_source_is_a_solution(number: int, speedup: int) -> None:
    exercise = exercise_of(number)
    verdict = evaluate_submission(exercise, import_module(exercise.module), speedup=speedup)
    assert verdict.passed, "\n".join(verdict.lines)
    assert verdict.done == verdict.total > 0


@each_lesson
def test_stub_fails(number: int) -> None:
    verdict = evaluate_submission(exercise_of(number), stub_of(number), speedup=4)
    assert not verdict.passed
    assert verdict.done == 0
    assert verdict.lines[0].startswith("Not written yet")


@each_lesson
def test_stub_keeps_types_without_solution(number: int) -> None:
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
    node: ast.FunctionDef | ast.ClassDef | None = None
    for part in name.split("."):
        nodes = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        node = [n for n in nodes if n.name == part][-1]
        body = node.body
    assert isinstance(node, ast.FunctionDef)
    return node


# The bugs of most lessons take more than a second.
CODE = [
    pytest.param(number, id=name, marks=[] if number == 5 else pytest.mark.full)
    for number, name in lessons.names().items()
    if isinstance(lessons.lesson(number).exercise, CodeExercise)
]


def first_violation(exercise: CodeExercise, bug: Bug, speedups: tuple[int, ...]) -> str:
    """Return the description of the first property that a seeded bug violates."""
    work = load_mutant(exercise.module, bug)
    verdicts = (evaluate_submission(exercise, work, speedup=speedup) for speedup in speedups)
    verdict = next((each for each in verdicts if not each.passed), None)
    assert verdict is not None, f"accepted: {bug.description}"
    assert verdict.lines[0].startswith("For ")
    assert "Traceback" not in verdict.lines[0]
    return verdict.lines[1].removeprefix("Property: ")


@pytest.mark.parametrize("speedups", [(2, 1), pytest.param((1,), marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", CODE)
def test_bugs_are_rejected_and_each_property_is_the_first_to_reject_one(
    number: int, speedups: tuple[int, ...]
) -> None:
    """No property follows from those before it: they all accept a bug that it rejects."""
    exercise = exercise_of(number)
    assert isinstance(exercise, CodeExercise)
    violated = {first_violation(exercise, bug, speedups) for bug in exercise.bugs}
    assert {each.description for each in exercise.properties} - violated == set()


def test_lesson_5_accepts_a_maximum_that_is_not_detached() -> None:
    """The derivatives with respect to the maximum cancel: to detach it only saves time."""
    exercise = exercise_of(5)
    assert isinstance(exercise, CodeExercise)
    detached = "xp.stop_gradient(xp.max(x, axis=axis, keepdims=True))"
    variant = Bug("", "log_softmax", detached, "xp.max(x, axis=axis, keepdims=True)")
    work = load_mutant(exercise.module, variant)
    assert evaluate_submission(exercise, work, speedup=2).passed


def page_of(number: int) -> str:
    return (ROOT / lessons.page(number)).read_text("utf-8").split("---\n\n", 1)[1]


@each_lesson
def test_lesson_and_its_page_are_complete(number: int) -> None:
    lesson, exercise, page = lessons.lesson(number), exercise_of(number), page_of(number)
    assert len(lesson.hint_list()) >= 3
    assert 20 <= lesson.minutes <= 40
    if isinstance(exercise, CodeExercise):
        assert len(exercise.bugs) >= 4
    else:
        assert len(exercise.correct) >= 4
        assert len(exercise.wrong) >= 5
    module = import_module(f"minispore._course.lessons.{lessons.names()[number]}")
    assert re.match(rf"Lesson {number}: .+\.\Z", module.__doc__ or "")
    headings = re.findall(r"^#+ .*", page, flags=re.MULTILINE)
    assert headings[:2] == [f"# {lesson.title}", "## The problem"]
    assert page.splitlines()[2].startswith("*What other frameworks call it: ")
    assert "## Exercise" in headings
    assert headings[-1] == "## Read next"
    assert f"minispore learn start {number}\n" in page
    assert f"minispore learn check {number}\n" in page
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert lessons.page(number).removeprefix("docs/") in settings


def test_every_page_has_a_lesson() -> None:
    pages = {f"docs/learn/{page.name}" for page in (ROOT / "docs" / "learn").glob("[0-9]*.md")}
    assert pages == {lessons.page(number) for number in NUMBERS}


# The order in which names are explained.


def resolved(name: str) -> object:
    """Return the object with an importable name."""
    module, _, attribute = name.rpartition(".")
    try:
        return import_module(name)
    except ModuleNotFoundError:
        return getattr(import_module(module), attribute)


def used(tree: ast.AST) -> Iterator[str]:
    """Yield the names of minispore that a program imports, and the attributes of its modules."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        imports: list[tuple[str, str]] = []
        if isinstance(node, ast.Import):
            imports = [(a.asname or a.name.partition(".")[0], a.name) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports = [(a.asname or a.name, f"{node.module}.{a.name}") for a in node.names]
        for name, origin in imports:
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


def explained_in(number: int) -> list[str]:
    """Return the names that a page explains, from its front matter."""
    text = (ROOT / lessons.page(number)).read_text("utf-8")
    match = re.match(r"---\nexplains:\n((?:  - [\w.]+\n)+)---\n", text)
    assert match is not None
    return match[1].replace("- ", "").split()


def explained(number: int) -> list[object]:
    return [
        resolved(name) for earlier in NUMBERS if earlier <= number for name in explained_in(earlier)
    ]


@each_lesson
def test_page_uses_only_explained_names(number: int) -> None:
    programs = re.findall(
        r"^```python\n(.*?)^```$", page_of(number), flags=re.MULTILINE | re.DOTALL
    )
    known = explained(number)
    for program in programs:
        for name in used(ast.parse(program)):
            assert any(resolved(name) is each for each in known), f"{name} is not explained yet"


@each_lesson
def test_exercise_uses_only_explained_names(number: int) -> None:
    """Check the functions to be written; the code around them is only read."""
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


def test_name_is_explained_once() -> None:
    explained_names: list[tuple[object, str]] = []
    for number in NUMBERS:
        for name in explained_in(number):
            value = resolved(name)
            others = [where for each, where in explained_names if each is value]
            assert not others, f"{name} is explained in lesson {number} and in {others}"
            explained_names.append((value, f"lesson {number}"))
