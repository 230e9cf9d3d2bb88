"""The HTML page of a trace contains every event, and runs only its own script."""

import base64
import hashlib
import json
import re
import shutil
from dataclasses import asdict
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore._cli import main
from minispore.testing import Event, EventTrace, Scenario
from minispore.testing._page import page
from minispore.testing._scenario import Kind
from minispore.train import Callback, RunContext
from tests.helpers.processes import run

CHROMIUM, NODE = shutil.which("chromium"), shutil.which("node")
EVIL = "</script><script>document.title='gone'</script><!--<script>{{script}}&lt;\u2028\ud800"

names = st.sampled_from(["run", "on_train_step_begin", "on_train_step_end", EVIL]) | st.text(
    st.characters(exclude_categories=[]), max_size=8
)
numbers = st.none() | st.integers(0, 2**63 - 1)
seconds = st.floats(0, allow_infinity=False)
events = st.builds(
    Event,
    name=names,
    source=st.just("") | names,
    depth=st.integers(0, 9999),
    epoch=numbers,
    step=numbers,
    stop=st.booleans(),
    raised=names,
    start=seconds,
    duration=seconds,
    changed=st.lists(names, max_size=3).map(tuple),
)


class Page(HTMLParser):
    """The elements of a page with their attributes, and the content of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data

    @property
    def events(self) -> list[dict[str, object]]:
        data = json.loads(self.scripts[0])
        return [dict(zip(data["fields"], row, strict=True)) for row in data["events"]]


@given(st.lists(events, max_size=5).map(EventTrace))
@example(EventTrace())
@example(EventTrace([Event(EVIL, EVIL, raised=EVIL, changed=(EVIL,))]))
def test_page_contains_the_trace_and_no_other_elements(trace: EventTrace) -> None:
    html = page(trace)
    read = Page(html)
    assert read.events == [asdict(event) | {"changed": [*event.changed]} for event in trace]
    assert read.elements == Page(page(EventTrace())).elements
    assert read.scripts[1:] == Page(page(EventTrace())).scripts[1:]
    # A script that contains <!-- and <script ends later than it seems to.
    assert "<" not in read.scripts[0]
    assert html == page(EventTrace(list(trace)))


def test_page_is_self_contained() -> None:
    html = page(EventTrace([Event("run")]))
    read = Page(html)
    assert "{{" not in html
    for _, attributes in read.elements:
        assert "src" not in attributes
        assert attributes.get("href", "data:,") == "data:,"
        assert not [name for name in attributes if name.startswith("on")]
    assert not re.search(r"url\(|@import|https?:|\bfetch\b|innerHTML|\beval\b", html)
    policy = next(dict(a)["content"] for _, a in read.elements if "http-equiv" in a)
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(read.scripts[1].encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_trace_command_writes_the_page(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = EventTrace([Event("run", duration=1.5), Event("on_train_begin", depth=1, start=0.5)])
    path = tmp_path / f"first{ending}"
    trace.save(path)
    assert main(["trace", str(path)]) == 0
    written = tmp_path / "first.html"
    assert capsys.readouterr().out == f"{written}: 2 events\n"
    assert written.read_text("utf-8") == page(trace)
    saved = tmp_path / "saved.html"
    trace.save(saved)
    assert saved.read_bytes() == written.read_bytes()
    for option in ("-o", "--out"):
        other = tmp_path / f"other{option}.htm"
        assert main(["trace", str(path), option, str(other)]) == 0
        assert other.read_bytes() == written.read_bytes()
    capsys.readouterr()
    EventTrace([Event("run")]).save(path)
    assert main(["trace", str(path)]) == 0
    assert capsys.readouterr().out == f"{written}: 1 event\n"


def test_trace_command_reports_file_errors_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad, odd = (tmp_path / name for name in ("good.jsonl", "bad.jsonl", "odd.txt"))
    EventTrace([Event("run")]).save(good)
    before = good.read_bytes()
    bad.write_text('{"name": "run"}\n', "utf-8")
    odd.write_text("", "utf-8")
    out = tmp_path / "page.html"
    nowhere = tmp_path / "nowhere" / "page.html"
    for path, target, message in (
        (tmp_path / "missing.jsonl", out, "missing.jsonl"),
        (bad, out, f"The file '{bad}' contains no trace: an event has name"),
        (odd, out, f"must end with one of '.jsonl', '.json', but got '{odd}'"),
        (tmp_path, out, "must end with one of"),
        (good, nowhere, str(nowhere.parent)),
        (good, good, f"the page would replace the trace '{good}'"),
    ):
        assert main(["trace", str(path), "-o", str(target)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("minispore trace: error: ")
        assert printed.err.count("\n") == 1
        assert message in printed.err
    assert good.read_bytes() == before
    assert not out.exists()


class StopsInEvaluation(Callback):
    def on_eval_end(self, run_context: RunContext) -> None:
        run_context.request_stop()


@pytest.mark.skipif(NODE is None, reason="there is no node here")
@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("fit", "epoch 1, step 2, step 4 of the evaluation"),
        ("eval", "step 4"),
    ],
)
def test_a_stop_in_an_evaluation_has_the_step_of_the_training(kind: Kind, where: str) -> None:
    assert NODE is not None
    trace = Scenario(kind, batches=2, valid_batches=4).run([StopsInEvaluation()])
    data = re.search(r'id="trace">(.*?)</script>', page(trace), re.DOTALL)
    assert data is not None
    script = files("minispore.testing").joinpath("timeline", "events.js").read_text("utf-8")
    stub = f"const document = {{getElementById: () => ({{textContent: {json.dumps(data[1])}}})}};"
    shown = run(NODE, "-e", f"{stub}\n{script}\nconsole.log(marks.map(where).join(';'))").stdout
    assert shown.strip() == where


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
@pytest.mark.parametrize(
    "events",
    [
        [],
        [Event("run", start=1e308, duration=1e308), Event("x", "y", 9999)],
        [
            Event("run", stop=True),
            Event(EVIL, "B", 1, stop=True),
            Event("m", EVIL, changed=(EVIL,)),
        ],
    ],
)
def test_browser_shows_every_event(events: list[Event], tmp_path: Path) -> None:
    assert CHROMIUM is not None
    trace = EventTrace(events)
    path = tmp_path / "page.html"
    path.write_text(page(trace), "utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    shown = run(
        CHROMIUM, *options, f"--user-data-dir={tmp_path}", "--dump-dom", path.as_uri()
    ).stdout
    read = Page(shown)
    rows = [a for _, a in read.elements if a.get("role") == "treeitem"]
    assert len(rows) == len(trace)
    assert "<title>Event timeline</title>" in shown
    assert len(read.scripts) == 2
    # The run in which a callback requests a stop has no mark.
    stops = [event for event in trace if event.stop and event.source]
    assert shown.count('<button class="stop">') == len(stops)
    assert shown.count('class="flag changed"') == sum(bool(event.changed) for event in trace)
    if not trace:
        assert "This trace has no events." in shown
