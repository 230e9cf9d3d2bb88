"""The check of the built site finds each error of a page, and nothing else."""

import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.scripts import SCRIPTS, load_script

WRONG = """<h1 id="here">Wrong</h1>
<a href="#here">Right</a> <a href="#gone">Wrong</a> <a href="gone.html">Wrong</a>
<a href="right.html">Right</a> <a href="https://example.org">Not asked for</a>
<img src="http://nowhere.invalid/wrong.png"> <figure><svg></svg></figure>
<figure><svg><title>Right</title></svg></figure>
<div style="width: 600px">Wrong on a phone</div>
<div style="overflow: auto"><div style="width: 2000px">Right</div></div>
<script>wrong()</script>
"""


@pytest.fixture
def check_site() -> ModuleType:
    pytest.importorskip("playwright")
    return load_script(SCRIPTS / "check_site.py")


@pytest.mark.slow
def test_every_error_of_a_page_is_found(tmp_path: Path, check_site: ModuleType) -> None:
    names: tuple[str, ...] = check_site.BROWSERS
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    (tmp_path / "index.html").write_text(WRONG, "utf-8")
    (tmp_path / "right.html").write_text("<p>Right</p>", "utf-8")
    reports = [str(line) for line in check_site.check_pages(tmp_path, browser).reports]
    for expected in (
        "requests http://nowhere.invalid/wrong.png from another host",
        "a script fails: wrong is not defined",
        "an image without a description: http://nowhere.invalid/wrong.png",
        "an image without a description: <svg></svg>",
        'wider than 390 pixels: <div style="width: 600px">Wrong on a phone</div>',
        "the link /index.html#gone is broken",
        "the link /gone.html is broken",
    ):
        matches = [line for line in reports if expected in line]
        assert len(matches) == 1, (expected, reports)
        reports.remove(matches[0])
    # The same image again: the browser, or a proxy, reports that it is missing.
    assert all("Failed to load resource" in line or "wrong.png answers" in line for line in reports)
