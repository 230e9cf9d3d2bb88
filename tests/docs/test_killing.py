"""The training on the front page: what is recorded, and the script that plays it."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol, TypedDict, cast

import pytest

from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script


class Run(Protocol):
    """The attributes of `Run` in docs/scripts/killing.py."""

    events: list[tuple[str, int]]
    losses: dict[int, float]
    digest: str


class Killing(Protocol):
    """The functions of docs/scripts/killing.py."""

    PLACE: str

    def runs(self) -> Mapping[int, Run]: ...
    def figure(self, page: str) -> str: ...
    def on_page_content(self, html: str, page: object) -> str: ...


class Data(TypedDict):
    """What the script reads."""

    events: dict[str, list[tuple[str, int]]]
    losses: dict[str, str]
    words: dict[str, str]


killing = cast("Killing", load_script(SCRIPTS / "killing.py"))


def data(page: str) -> Data:
    """Return what the script reads on a page."""
    (text,) = re.findall(
        '<script type="application/json">(.*?)</script>', killing.figure(page), flags=re.DOTALL
    )
    return cast("Data", json.loads(text))


def test_a_resumed_training_has_the_remaining_steps_losses_and_the_weights() -> None:
    runs = killing.runs()
    whole = runs[0]
    steps = [event for event in whole.events if "_step_" in event[0]]
    assert len(whole.losses) * 2 == len(steps)
    for after, run in runs.items():
        rest = [event for event in steps if event[1] > after]
        assert [event for event in run.events if "_step_" in event[0]] == rest
        assert run.losses == {step: whole.losses[step] for step in range(after + 1, 9)}
        assert run.digest == whole.digest
        assert run.events[0][0] == "on_train_begin"
        assert run.events[-1][0] == "on_train_end"


@pytest.mark.parametrize("name", ["index.md", "index.zh.md"])
def test_training_is_in_its_place(name: str) -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri=name))
    assert killing.PLACE in (DOCS / name).read_text("utf-8")
    begin, shown, end = killing.on_page_content(f"begin\0{killing.PLACE}\0end", page).split("\0")
    assert (begin, end) == ("begin", "end")
    assert ("终止" in shown) == name.endswith(".zh.md")
    assert killing.on_page_content("another page", page) == "another page"


def test_script_uses_the_words_that_it_gets() -> None:
    script = (DOCS / "assets" / "kill.js").read_text("utf-8")
    said = set(re.findall(r'"([A-Z][^"]+|step|process \{number\})"', script))
    assert {text for text in said if " " in text or text.isalpha()} - {"SHA"} <= {
        *data("index.md")["words"],
    } | {"ArrowRight"}


# Kills after some clicks on "Next event", and resumes to the end.
CLICKED = """<script>
const [go, kill] = document.querySelectorAll("button"), report = [];
const row = () => [...document.querySelector("tbody").lastChild.children]
  .slice(1).map(cell => `${cell.textContent}${cell.className}`).join(",");
const click = (button, times) => { for (let i = 0; i < times; i++) button.click(); };
const playing = () => kill.getAttribute("aria-disabled") === "false";
click(go, 1 + 7); report.push(row()); kill.click(); report.push(row());
go.click(); while (playing()) go.click(); report.push(row());
report.push(document.querySelector(".said").textContent);
click(go, 1 + 4); kill.click(); report.push(document.querySelector(".said").textContent);
go.click(); while (playing()) go.click(); report.push(row());
document.body.textContent = report.join(" | ");
</script>"""


@pytest.mark.slow
def test_a_killed_process_loses_what_is_after_the_checkpoint(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    shutil.copy(DOCS / "assets" / "kill.js", tmp_path)
    page = tmp_path / "page.html"
    body = f'{killing.figure("a.md")}<script src="kill.js"></script>{CLICKED}'
    page.write_text(f'<meta charset="utf-8"><body>{body}</body>', "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"]
    flags += ["--force-prefers-reduced-motion", f"--user-data-dir={tmp_path / 'data'}"]
    command = [browser, *flags, "--dump-dom", page.as_uri()]
    shown = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=120).decode()
    states = shown.partition("<body>")[2].partition("</body>")[0].split(" | ")
    losses = list(data("a.md")["losses"].values())

    def cells(kinds: str) -> str:
        names = {"s": "saved", "d": "done", "n": "now", "l": "lost", ".": ""}
        found = [
            f"{loss if kind in 'sdl' else ''}{names[kind]}"
            for kind, loss in zip(kinds, losses, strict=True)
        ]
        return ",".join(found)

    assert states[0] == cells("ssn.....")
    assert states[1] == cells("ss......").replace(",,", ",✕lost,", 1)
    assert states[2] == cells("..ssssss")
    assert "are those of a run that was never killed" in states[3]
    assert "There is no checkpoint yet" in states[4]
    assert states[5] == cells("ssssssss")
