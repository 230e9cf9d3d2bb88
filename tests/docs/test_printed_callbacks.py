"""Every printed callback passes `check_callback`, or its text says what it violates.

It is printed in the README, on an English page, in an example or in a docstring.
"""

import ast
import re
import runpy
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from doctest import DocTestParser
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from textwrap import dedent
from typing import Any, Literal, TypeAlias

import pytest

import minispore as ms
from minispore import tensorpack
from minispore.testing import CallbackError, check_callback
from minispore.train import Callback
from tests.helpers.pages import english_pages

ROOT = Path(__file__).parents[2]
TAB = r'^=== "(?:minispore|tensorpack, here)"\n\n'
PROGRAM = re.compile(rf"(?:{TAB}    |^)```python\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
DEFINITION = re.compile(r"^[ >.]*class (\w+)\([\w.]*Callback\):", flags=re.MULTILINE)
Kind: TypeAlias = Literal["train", "fit", "eval"]


@dataclass(frozen=True)
class Terms:
    """How a callback is checked that has arguments, or is not made for all kinds of runs.

    Attributes:
        make: Creates it from its class.
        modes: The kinds of runs for which it is made.
        may_change: See `check_callback`.
        violates: The invariants that it violates.
        says: Words of the text about what it violates.
    """

    make: Callable[[Any], Callback] = lambda kind: kind()
    modes: Collection[Kind] = ("train", "fit", "eval")
    may_change: Collection[str] = ()
    violates: Collection[str] = ()
    says: str = ""


LOST = {"resume"}
TERMS: Mapping[str, Terms] = {
    "docs/coming-from.md: KeepBest": Terms(lambda kind: kind(0.95)),
    "docs/howto/callbacks.md: StopAtAccuracy": Terms(lambda kind: kind(0.5)),
    # A WaitedDSCallback counts the epochs since the run began or was resumed.
    "minispore/train/callback/_waited_ds_callback.py, WaitedDSCallback: Louder": Terms(
        violates=LOST
    ),
    "docs/howto/extend.md: SaveEverySteps": Terms(
        lambda kind: kind("net.ckpt", 2), modes=("train", "fit")
    ),
    "docs/howto/recipes.md: LogEpochs": Terms(lambda kind: kind(lambda _values, _epoch: None)),
    "docs/howto/testing.md: BestLoss": Terms(
        violates=LOST, says="Its attribute must be a part of the training state"
    ),
    "docs/learn/09-observe.md: InputDeviation": Terms(
        violates={"bookkeeping"}, says="modifies the memory of the batch"
    ),
    "docs/learn/09-observe.md: Results": Terms(
        violates=LOST, says="A resumed run loses the attribute"
    ),
    "docs/learn/10-decide.md: StopByException": Terms(
        violates={"errors"}, says="The loop cannot distinguish this exception from an error"
    ),
    "docs/learn/11-persist.md: Patience": Terms(
        violates=LOST, says="It is correct in an uninterrupted run"
    ),
    # Its list in the class is that of all runs of the page.
    "docs/learn/11-persist.md: Epochs": Terms(
        lambda kind: kind(power_failures=False),
        violates={"leaks"},
        says="Record each epoch of the loop",
    ),
    "docs/learn/12-triggers.md: CountSteps": Terms(
        violates=LOST, says="one more state that a resumed run must restore"
    ),
    "docs/learn/12-triggers.md: Hooks": Terms(lambda kind: kind("hooks")),
    "docs/learn/14-properties.md: Best": Terms(
        violates={"reuse", *LOST}, says="this callback has two bugs"
    ),
    "docs/learn/18-finder.md: FirstTry": Terms(
        modes=["train"],
        may_change=["run"],
        violates={"parameters", "reuse", *LOST},
        says="reports the invariants that the first try violates",
    ),
    "examples/custom_callbacks.py: StopAfter": Terms(lambda kind: kind(60)),
    "examples/custom_callbacks.py: StopAtLoss": Terms(lambda kind: kind(0.5)),
    "examples/custom_callbacks.py: StopAtAccuracy": Terms(lambda kind: kind(0.5)),
    "examples/custom_callbacks.py: SaveBelow": Terms(lambda kind: kind(0.5, Path())),
    "examples/custom_callbacks.py: SaveBest": Terms(
        lambda kind: kind(Path("best.ckpt")), violates=LOST, says="have a state, which is lost"
    ),
    "examples/custom_callbacks.py: Progress": Terms(
        lambda kind: kind("run"), violates=LOST, says="have a state, which is lost"
    ),
    "examples/own_callback.py: FirstTry": Terms(
        lambda kind: kind(1.1, 0.5),
        modes=["train"],
        violates={"reuse", *LOST},
        says="finds two bugs in it",
    ),
    "examples/resume.py: Wait": Terms(lambda kind: kind(10**6)),
    "examples/tutorial.py: StopAfter": Terms(lambda kind: kind(60)),
    "examples/tutorial.py: SaveBelow": Terms(
        lambda kind: kind(2, Path()), violates=LOST, says="have a state, which is lost"
    ),
    "examples/tutorial.py: KeepBest": Terms(
        lambda kind: kind(Path("best.ckpt")), violates=LOST, says="have a state, which is lost"
    ),
    "minispore/tensorpack/triggers.py, ProxyCallback: Loudly": Terms(
        lambda kind: kind(tensorpack.ScalarPrinter())
    ),
    "minispore/testing/_check_callback.py, check_callback: Counts": Terms(
        violates={"reuse", *LOST}, says="resume: A run that is resumed"
    ),
    "minispore/train/protocol/callback.py, hook_for: Legacy": Terms(modes=["train"]),
    "minispore/train/protocol/callback.py, reject_legacy_hooks: Legacy": Terms(modes=["train"]),
}
# They cannot be checked, or need no check.
DENSE = "it needs a network of one dense layer"
NOT_CHECKED = {
    "docs/coming-from.md: Enough": "it reads a number that another callback writes",
    "docs/howto/extend.md: StopWithoutProgress": "it is a callback of another library",
    "docs/howto/extend.md: KerasAdapter": "the page checks it",
    "docs/learn/09-observe.md: Updates": "the reader completes it",
    "docs/learn/09-observe.md: Weights": "it needs the network of the page",
    "docs/learn/11-persist.md: SaveAtOnce": "it saves the state of another callback",
    "docs/learn/11-persist.md: Interrupt": "it simulates Ctrl-C",
    "docs/learn/12-triggers.md: Accuracy": "it needs a network that takes images",
    "minispore/dataset/_ds_callback.py, DSCallback: Print": "it is not called by a training",
    "minispore/train/protocol/callback.py, Callback: Typo": "the definition raises an error",
}


def texts() -> Iterator[tuple[str, str]]:
    """Return the places with printed callbacks, and their texts."""
    for page in (ROOT / "README.md", *english_pages("**/*.md"), *(ROOT / "examples").glob("*.py")):
        yield page.relative_to(ROOT).as_posix(), page.read_text("utf-8")
    for file in (ROOT / "minispore").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if ">>> class" in text:
                    yield f"{file.relative_to(ROOT).as_posix()}, {node.name}", text


@cache
def printed(place: str, text: str) -> dict[str, type[Callback]]:
    """Return the callbacks that a text defines, by name, after running its programs."""
    namespace: dict[str, object] = {"__name__": "printed"}
    if place.startswith("minispore"):
        module = place.partition(".py")[0].replace("/", ".").removesuffix(".__init__")
        namespace = {**vars(import_module(module)), **namespace}
        programs = [example.source for example in DocTestParser().get_examples(text)]
    elif place.endswith(".py"):
        namespace, programs = runpy.run_path(str(ROOT / place), run_name="printed"), []
    else:
        programs = [dedent(program) for program in PROGRAM.findall(text)]
    for program in programs:
        # Some show an error, an interrupt, or a library that is not installed.
        with suppress(Exception, KeyboardInterrupt), redirect_stdout(StringIO()):
            exec(compile(program, f"<{place}>", "exec"), namespace)
    return {
        name: value
        for name, value in namespace.items()
        if isinstance(value, type) and issubclass(value, Callback) and value.__module__ == "printed"
    }


CASES = {
    f"{place}: {name}": (place, text, name)
    for place, text in texts()
    for name in DEFINITION.findall(text)
}


@pytest.mark.parametrize("case", sorted(CASES.keys() - NOT_CHECKED.keys()))
@pytest.mark.filterwarnings("ignore")
def test_printed_callback_keeps_the_invariants(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, text, name = CASES[case]
    terms = TERMS.get(case, Terms())
    monkeypatch.chdir(tmp_path)
    kind = printed(place, text)[name]
    ms.set_context(mode=ms.PYNATIVE_MODE)
    violated: set[str] = set()
    try:
        check_callback(lambda: terms.make(kind), modes=terms.modes, may_change=terms.may_change)
    except CallbackError as error:
        violated = {violation.invariant for violation in error.violations}
        if not terms.violates:
            raise
    assert violated == {*terms.violates}
    assert terms.says in " ".join(text.split())


def test_tables_name_printed_callbacks() -> None:
    assert {*TERMS, *NOT_CHECKED} <= CASES.keys()
    assert not TERMS.keys() & NOT_CHECKED.keys()
