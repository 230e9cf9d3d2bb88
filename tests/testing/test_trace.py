"""Traces: their repr, and their files."""

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.testing import Event, EventTrace, Scenario, record_events
from minispore.testing import strategies as mst
from minispore.train import LossMonitor
from minispore.train.protocol.callback import EVENTS
from tests.testing.small_training import ROWS, make


@given(mst.scenarios())
def test_reprs_of_a_trace_s_events_evaluate_to_them(scenario: Scenario) -> None:
    trace = scenario.run([])
    names = {"Event": Event, "EventTrace": EventTrace}
    assert eval(repr(list(trace)), names) == list(trace)
    assert repr(trace).startswith(f"<EventTrace: {len(trace)} events, ")
    assert str(trace) == trace.tree()


names = st.sampled_from([*EVENTS, "run", "__enter__", "on_exception"])
counts = st.none() | st.integers(0, 9)
times = st.floats(0, 1e6)
events = st.builds(
    Event, names, st.text(), st.integers(0, 9), counts, counts, st.booleans(), st.text(),
    times, times, st.lists(st.text()).map(tuple),
)  # fmt: skip


@given(st.lists(events, max_size=8), st.sampled_from(["json", "jsonl"]))
def test_saved_traces_are_loaded_unchanged(
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


def test_files_without_changes_are_loaded(tmp_path: Path) -> None:
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
def test_loading_other_files_raises_errors(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"trace.{ending}"
    path.write_text(text, "latin-1")
    with pytest.raises(ValueError, match=f"'{path}' contains no trace"):
        EventTrace.load(path)


def test_chrome_trace_contains_spans_between_events(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with record_events() as trace:
        make().fit(1, ROWS, ROWS, callbacks=[LossMonitor(100)])
    trace.save(path)
    content = json.loads(path.read_text("utf-8"))
    assert content["displayTimeUnit"] == "ms"
    items = content["traceEvents"]
    assert all({"name", "cat", "ph", "ts", "dur", "pid", "tid"} <= item.keys() for item in items)
    spans = {item["name"]: (item["ts"], item["ts"] + item["dur"]) for item in items}
    nested = ["run", "train", "train epoch 1", "eval", "eval epoch 1", "eval step 2"]
    for outer, inner in pairwise(nested):
        assert spans[outer][0] <= spans[inner][0] < spans[inner][1] <= spans[outer][1] + 0.01
    assert spans["train step 1"][1] <= spans["train step 2"][0]
    assert "LossMonitor.on_train_step_end" in spans


def test_file_ending_determines_the_format(tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    EventTrace().save(page)
    for method, path, endings in (
        (EventTrace().save, tmp_path / "trace.txt", "'.jsonl', '.json', '.html'"),
        (EventTrace.load, page, "'.jsonl', '.json'"),
        (EventTrace.load, tmp_path / "missing", "'.jsonl', '.json'"),
    ):
        name = f"EventTrace.{method.__name__}"
        expected = f"the argument 'path' must end with one of {endings}, but got {str(path)!r}."
        with pytest.raises(ValueError, match=re.escape(f"For '{name}', {expected}")):
            method(path)
