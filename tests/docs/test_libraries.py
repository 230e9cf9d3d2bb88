"""The page of one run in six libraries: its events occur, and its table follows from them."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Protocol, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks import record_libraries as recorder
from minispore import Tensor, nn
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.train import Model
from tests.helpers.processes import run
from tests.helpers.scripts import SCRIPTS, load_script

ROOT = SCRIPTS.parents[1]
PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON")
Runs = dict[str, list[str]]


class Step(Protocol):
    """The attributes of `Step` in docs/scripts/libraries.py."""

    name: str
    enclosing: tuple[str, ...]


SCRIPT = load_script(SCRIPTS / "libraries.py")


def recorded(library: str) -> Runs:
    """Return the runs in the file."""
    libraries = cast("dict[str, dict[str, Runs]]", json.loads(recorder.FILE.read_text("utf-8")))
    return libraries[library]["runs"]


@pytest.mark.parametrize("library", ["minispore", "miniai-like loop"])
def test_recorded_events_occur(library: str) -> None:
    assert recorder.runs(library) == recorded(library)


@pytest.mark.skipif(PYTHON is None, reason="MINISPORE_MINDSPORE_PYTHON is not set")
def test_events_of_an_installed_mindspore_are_the_recorded_ones() -> None:
    program = "import json; from benchmarks import record_libraries as recorder; "
    program += "print(json.dumps(recorder.runs('MindSpore')))"
    done = run(PYTHON, "-c", program, folder=ROOT)
    assert json.loads(done.stdout.splitlines()[-1]) == recorded("MindSpore")


@pytest.mark.parametrize("scenario", recorder.SCENARIOS)
def test_tensorpacks_callbacks_get_here_the_hooks_that_tensorpack_calls(scenario: str) -> None:
    recording = recorder.Recording(scenario)

    class Network(nn.Dense):
        def construct(self, x: Tensor) -> Tensor:
            recording.compute(self.training)
            return super().construct(x)

    network = Network(2, 1)
    model = Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 0.1))
    callback = recording.callback(
        tp.Callback, recorder.TENSORPACK_HOOKS, "_trigger_step", tp.StopTraining()
    )
    data, valid = (
        NumpySlicesDataset({"x": recorder.X[:n], "y": recorder.Y[:n]}, shuffle=False).batch(1)
        for n in (recorder.STEPS, 1)
    )
    validation = tp.InferenceRunner(valid, tp.ScalarStats("loss"))
    with suppress(RuntimeError):
        model.train(recorder.EPOCHS, data, callbacks=[callback, validation])
    assert recording.events == recorded("tensorpack")[scenario][:-1]


# A tree of spans: the kind of its hooks, and what is in it.
KINDS = {
    "{}_begin": "{}_end",
    "on_{}_start": "on_{}_end",
    "before_{}": "after_{}",
    "_before_{}": "_after_{}",
    "__enter__": "__exit__",
}
plain = st.sampled_from(["train", "evaluate", "setup", "on_before_backward", "_trigger_step"])
trees = st.recursive(
    plain, lambda inner: st.tuples(st.sampled_from(sorted(KINDS)), st.lists(inner))
)


def flat(
    tree: object, enclosing: tuple[str, ...], number: Iterator[int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the events of a tree, with the begin hooks around each."""
    if isinstance(tree, str):
        yield tree, enclosing
        return
    kind, inside = cast("tuple[str, list[object]]", tree)
    span = f"span{next(number)}"
    begin = kind.format(span)
    yield begin, enclosing
    for child in inside:
        yield from flat(child, (*enclosing, begin), number)
    yield KINDS[kind].format(span), enclosing


@given(trees)
def test_steps_have_the_begin_hooks_around_them(tree: object) -> None:
    events = list(flat(tree, (), count()))
    steps = cast("list[Step]", SCRIPT.steps([*(name for name, _ in events), "returns"]))
    assert [(step.name, step.enclosing) for step in steps] == events


@given(trees, st.data())
def test_hooks_after_an_exception_end_the_spans_that_it_left(
    tree: object, data: st.DataObject
) -> None:
    """Spans that begin after it are left out."""
    number = count()
    events = list(flat(tree, (), number))
    computed = [i for i, (name, _) in enumerate(events) if name == "train"]
    assume(computed)
    at = data.draw(st.sampled_from(computed))
    enclosing = events[at][1]
    later = flat(("on_{}_start", [data.draw(trees)]), enclosing, number)
    ends = [end_of(begin) for begin in reversed(enclosing)]
    names = [name for name, _ in [*events[: at + 1], ("raises Error", ()), *later]]
    cell = SCRIPT.hooks_after([*names, *ends, "raises Error"])
    assert cell == ("<br>".join(f"`{end}`" for end in ends) or "–")


def end_of(begin: str) -> str:
    """Return the end hook of a begin hook."""
    kind, span = re.sub(r"span\d+", "{}", begin), re.findall(r"span\d+", begin)
    return KINDS[kind].format(*span)


def test_on_exception_is_called_when_the_spans_are_left() -> None:
    events = ["__enter__", "before_run", "train", "raises Error", "on_exception", "__exit__"]
    steps = cast("list[Step]", SCRIPT.steps([*events, "raises Error"]))
    assert [step.enclosing for step in steps[-2:]] == [("__enter__",), ()]


def test_page_has_a_drawing_and_a_column_for_each_library() -> None:
    page: str = SCRIPT.on_page_markdown(
        (SCRIPTS.parent / "libraries-compared.md").read_text("utf-8")
    )
    assert page.count("<svg") == len(recorder.SCENARIOS) * len(recorder.LIBRARIES)
    head, *rows = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("| ")]
    assert [cell.strip() for cell in head] == ["", *recorder.LIBRARIES]
    assert all(len(set(row)) > 2 for row in rows if "training steps" not in row[0])
    assert all(len(row) == len(head) and all(map(str.strip, row)) for row in rows)
