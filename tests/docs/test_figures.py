"""Figures with frames: their fences, what they draw, and the script that moves through them."""

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Protocol, cast

import pytest

from minispore._course.pages import with_quotes
from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script


class Figures(Protocol):
    """The functions of docs/scripts/figures.py."""

    FENCE: re.Pattern[str]
    CODE: re.Pattern[str]

    def on_page_markdown(self, markdown: str, page: object) -> str: ...
    def figure(self, name: str, captions: list[str], page: str) -> str: ...
    def drawings(self, name: str) -> list[str]: ...
    def with_code(self, caption: str) -> str: ...


pytest.importorskip("mkdocs")
figures = cast("Figures", load_script(SCRIPTS / "figures.py"))
FIGURES = cast(
    "Mapping[str, Callable[[], list[str]]]", load_script(SCRIPTS / "pictures.py").FIGURES
)
PAGES = [
    page for page in sorted(DOCS.rglob("*.md")) if figures.FENCE.search(page.read_text("utf-8"))
]
MAX_SIZE = 60_000  # of the drawings of a page, in bytes


def filled(page: Path) -> str:
    """Return the figures of a page as HTML."""
    fences = [match[0] for match in figures.FENCE.finditer(page.read_text("utf-8"))]
    file = SimpleNamespace(src_uri=page.relative_to(DOCS).as_posix())
    return figures.on_page_markdown("\n".join(fences), SimpleNamespace(file=file))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figure_has_a_drawing_and_a_caption_in_each_frame(page: Path) -> None:
    text = filled(page)
    assert len(text.encode()) < MAX_SIZE
    assert "```" not in text
    for figure in re.findall('<figure class="frames">.*?</figure>', text, flags=re.DOTALL):
        frames = figure.split('<div class="frame">')[1:]
        assert len(frames) >= 4
        assert f'max="{len(frames) - 1}" value="{len(frames) - 1}"' in figure
        drawn = [frame.partition("<p>")[0] for frame in frames]
        assert all("<svg" in drawing and "<title>" in drawing for drawing in drawn)
        assert len(set(drawn)) == len(drawn)  # each frame changes something
        assert all(re.search(r"<p>.+</p></div>", frame) for frame in frames)
        assert not re.search(r"\n\s*\n", figure)  # which would end the HTML block
        assert ("上一步" in figure) == page.name.endswith(".zh.md")


def test_each_figure_is_on_a_page() -> None:
    used = {name for page in PAGES for name, _ in figures.FENCE.findall(page.read_text("utf-8"))}
    assert used == set(FIGURES)


def test_figure_with_another_number_of_captions_is_refused() -> None:
    with pytest.raises(ValueError, match=r"a\.md: 1 captions for 5 frames of 'backward'"):
        figures.figure("backward", ["one"], "a.md")


def test_captions_are_escaped_and_have_code() -> None:
    assert figures.with_code("a < b, `x @ w`") == "a &lt; b, <code>x @ w</code>"


def test_page_as_text_has_the_captions() -> None:
    assert with_quotes("# A\n\n```frames ring\none\ntwo\n```\n") == "# A\n\n1. one\n2. two\n"


# What the captions say of the drawings.


def texts(drawing: str) -> list[str]:
    """Return the texts of a drawing."""
    return re.findall(r"<text[^>]*>([^<]*)", drawing)


def test_network_has_the_shapes_of_the_program_and_probabilities_of_sum_one() -> None:
    drawn = texts(figures.drawings("network")[-1])
    assert {"784 → 32: w (784, 32), b (32,)", "32 → 10: w (32, 10), b (10,)"} <= set(drawn)
    chances = [float(each) for each in drawn if re.fullmatch(r"0\.\d{3}", each)]
    assert len(chances) == 10
    assert sum(chances) == pytest.approx(1, abs=0.005)
    (loss,) = [each for each in drawn if "loss" in each]
    label, chance = re.findall(r"label (\d): loss = −log ([\d.]+)", loss)[0]
    assert chances[int(label)] == float(chance) == max(chances)


