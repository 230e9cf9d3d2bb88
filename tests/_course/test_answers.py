"""Wrong answers of each lesson are refused, right answers of unusual form are accepted.

The wrong answers are mutants of the solution and those in `answers/`, where the right ones are.
"""

import ast
import random
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from minispore._course import lessons
from minispore._course.exercise import CodeExercise
from minispore._course.source import text_of
from minispore._course.verdict import Verdict, evaluate_submission
from tests.helpers.mutation import mutants

ANSWERS = Path(__file__).parent / "answers"
SAMPLE = 24

# For each lesson: the number of its mutants that are wrong, of the wrong answers by hand, and of the
# right ones.
COUNTS: dict[int, tuple[int, int, int]] = {
    1: (80, 5, 10),
    2: (76, 8, 10),
    3: (44, 4, 10),
    5: (53, 6, 10),
    6: (72, 5, 10),
    7: (57, 5, 10),
    8: (127, 3, 10),
    9: (25, 7, 10),
    10: (40, 6, 10),
    11: (79, 6, 10),
    12: (63, 4, 10),
    13: (90, 5, 10),
    15: (79, 4, 10),
    16: (105, 4, 10),
    17: (88, 4, 10),
    18: (108, 6, 10),
    19: (60, 4, 10),
}

# Why some mutants are right, and which.
EQUIVALENT: dict[int, tuple[str, set[str]]] = {
    1: ("both are empty at the same time", {"backward_pass: heap → pending"}),
    3: (
        "a sum over no axis or over length 1 changes nothing; the order of axes does not matter",
        {
            "unbroadcast: if g.shape == shape: return g → if False: return g",
            "unbroadcast: return g → g",
            "unbroadcast: n == 1 and g.shape[i + added] != 1 → n == 1",
            "unbroadcast: (*range(added), *stretched) → (*stretched, *range(added))",
        },
    ),
    7: (
        "products commute; `out` and the case without dampening only save time",
        {
            "_update: xp.multiply(direction, rate, out=step) → xp.multiply(rate, direction, out=step)",
            "_update: xp.multiply(direction, rate, out=step) → xp.multiply(direction, rate)",
            "_update: xp.multiply(g, 1 - self.dampening, out=scratch) if self.dampening else g → xp.multiply(g, 1 - self.dampening, out=scratch)",
            "_update: xp.multiply(v, momentum, out=scratch) → xp.multiply(momentum, v, out=scratch)",
            "_update: xp.multiply(v, momentum, out=scratch) → xp.multiply(v, momentum)",
            "_update: xp.multiply(g, 1 - self.dampening, out=scratch) → xp.multiply(1 - self.dampening, g, out=scratch)",
            "_update: xp.multiply(g, 1 - self.dampening, out=scratch) → xp.multiply(g, 1 - self.dampening)",
        },
    ),
    8: (
        "the task says to ignore `boundary` and `check_loss`",
        {
            "train: boundary.resume() → pass",
            "train: boundary.leave('finished') → pass",
            "train: boundary.handle_requests(closed=True) → pass",
            "train: None if params.loss_fn is None else 2 → None",
            "train: Boundary(context, callbacks.callbacks, data) → Boundary(context, data, callbacks.callbacks)",
            "train: params.train_network.set_train() → pass",
            "train: boundary.enter_epoch() → pass",
            "train: boundary.handle_requests(closed=True) → pass (2)",
            "train: boundary.handle_requests(closed=True) → boundary.handle_requests()",
            "train: 2 → 3",
            "train: boundary.handle_requests() → pass",
            "train: boundary.handle_requests(closed=True) → boundary.handle_requests() (2)",
            "train: validate is not None → validate",
            "train: True → False",
            "train: True → False (2)",
            "_train_steps: if not params.network.training: network.set_train() → if True: network.set_train()",
            "_train_steps: check_loss(context) → pass",
            "_train_steps: if context.has_requests: boundary.handle_requests() → if not context.has_requests: boundary.handle_requests()",
            "_train_steps: if context.has_requests: boundary.handle_requests() → if True: boundary.handle_requests()",
            "_train_steps: if context.has_requests: boundary.handle_requests() → if False: boundary.handle_requests()",
            "_train_steps: boundary.handle_requests() → pass",
        },
    ),
    9: ("`Callback.__init__` does nothing", {"__init__: super().__init__() → pass"}),
    10: (
        "on_train_begin sets it again; a patience is not 0",
        {
            "__init__: super().__init__() → pass",
            "__init__: self.best = float('inf') → pass",
            "__init__: self.wait = 0 → pass",
            "__init__: float('inf') → 'inf'",
            "__init__: 0 → 1",
            "on_train_epoch_end: self.patience is not None → self.patience",
        },
    ),
    11: (
        "the framework ignores the result; a path is not empty; the text is ASCII; a file that is closed is opened again; the dictionaries are copies already",
        {
            "__enter__: return self → self",
            "__enter__: self.path is not None → self.path",
            "__enter__: open(self.path, 'a', encoding='utf-8') → open(self.path, 'a')",
            "__exit__: self._file is not None → self._file",
            "__exit__: self._file = None → pass",
            "state_dict: dict(result) → result",
            "load_state_dict: dict(result) → result",
            "_write: self._file is not None → self._file",
        },
    ),
    12: (
        "a period is not 0",
        {
            "step_is_due: self.every_k_steps is not None → self.every_k_steps",
            "epoch_is_due: self.every_k_epochs is not None → self.every_k_epochs",
        },
    ),
    13: (
        "a read of 0 bytes gives none; after missing data no footer follows",
        {
            "_data: remaining and (piece := stream.read(min(_PIECE, remaining))) → (piece := stream.read(min(_PIECE, remaining)))",
            "_data: remaining or len(footer) < _FOOTER → len(footer) < _FOOTER",
        },
    ),
    16: (
        "a size is at least 2; `begin` is below the end that follows",
        {"place: offset → begin (2)", "place: 1 → 2"},
    ),
    17: ("the sum counts booleans as well", {"train: float(stop) → stop"}),
    18: (
        "`Callback.__init__` does nothing; an assertion for the type checker; a reference is kept for longer; the dictionary is replaced, not changed",
        {
            "__init__: super().__init__() → pass",
            "on_train_step_begin: optimizer is not None → optimizer",
            "on_train_step_begin: optimizer → run_context",
            "__exit__: self._network = None → pass",
            "state_dict: dict(self._before) → self._before",
        },
    ),
    19: (
        "nothing is above Observer; the note is an extra",
        {
            "__init_subclass__: super().__init_subclass__() → pass",
            "minimize: error.add_note(f'on_error itself raised {other!r}') → pass",
        },
    ),
}


