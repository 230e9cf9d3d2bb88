"""Traces: what is recorded is what happened, and the files give back what was saved."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.testing import Event, EventTrace, record_events
from minispore.train import Callback, LossMonitor, Model, RunContext
from minispore.train._protocol.callback import EVENTS

from .runs import ROWS, make

names = st.sampled_from([*EVENTS, "run", "__enter__", "on_exception"])
places = st.none() | st.integers(0, 9)
times = st.floats(0, 1e6)
events = st.builds(
    Event, names, st.text(), st.integers(0, 9), places, places, st.booleans(), st.text(),
    times, times, st.lists(st.text()).map(tuple),
)  # fmt: skip


class Boom(Exception):
    pass


class Acts(Callback):
    """Raise or request a stop at the second step's beginning; have a hook of an older name."""

    def __init__(self, raises: bool = False) -> None:
        self.raises = raises

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == 2:
            if self.raises:
                raise Boom
            run_context.request_stop()

    def epoch_begin(self, run_context: RunContext) -> None: ...

    def on_exception(self, run_context: RunContext, error: BaseException) -> None: ...


@given(st.lists(events, max_size=8), st.sampled_from(["json", "jsonl"]))
def test_what_is_saved_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Event], ending: str
) -> None:
    path = tmp_path_factory.mktemp("trace") / f"trace.{ending}"
    trace = EventTrace(rows)
    trace.save(path)
    loaded = EventTrace.load(path)
    assert loaded == trace
    assert [(e.start, e.duration) for e in loaded] == [(e.start, e.duration) for e in trace]


LINE = (
    '{"name": "run", "source": "", "depth": 0, "epoch": null, "step": null, "stop": false, '
    '"raised": "", "start": 0.0, "duration": 0.5, "changed": []}'
)


def test_a_file_from_before_changes_were_recorded_has_none(tmp_path: Path) -> None:
    older = LINE.replace(', "changed": []', "")
    lines, timeline = tmp_path / "trace.jsonl", tmp_path / "trace.json"
    lines.write_text(older, "utf-8")
    timeline.write_text(f'{{"traceEvents": [{{"cat": "loop", "args": {older}}}]}}', "utf-8")
    for path in (lines, timeline):
        assert repr(EventTrace.load(path)) == repr(EventTrace([Event("run", duration=0.5)]))


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        ("jsonl", "{"),
        ("jsonl", "[]"),
        ("jsonl", '{"name": 3}'),
        ("jsonl", "\xff"),
        ("json", "[]"),
        ("json", '{"traceEvents": [{"cat": "loop"}]}'),
        ("json", '{"traceEvents": 3}'),
        ("jsonl", LINE.replace("[]", "3")),
        ("jsonl", LINE.replace("[]", "[3]")),
        ("jsonl", LINE.replace("changed", "changes")),
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"trace.{ending}"
    path.write_text(text, "latin-1")
    with pytest.raises(ValueError, match=f"'{path}' holds no trace"):
        EventTrace.load(path)


def test_a_time_line_has_what_lies_between_the_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with record_events() as trace:
        make().fit(1, ROWS, ROWS, callbacks=[LossMonitor(100)])
    trace.save(path)
    items = json.loads(path.read_text("utf-8"))["traceEvents"]
    assert all({"name", "cat", "ph", "ts", "dur", "pid", "tid"} <= item.keys() for item in items)
    spans = {item["name"]: (item["ts"], item["ts"] + item["dur"]) for item in items}
    nested = ["run", "train", "train epoch 1", "eval", "eval epoch 1", "eval step 2"]
    for outer, inner in pairwise(nested):
        assert spans[outer][0] <= spans[inner][0] < spans[inner][1] <= spans[outer][1] + 0.01
    assert spans["train step 1"][1] <= spans["train step 2"][0]
    assert "LossMonitor.on_train_step_end" in spans


