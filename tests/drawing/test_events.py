"""The drawing of a run's events: each event in order, in nested boxes, with dots in lanes."""

import re
from collections.abc import Sequence
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.drawing import draw_events
from minispore.testing import Event, Scenario
from minispore.testing import strategies as mst
from minispore.train import History, LossMonitor
from tests.helpers.svg_reader import Rect, read, text_of

SVG = "{http://www.w3.org/2000/svg}"
# A begin event and its end event, in the words of several libraries.
PAIRS = [
    ("on_train_begin", "on_train_end"),
    ("on_train_batch_start", "on_train_batch_end"),
    ("before_fit", "after_fit"),
    ("_before_run", "_after_run"),
    ("__enter__", "__exit__"),
]
names = st.sampled_from(
    ["run", "on_train_step_begin", "other", *(n for pair in PAIRS for n in pair)]
)
sources = st.sampled_from(["", "", "History", "全角文字の名前", "<&>"])
counts = st.none() | st.integers(0, 9)
raised = st.sampled_from(["", "ValueError"])
events = st.builds(
    Event, names, sources, st.integers(0, 4), counts, counts, st.booleans(), raised
)  # fmt: skip


def boxes_of(root: ET.Element) -> list[tuple[Rect, bool]]:
    """Return the boxes, and whether each is closed."""
    boxes = list[tuple[Rect, bool]]()
    for path in root.iter(f"{SVG}path"):
        if "fill-opacity" in path.attrib:
            left, bottom, top, right, _ = map(float, re.findall(r"-?[\d.]+", path.attrib["d"]))
            boxes.append((Rect(left, right, top, bottom), path.attrib["d"].endswith("Z")))
    return boxes


def check_drawing(trace: Sequence[Event]) -> ET.Element:
    """Check that all events are drawn in order, in boxes that nest, and return the drawing."""
    picture, root = read(drawing := draw_events(trace)), ET.fromstring(drawing)
    position = 0
    for event in trace:
        position = picture.words.index(event.name, position) + len(event.name)
    baselines = [float(text.attrib["y"]) for text in root.iter(f"{SVG}text")]
    assert all(after - before > 10 for before, after in pairwise(baselines))
    assert 0 < baselines[0] < baselines[-1] + 1 < picture.size.bottom
    texts = [text_of(text).rect for text in root.iter(f"{SVG}text")]
    for box, _ in boxes_of(root):
        held = [text for text in texts if box.top < text.bottom < box.bottom]
        assert held
        assert all(box.contains(text) for text in held)
        assert not any(box.overlaps(text) for text in texts if text not in held)
    for (one, _), (other, _) in combinations(boxes_of(root), 2):
        assert one.contains(other) or other.contains(one) or not one.overlaps(other)
    written = [text.text or "" for text in root.iter(f"{SVG}text")]
    of_callbacks = [event for event in trace if event.source]
    assert written.count("requests a stop") == sum(event.stop for event in of_callbacks)
    raising = [text for text in written if text.startswith("raises ")]
    assert len(raising) >= sum(bool(event.raised) for event in of_callbacks)
    for effect in {*raising, "requests a stop"}:
        assert picture.words.count(effect) == written.count(effect)
    calls = [event.source for event in of_callbacks]
    lanes = [float(dot.attrib["cx"]) for dot in root.iter(f"{SVG}circle")]
    assert len(lanes) == len(calls)
    assert len(set(zip(lanes, calls, strict=True))) == len(set(lanes)) == len(set(calls))
    assert all(lane < picture.size.right for lane in lanes)
    lines = [path.attrib["d"] for path in root.iter(f"{SVG}path") if "V" not in path.attrib["d"]]
    ends = [tuple(map(float, line.partition(" ")[2].split("H"))) for line in lines]
    dots = list(root.iter(f"{SVG}circle"))
    assert ends == [(float(dot.attrib["cy"]), float(dot.attrib["cx"])) for dot in dots]
    return root


@given(st.lists(events, min_size=1, max_size=12))
def test_any_events_are_drawn_in_order_in_nested_boxes(trace: list[Event]) -> None:
    check_drawing(trace)


@given(mst.scenarios())
def test_a_box_is_closed_if_and_only_if_its_end_event_occurred(scenario: Scenario) -> None:
    trace = scenario.run([History(), LossMonitor()])
    root = check_drawing(trace)
    loop = [event.name for event in trace if not event.source]
    begun, ended = ([n for n in loop if n.endswith(edge)] for edge in ("_begin", "_end"))
    closed = [is_closed for _, is_closed in boxes_of(root)]
    assert len(closed) == loop.count("run") + len(begun)
    assert closed.count(False) == len(begun) - len(ended)


@pytest.mark.parametrize(("name", "closed"), [("on_train_step_end", True), ("on_train_end", False)])
def test_an_end_event_closes_the_box_of_its_begin_event_only(name: str, closed: bool) -> None:
    trace = [Event("on_train_step_begin", depth=1), Event(name, depth=1)]
    assert [is_closed for _, is_closed in boxes_of(check_drawing(trace))] == [closed]


@pytest.mark.parametrize("begin", [begin for begin, _ in PAIRS])
@pytest.mark.parametrize("end", [end for _, end in PAIRS])
def test_events_of_other_libraries_open_and_close_boxes(begin: str, end: str) -> None:
    trace = [Event(begin, depth=1), Event("other", depth=2), Event(end, depth=1)]
    assert [is_closed for _, is_closed in boxes_of(check_drawing(trace))] == [(begin, end) in PAIRS]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event("on_train_step_end", "A", stop=True), "requests a stop"),
        (Event("on_train_step_end", "A", raised="ValueError"), "raises ValueError"),
        (Event("on_train_step_begin", step=3), "on_train_step_begin 3"),
        (Event("on_train_epoch_end", epoch=2, step=6), "on_train_epoch_end 2"),
        (Event("on_train_end", epoch=2, step=6), "on_train_end"),
        (Event("__exit__", "A"), "A.__exit__"),
    ],
)
def test_effects_and_numbers_are_written(event: Event, text: str) -> None:
    root = check_drawing([Event("run"), event])
    assert text in [element.text for element in root.iter(f"{SVG}text")]


def test_500_events_can_be_drawn() -> None:
    assert read(draw_events([Event("run")] * 500)).name == "500 events"
    assert read(draw_events([Event("run")])).name == "1 event"