def exercise_of(number: int) -> CodeExercise:
    exercise = lessons.lesson(number).exercise
    assert isinstance(exercise, CodeExercise)
    return exercise


def answers(number: int, kind: str) -> dict[str, str]:
    """Return the answers by hand by their names; each follows the solution and replaces it."""
    file = ANSWERS / f"lesson_{number:02}.txt"
    text = file.read_text("utf-8") if file.exists() else ""
    parts = re.findall(rf"^=== {kind}: (.+)\n((?:(?!=== ).*\n)*)", text, flags=re.MULTILINE)
    return {name: f"{text_of(exercise_of(number).module)}\n{code}" for name, code in parts}


def mutants_of(number: int) -> dict[str, str]:
    exercise = exercise_of(number)
    source = text_of(exercise.module)
    names = list(exercise.tasks)
    if exercise.from_empty:
        body = ast.parse(source).body
        names = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return dict(mutants(source, names))


def verdict_on(text: str, number: int, speedup: int = 1) -> Verdict:
    work = ModuleType(f"answer_{number}")
    sys.modules[work.__name__] = work  # dataclasses look up their module there
    exec(compile(text, "<answer>", "exec"), work.__dict__)
    return evaluate_submission(exercise_of(number), work, speedup=speedup)


def is_accepted(text: str, number: int) -> bool:
    return verdict_on(text, number, 4).passed and verdict_on(text, number).passed


@pytest.mark.parametrize("number", COUNTS)
def test_table_has_the_counts(number: int) -> None:
    wrong_mutants, wrong, right = COUNTS[number]
    found = len(mutants_of(number)) - len(EQUIVALENT.get(number, ("", set[str]()))[1])
    assert found == wrong_mutants >= 20
    assert (len(answers(number, "wrong")), len(answers(number, "right"))) == (wrong, right)


@pytest.mark.parametrize(
    ("number", "count"),
    [(n, SAMPLE) for n in COUNTS] + [pytest.param(n, None, marks=pytest.mark.slow) for n in COUNTS],
)
def test_mutants_are_refused(number: int, count: int | None) -> None:
    found, equivalent = mutants_of(number), EQUIVALENT.get(number, ("", set[str]()))[1]
    assert equivalent <= set(found)
    wrong = sorted(set(found) - equivalent)
    sample = wrong if count is None else random.Random(number).sample(wrong, count)
    assert [name for name in sample if is_accepted(found[name], number)] == []


@pytest.mark.parametrize("number", COUNTS)
def test_wrong_answers_are_refused(number: int) -> None:
    wrong = answers(number, "wrong")
    assert [name for name, text in wrong.items() if is_accepted(text, number)] == []


@pytest.mark.parametrize("number", COUNTS)
def test_right_answers_are_accepted(number: int) -> None:
    for name, text in answers(number, "right").items():
        verdict = verdict_on(text, number, 2)
        assert verdict.passed, (name, verdict.lines)
