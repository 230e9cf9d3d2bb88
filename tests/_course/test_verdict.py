"""The verdict on a submission, in the process of the test."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minispore._course import CourseError, verdict
from minispore._course.counterexamples import MemoryLimitReached, TimeLimitExceeded
from minispore._course.exercise import CodeExercise, Implementation, Property, TestExercise
from minispore._course.feedback import WrongResult
from minispore._course.lessons import lesson
from minispore._course.verdict import Verdict, check_own_work, evaluate_submission, load
from tests.helpers.lesson_solutions import feedback, shipped_body, solution

# The search for a counterexample runs hypothesis itself.
nested = settings(suppress_health_check=[HealthCheck.nested_given, HealthCheck.too_slow])


class Own(BaseException):
    """An exception of a learner that cannot even be printed."""

    def __str__(self) -> NoReturn:
        raise Own


# What a check of a property or an implementation does: its error, None if it passes.
OUTCOMES: dict[str, Callable[[], BaseException] | None] = {
    "holds": None,
    "wrong": lambda: WrongResult("it is wrong"),
    "error": lambda: ValueError("it is invalid"),
    "exit": SystemExit,
    "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit,
    "own": Own,
    "unwritten": NotImplementedError,
    "time": TimeLimitExceeded,
    "memory": MemoryLimitReached,
}
outcomes = st.sampled_from(sorted(OUTCOMES))
judgements = outcomes.filter(lambda outcome: outcome not in {"unwritten", "memory"})


def act(outcome: str) -> None:
    make = OUTCOMES[outcome]
    if make is not None:
        raise make()


def work_with(**functions: object) -> ModuleType:
    work = ModuleType("work")
    vars(work).update(functions)
    return work


@nested
@given(st.lists(outcomes, min_size=1, max_size=5), st.booleans())
@example(["holds", "unwritten", "wrong"], False)
@example(["unwritten", "time", "holds"], False)
def test_each_property_is_checked_and_the_first_violation_reported(
    planned: list[str], fast: bool
) -> None:
    checked = set[int]()

    def property_of(index: int, outcome: str) -> Property:
        def check(_work: ModuleType, _case: None) -> None:
            checked.add(index)
            act(outcome)

        return Property(f"P{index}.", st.none(), check, show=lambda _: f"case {index}")

    properties = tuple(property_of(index, outcome) for index, outcome in enumerate(planned))
    exercise = CodeExercise("work", {"f": ""}, properties, ())
    reported = list[Verdict]()
    speedup = 2 if fast else 1
    actual = evaluate_submission(
        exercise, work_with(f=print), speedup=speedup, report=reported.append
    )

    failures = [i for i, outcome in enumerate(planned) if outcome not in {"holds", "unwritten"}]
    last = next((i for i in failures if fast or planned[i] in {"time", "memory"}), len(planned) - 1)
    tried = planned[: last + 1]
    assert checked == set(range(len(tried)))
    assert (actual.done, actual.total) == (tried.count("holds"), len(planned))
    assert actual.passed == (set(planned) == {"holds"})
    decided = [i for i, outcome in enumerate(tried) if outcome not in {"unwritten", "memory"}]
    done = [planned[: i + 1].count("holds") for i in decided]
    assert [report.done for report in reported] == done[: len(done) - ("time" in tried)]
    violated = [i for i in decided if planned[i] != "holds"]
    assert actual.undecided == ("memory" in tried and not violated and "unwritten" not in tried)
    if violated:
        message, description, count = actual.lines
        assert message.startswith(f"For case {violated[0]}, ")
        assert description == f"Property: P{violated[0]}."
        assert count.startswith(f"{actual.done} of {len(planned)} properties")
    elif actual.undecided:
        assert actual.lines[1] == f"{actual.done} of {len(planned)} properties hold."
    elif "unwritten" in tried:
        assert actual.lines[0] == "Not written yet: act raises NotImplementedError."
        assert len(actual.lines) == 1 + ("holds" in tried)
    else:
        assert actual.lines == (f"All {len(planned)} properties hold.",)


def call(implementation: Callable[[], object]) -> None:
    implementation()


def test_check_that_generates_no_cases_does_not_pass() -> None:
    right = (Implementation("it", lambda: partial(act, "holds")),)
    wrong = (Implementation("it", lambda: partial(act, "wrong")),)
    exercise = TestExercise("work", "check", "", right, wrong)
    actual = evaluate_submission(exercise, work_with(check=call))
    assert (actual.passed, actual.done) == (False, 2)
    assert actual.lines[-1].startswith("But your check uses no generated cases")
    generating = given(st.just(0))
    actual = evaluate_submission(
        exercise, work_with(check=lambda implementation: generating(lambda _: implementation())())
    )
    assert actual.passed


@given(
    st.lists(judgements, min_size=1, max_size=4),
    st.lists(judgements, min_size=1, max_size=4),
)
@example(["holds"], ["holds"])
@example(["wrong"], ["wrong"])
def test_check_passes_if_it_separates_correct_from_wrong(
    correct: list[str], wrong: list[str]
) -> None:
    implementations = [
        tuple(
            Implementation(f"{kind} {i}", partial(partial, act, outcome))
            for i, outcome in enumerate(listed)
        )
        for kind, listed in (("right", correct), ("faulty", wrong))
    ]
    exercise = TestExercise("work", "check", "", implementations[0], implementations[1])
    actual = evaluate_submission(exercise, work_with(check=call))
    accepted, undetected = correct.count("holds"), wrong.count("holds")
    rejected = len(wrong) - undetected
    assert actual.passed == (accepted == len(correct) and undetected == 0)
    assert (actual.done, actual.total) == (accepted + rejected, len(correct) + len(wrong))
    missed = [f"faulty {i}" for i, outcome in enumerate(wrong) if outcome == "holds"]
    assert list(actual.undetected) == missed
    alarms = [f"right {i}" for i, outcome in enumerate(correct) if outcome != "holds"]
    counts, *lines = actual.lines
    assert f"accepts {accepted} of {len(correct)} correct" in counts
    assert f"rejects {rejected} of {len(wrong)} wrong" in counts
    assert len(lines) == len(alarms) + len(missed)
    for line, name in zip(lines, [*alarms, *missed], strict=True):
        assert name in line
        assert line.startswith("False alarm: " if name in alarms else "Undetected bug: ")


@given(st.lists(st.sampled_from(["f", "g", "C.m"]), min_size=1, unique=True), st.data())
def test_removed_function_is_reported(tasks: list[str], data: st.DataObject) -> None:
    removed = data.draw(st.sampled_from(tasks))
    names: dict[str, object] = {"f": print, "g": print, "C": type("C", (), {"m": print})}
    value = data.draw(st.sampled_from([None, 3]))
    names[removed.partition(".")[0]] = value if "." not in removed else type("C", (), {"m": value})
    exercise = CodeExercise("work", dict.fromkeys(tasks, ""), (), ())
    actual = evaluate_submission(exercise, work_with(**names))
    assert feedback(actual) == f"The file does not define {removed}."


@pytest.mark.full
def test_wrong_result_is_shrunk_to_smallest_graph(tmp_path: Path) -> None:
    body = shipped_body().replace("pending[number][1] + contribution", "contribution")
    verdict = evaluate_submission(lesson(1).exercise, load(solution(tmp_path, body)))
    assert feedback(verdict).startswith(
        "For the input n0; n1 = 1·n0 + 1·n0, from the gradients 1 at n1 to n0, "
        "your backward_pass gave "
        "{'n0': 1}, but {'n0': 2} was expected."
    )


def test_check_that_does_not_end_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_: object) -> NoReturn:
        while True:
            pass

    monkeypatch.setattr(verdict, "_CHECK_SECONDS", 0.01)
    one = (Implementation("it", lambda: print),)
    actual = evaluate_submission(
        TestExercise("work", "check", "", one, one), work_with(check=check)
    )
    assert "it did not finish within 0.01 seconds of CPU time" in actual.lines[1]
    assert actual.done == 1


def test_import_that_does_not_end_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "_CHECK_SECONDS", 0.01)
    file = tmp_path / "lesson_01_graph.py"
    file.write_text("while True:\n    pass\n", "utf-8")
    message = "Importing the file did not finish within 0.01 seconds of CPU time (line "
    with pytest.raises(CourseError, match=re.escape(message)):
        load(file)


def test_unwritten_check_is_reported() -> None:
    one = (Implementation("it", lambda: partial(act, "unwritten")),)
    actual = evaluate_submission(TestExercise("work", "check", "", one, one), work_with(check=call))
    assert feedback(actual) == "Not written yet: act raises NotImplementedError."


@given(st.integers(0, 5))
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:", "Line {line} has a syntax error: "),
        ("import nowhere", "ModuleNotFoundError: No module named 'nowhere' (line {line}: `import"),
        ("raise SystemExit", "raised SystemExit (line {line}: `raise SystemExit`)"),
        ("raise GeneratorExit", "raised GeneratorExit (line {line}: `raise GeneratorExit`)"),
    ],
)
def test_import_error_is_reported_with_line(
    tmp_path_factory: pytest.TempPathFactory, text: str, message: str, empty: int
) -> None:
    file = tmp_path_factory.mktemp("course") / "lesson_01_graph.py"
    file.write_text("\n" * empty + text, "utf-8")
    with pytest.raises(CourseError, match=re.escape(message.format(line=empty + 1))):
        load(file)


def test_loaded_file_may_define_dataclasses(tmp_path: Path) -> None:
    text = "import dataclasses\n@dataclasses.dataclass\nclass C:\n    x: 'int'\n"
    (tmp_path / "lesson_01_graph.py").write_text(
        f"from __future__ import annotations\n{text}", "utf-8"
    )
    assert load(tmp_path / "lesson_01_graph.py").C(3).x == 3


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from minispore.engine.graph import backward_pass as theirs", True),
        ("def f():\n    from minispore.engine.graph import backward_pass", True),
        ("from minispore.engine.graph import Node", False),
        ("from other import backward_pass", False),
    ],
)
def test_import_of_what_should_be_written_is_reported(
    tmp_path: Path, line: str, found: bool
) -> None:
    file = tmp_path / "work.py"
    file.write_text(f"{line}\n", "utf-8")
    expected = pytest.raises(CourseError, match=r"^Line \d imports backward_pass from minispore\.")
    with expected if found else nullcontext():
        check_own_work(lesson(1).exercise, file)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_file_of_another_encoding_is_reported(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "lesson_01_graph.py"
    file.write_text("x = 'Grüße'\n", encoding)
    with pytest.raises(CourseError, match=r"^The file is not Python source in UTF-8: "):
        load(file)


def test_memory_error_of_a_check_is_no_rejection() -> None:
    def run_out(_: object) -> NoReturn:
        raise MemoryError

    one = (Implementation("one", lambda: print),)
    with pytest.raises(MemoryError):
        evaluate_submission(TestExercise("work", "check", "", one, one), work_with(check=run_out))
