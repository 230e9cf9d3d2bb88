"""A lesson as slides: key sentences, at most one program and one picture each, notes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "assets" / "slides.js"
PAGE = """<article><h1>Lesson</h1><p>You learn it.</p><h2>Idea</h2>
<p>Some text. A <strong>key</strong> is here. More text.</p><div class="highlight">x</div>
<div class="admonition">Note</div><figure>y</figure><p>Text. A program:</p>
<div class="highlight">z</div>
<h2>Read next</h2><p>Text</p></article>
<script src="slides.js"></script>"""
NOTES = '<details class="notes"><summary>Notes</summary>'
SLIDES = (
    f'<section><h1>Lesson</h1><p class="key">You learn it.</p>{NOTES}</details></section>'
    '<section><h2>Idea</h2><p class="key">A <strong>key</strong> is here.</p>'
    f'<div class="highlight">x</div><figure>y</figure>{NOTES}'
    "<p>Some text. A <strong>key</strong> is here. More text.</p><p>Text. A program:</p>"
    "</details></section>"
    '<section><h2>Idea</h2><p class="key lead">A program:</p><div class="highlight">z</div>'
    f"{NOTES}<p>Text</p></details></section>"
)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "?slides"])
def test_slides_are_shown_if_the_address_asks_for_them(tmp_path: Path, query: str) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    shutil.copy(SCRIPT, tmp_path)
    page = tmp_path / "page.html"
    page.write_text(PAGE, "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"]
    command = [browser, *flags, "--dump-dom", page.as_uri() + query]
    shown = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=120).decode()
    content = shown.partition("<article>")[2].partition("</article>")[0].replace("\n", "")
    content = re.sub(' style="[^"]*"| class=""', "", content)
    assert content == (SLIDES if query else PAGE[9:].partition("</article>")[0].replace("\n", ""))
