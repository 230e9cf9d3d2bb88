"""The check of the built site: what it finds on a page that has everything wrong, and no more."""

import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "check_site.py"
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
    spec = spec_from_file_location("check_site", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_what_is_wrong_with_a_page_is_found(tmp_path: Path, check_site: ModuleType) -> None:
    browser = next(filter(None, map(shutil.which, check_site.BROWSERS)), None)
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    (tmp_path / "index.html").write_text(WRONG, "utf-8")
    (tmp_path / "right.html").write_text("<p>Right</p>", "utf-8")
    told = [str(line) for line in check_site.look_at_all(tmp_path, browser).told]
    for wanted in (
        "asks elsewhere for http://nowhere.invalid/wrong.png",
        "a script fails: wrong is not defined",
        "a picture without words: http://nowhere.invalid/wrong.png",
        "a picture without words: <svg></svg>",
        'wider than 390 pixels: <div style="width: 600px">Wrong on a phone</div>',
        "the link /index.html#gone leads nowhere",
        "the link /gone.html leads nowhere",
    ):
        found = [line for line in told if wanted in line]
        assert len(found) == 1, (wanted, told)
        told.remove(found[0])
    # The same picture again: the browser, or a proxy on its way, says that it is not there.
    assert all("Failed to load resource" in line or "wrong.png answers" in line for line in told)
