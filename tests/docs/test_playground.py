"""The callback playground on its page."""

from types import SimpleNamespace

import pytest

from minispore._course import playground
from tests.helpers.pages import DOCS
from tests.helpers.scripts import SCRIPTS, load_script

PLACE = '<div class="playground"></div>'


@pytest.mark.parametrize("name", ["playground.md", "playground.zh.md"])
def test_form_is_in_its_place(name: str) -> None:
    hook = load_script(SCRIPTS / "playground.py")
    page = SimpleNamespace(file=SimpleNamespace(src_uri=name))
    assert PLACE in (DOCS / name).read_text("utf-8")
    begin, form, end = hook.on_page_content(f"begin\0{PLACE}\0end", page).split("\0")
    assert (begin, end) == ("begin", "end")
    assert 'data-address=""' in form
    # The outcome of the first choices.
    assert "<strong>a sentence</strong> of the grammar" in form
    assert ("Your classes" in form) == (name == "playground.md")
    assert ("你的类" in form) == (name == "playground.zh.md")
    assert hook.on_page_content("another page", page) == "another page"


def test_page_uses_only_what_the_scripts_above_it_define() -> None:
    form = playground.part("playground.html")
    scripts = playground.part("editor.js") + (DOCS / "assets" / "run.js").read_text("utf-8")
    for name in ("fit", "pressed", "inWorker", "halt"):
        assert f"{name}(" in form
        assert f"function {name}(" in scripts
