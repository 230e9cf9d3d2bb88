"""Each lesson: its solution passes, its stub fails, its bugs are detected, its page is complete."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from minispore._course import lessons
from minispore._course.counterexamples import TimeLimitExceeded
from minispore._course.exercise import CodeExercise, TestExercise
from minispore._course.source import Bug, lines_of, load_mutant, text_of
from minispore._course.verdict import evaluate_submission
from minispore._course.workspace import exercise_file
from tests.helpers.pages import english_pages

ROOT = Path(__file__).parents[2]
NUMBERS = list(lessons.names())
FIRST_PAGE = lessons.page(0)  # It has no exercise.
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
    assert verdict.lines[0].startswith(("Not written yet", "The file does not define "))


@each_lesson
def test_stub_keeps_types_without_solution(number: int) -> None:
    exercise = exercise_of(number)
    text = exercise_file(number)
    assert max(map(len, text.splitlines())) <= 100
    if isinstance(exercise, CodeExercise) and exercise.from_empty:
        assert len(ast.parse(text).body) == 1  # the docstring
        return
    for name in exercise.tasks:
        _, shipped = lines_of(exercise.module, name)
        node = definition(ast.parse(text), name)
        original = definition(ast.parse(text_of(exercise.module)), name)
        assert isinstance(node, ast.FunctionDef)
        assert isinstance(original, ast.FunctionDef)
        assert ast.dump(node.args) == ast.dump(original.args)
        assert (node.returns is None) == (original.returns is None)
        assert [type(statement) for statement in node.body] == [ast.Expr, ast.Raise]
        assert ast.unparse(original.body[-1]) not in ast.unparse(node)
        assert shipped not in text


def definition(tree: ast.Module, name: str) -> ast.FunctionDef | ast.ClassDef:
    body: list[ast.stmt] = tree.body
    node: ast.FunctionDef | ast.ClassDef | None = None
    for part in name.split("."):
        nodes = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        node = [n for n in nodes if n.name == part][-1]
        body = node.body
    assert node is not None
    return node


# The bugs of most lessons take more than a second.
CODE = [
    pytest.param(number, id=name, marks=[] if number == 5 else pytest.mark.full)
    for number, name in lessons.names().items()
    if isinstance(lessons.lesson(number).exercise, CodeExercise)
]


# Laws whose cases are special cases of a later law, by their positions: they make the feedback
# simple, and no wrong answer violates only them. (In lesson 2, softplus needs that of sigmoid.)
SPECIAL_CASES = {
    1: {0, 1}, 2: {1, 3}, 3: {0, 1, 2}, 5: {0}, 6: {0, 1}, 7: {1}, 8: {1, 5}, 13: {1},
    12: {0, 1, 2}, 15: {0, 1}, 18: {0, 1, 4},
}  # fmt: skip


def violations(exercise: CodeExercise, bug: Bug) -> list[int]:
    """Return the positions of the properties that a seeded bug violates."""
    work = load_mutant(exercise.module, bug)
    found = list[int]()
    for position, law in enumerate(exercise.properties):
        try:
            feedback = law.find_counterexample(work, 2) or law.find_counterexample(work, 1)
        except TimeLimitExceeded as error:
            feedback = str(error)
        if feedback is not None:
            assert feedback.startswith("For ")
            assert "Traceback" not in feedback
            found.append(position)
    return found


@pytest.mark.parametrize("number", CODE)
def test_each_law_alone_rejects_a_wrong_answer(number: int) -> None:
    """If a law is removed, a wrong answer passes, unless a later law contains the law."""
    exercise = exercise_of(number)
    assert isinstance(exercise, CodeExercise)
    found = {bug.description: violations(exercise, bug) for bug in exercise.bugs}
    assert [description for description, violated in found.items() if not violated] == []
    special = SPECIAL_CASES.get(number, set())
    alone = {violated[0] for violated in found.values() if len(violated) == 1}
    assert set(range(len(exercise.properties))) - special - alone == set()
    # No law follows from those before it.
    first = {violated[0] for violated in found.values()}
    assert set(range(len(exercise.properties))) == first | alone


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
    if isinstance(exercise, CodeExercise):
        assert len(exercise.bugs) >= 4
    else:
        assert len(exercise.correct) >= 4
        assert len(exercise.wrong) >= 5
    module = import_module(f"minispore._course.lessons.{lessons.names()[number]}")
    assert re.match(rf"Lesson {number}: .+\.\Z", module.__doc__ or "")
    headings = re.findall(r"^#+ .*", page, flags=re.MULTILINE)
    assert headings[:2] == [f"# {lesson.title}", "## The problem"]
    assert page.splitlines()[2].startswith("After this lesson you can ")
    assert "## Exercise" in headings
    assert page.count('!!! note "In other words"') == 1
    assert headings[-2:] == ["## In short", "## Read next"]
    assert page.count('\n??? question "') == 3
    assert f"minispore learn start {number}\n" in page
    assert f"minispore learn check {number}\n" in page
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert lessons.page(number).removeprefix("docs/") in settings


@each_lesson
def test_page_quotes_no_solution_before_its_exercise(number: int) -> None:
    exercise = exercise_of(number)
    before, heading, _ = page_of(number).partition("\n## Exercise\n")
    assert heading
    solutions = [f"{exercise.module}.{name}" for name in exercise.tasks]
    for quoted in re.findall(r"^```source\n(.+)$", before, flags=re.MULTILINE):
        assert not any(f"{name}.".startswith(f"{quoted}.") for name in solutions)


def test_every_page_has_a_lesson() -> None:
    pages = {f"docs/learn/{page.name}" for page in english_pages("learn/[0-9]*.md")}
    assert pages == {FIRST_PAGE} | {lessons.page(number) for number in NUMBERS}


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


def explained_in(page: str) -> list[str]:
    """Return the names that a page explains, from its front matter."""
    text = (ROOT / page).read_text("utf-8")
    match = re.match(r"---\nexplains:\n((?:  - [\w.]+\n)+)---\n", text)
    assert match is not None
    return match[1].replace("- ", "").split()


def explained(number: int) -> list[object]:
    pages = [FIRST_PAGE, *(lessons.page(earlier) for earlier in NUMBERS if earlier <= number)]
    return [resolved(name) for page in pages for name in explained_in(page)]


@each_lesson
def test_page_uses_only_explained_names(number: int) -> None:
    programs = re.findall(
        r"^```python\n(.*?)^```$", page_of(number), flags=re.MULTILINE | re.DOTALL
    )
    known = explained(number)
    for program in programs:
        for name in used(ast.parse(program)):
            assert any(resolved(name) is value for value in known), f"{name} is not explained yet"


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
        for node in ast.walk(definition(imports, name)):
            if isinstance(node, ast.Name) and origins.get(node.id, "").startswith("minispore."):
                value = getattr(shipped, node.id)
                is_known = isinstance(value, ModuleType) or any(value is other for other in known)
                assert is_known, f"{origins[node.id]} is not explained yet"


def test_name_is_explained_once() -> None:
    explained_names: list[tuple[object, str]] = []
    for number in NUMBERS:
        for name in explained_in(lessons.page(number)):
            value = resolved(name)
            others = [where for other, where in explained_names if other is value]
            assert not others, f"{name} is explained in lesson {number} and in {others}"
            explained_names.append((value, f"lesson {number}"))