def test_the_ending_says_how_a_file_is_written_and_read(tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    EventTrace().save(page)
    for method, path, endings in (
        (EventTrace().save, tmp_path / "trace.txt", "'.jsonl', '.json', '.html'"),
        (EventTrace.load, page, "'.jsonl', '.json'"),
    ):
        said = f"must be one of {endings}, but got '{path.suffix}'"
        with pytest.raises(ValueError, match=re.escape(said)):
            method(path)


def test_a_stop_in_a_tree() -> None:
    model, data = make(), ROWS
    with record_events() as trace:
        model.train(3, data, Acts())
    assert trace.tree(durations=False).splitlines() == [
        "run",
        "  on_train_begin",
        "    on_train_epoch_begin epoch 1",
        "      Acts.epoch_begin",
        "      on_train_step_begin step 1",
        "        Acts",
        "      on_train_step_end step 1",
        "      on_train_step_begin step 2",
        "        Acts: requests a stop",
        "      on_train_step_end step 2",
        "    on_train_epoch_end epoch 1",
        "  on_train_end",
    ]
    assert [e.name for e in trace.of("Acts")] == ["epoch_begin", *["on_train_step_begin"] * 2]
    assert all(line.endswith(" ms") for line in str(trace).splitlines())
    assert trace[:3] == EventTrace(list(trace)[:3])


def test_an_exception_in_a_tree_and_what_follows_is_at_the_top_again() -> None:
    model, data = make(), ROWS
    with record_events() as trace:
        with pytest.raises(Boom):
            model.train(3, data, [Acts(), Acts(raises=True)])
        model.eval(data)
    assert trace.tree(durations=False).splitlines() == [
        "run: raises Boom",
        "  on_train_begin",
        "    on_train_epoch_begin epoch 1",
        "      Acts.epoch_begin",
        "      Acts 2.epoch_begin",
        "      on_train_step_begin step 1",
        "        Acts",
        "        Acts 2",
        "      on_train_step_end step 1",
        "      on_train_step_begin step 2: raises Boom",
        "        Acts: requests a stop",
        "        Acts 2: raises Boom",
        "  Acts.on_exception",
        "  Acts 2.on_exception",
        "run",
        "  on_eval_begin",
        "    on_eval_epoch_begin",
        *["      on_eval_step_begin step 1", "      on_eval_step_end step 1"],
        *["      on_eval_step_begin step 2", "      on_eval_step_end step 2"],
        "    on_eval_epoch_end",
        "  on_eval_end",
    ]


def test_a_run_within_a_run_is_below_the_call_that_began_it() -> None:
    other = make()

    class Evaluates(Callback):
        def __enter__(self) -> Self:
            return self

        def on_train_end(self, run_context: RunContext) -> None:
            other.eval(ROWS)

    with record_events() as trace, record_events() as again:
        make().train(1, ROWS, Evaluates())
    assert trace == again
    assert trace.tree(durations=False).splitlines()[:2] == ["run", "  Evaluates.__enter__"]
    place = trace.names.index("run", 1)
    assert (trace[place - 1].source, trace[place - 1].depth) == ("Evaluates", 2)
    assert trace[place].depth == 3
    assert trace[-1] == Event("on_eval_end", depth=4, step=2)


def test_only_runs_that_begin_in_the_block_are_recorded() -> None:
    model = make()
    with record_events() as trace:
        pass
    model.train(1, ROWS)
    assert not trace


def test_two_runs_alike_have_equal_traces_and_another_has_not() -> None:
    def run(epochs: int) -> EventTrace:
        with record_events() as trace:
            make().train(epochs, ROWS, LossMonitor(100))
        return trace

    assert run(2) == run(2) != run(1)


def test_exceptions_are_what_they_are_without_a_recording() -> None:
    """The note, an error in `on_exception`, and an `__exit__` that ends the exception."""

    class Trouble(Acts):
        def on_exception(self, run_context: RunContext, error: BaseException) -> None:
            raise ValueError("another")

    with record_events(), pytest.raises(Boom) as raised:
        make().train(1, ROWS, Trouble(raises=True))
    with pytest.raises(Boom) as plain:
        make().train(1, ROWS, Trouble(raises=True))
    assert raised.value.__notes__ == plain.value.__notes__

    class Ends(Acts):
        def __exit__(self, *error: object) -> bool:
            return True

    with record_events() as trace:
        make().train(1, ROWS, Ends(raises=True))
    assert trace.names[-1] == "__exit__"


def test_a_model_without_a_recording_is_not_slowed_down() -> None:
    from minispore.train._protocol.manager import CallbackManager, manager_of

    assert type(manager_of(None)) is CallbackManager
    with record_events():
        assert type(manager_of(None)) is not CallbackManager
    assert isinstance(make(), Model)