def test_newton_converges_with_the_second_derivative_only() -> None:
    steps = [
        re.search(r"x = (\S+) → ([^,]+),", text) for text in map(str, figures.drawings("newton"))
    ]
    lengths = [abs(float(step[2]) - float(step[1])) for step in steps if step]
    assert lengths[2] < 0.001
    assert lengths[3] < lengths[4] < lengths[5]


def test_only_the_last_rate_diverges_and_momentum_saves_steps() -> None:
    assert ["diverges" in drawing for drawing in figures.drawings("rates")] == [False] * 5 + [True]
    counts = [
        int(re.findall(r"(\d+) steps", drawing)[-1])
        for name in ("rates", "momentum")
        for drawing in figures.drawings(name)
        if "diverges" not in drawing
    ]
    assert counts[:5] == sorted(counts[:5], reverse=True)
    assert counts[7] * 3 <= counts[5] + 3


def test_loop_ends_with_on_train_end() -> None:
    assert texts(figures.drawings("loop")[-1])[-1] == "on_train_end"


def test_only_the_last_epoch_exhausts_the_patience() -> None:
    stops = ["request_stop()" in drawing for drawing in figures.drawings("patience")]
    assert stops == [False] * 6 + [True]


def test_truncated_text_is_read_and_the_truncated_stream_refused() -> None:
    read = [
        [text for text in texts(drawing) if text.startswith("read:")]
        for drawing in figures.drawings("truncated")
    ]
    assert [text for text, _ in read[2:6]] == [
        f"read: [2.0, 1.5, {loss}]" for loss in (0.12, 0.1, 0.0, 0.0)
    ]
    assert {records for _, records in read[1:]} == {
        "read: [2.0, 1.5], WireError: bytes are missing"
    }


def test_list_is_shrunk_to_the_simplest() -> None:
    assert "<desc>[0, 1, 2, 3]</desc>" in figures.drawings("shrinking")[-1]


def test_more_is_written_than_the_arena_is_large() -> None:
    words = " ".join(texts(figures.drawings("arena")[-3]))
    written, size = map(int, re.findall(r"so far: (\d+) bytes arena: (\d+)", words)[0])
    assert written > size


def test_ring_ends_with_all_sums() -> None:
    assert texts(figures.drawings("ring")[-1]).count("0+1+2+3") == 16


# The script.

PRESSED = """<script>
const report = [];
const shown = () => [...document.querySelectorAll(".frame")].findIndex(f => f.matches(".shown"));
const note = () => report.push(`${shown()}:${document.querySelector("input").value}`);
const [back, on] = document.querySelectorAll("button"), slider = document.querySelector("input");
const key = (target, name) =>
  target.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
note(); on.click(); note(); key(on, "ArrowRight"); note(); key(slider, "ArrowLeft"); note();
back.click(); back.click(); note(); slider.value = 4;
slider.dispatchEvent(new Event("input", {bubbles: true})); note(); on.click(); note();
report.push(slider.getAttribute("aria-valuetext"), on.getAttribute("aria-disabled"),
  document.querySelector(".controls").hidden);
document.body.textContent = report.join(" | ");
</script>"""


@pytest.mark.slow
def test_buttons_slider_and_keys_choose_the_frame(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    shutil.copy(DOCS / "assets" / "frames.js", tmp_path)
    figure = figures.figure("backward", [f"caption {i}" for i in range(1, 6)], "a.md")
    page = tmp_path / "page.html"
    page.write_text(f'<body>{figure}<script src="frames.js"></script>{PRESSED}</body>', "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"]
    command = [browser, *flags, f"--user-data-dir={tmp_path / 'data'}", "--dump-dom", page.as_uri()]
    shown = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=120).decode()
    states = "0:0 | 1:1 | 2:2 | 1:1 | 0:0 | 4:4 | 4:4 | 5 / 5: caption 5 | true | false"
    assert states in shown
