"""The committed pictures are equal to the drawings of the current source."""

from pathlib import Path

from tests.helpers.scripts import load_script

DOCS = Path(__file__).parents[2] / "docs"


def test_committed_picture_is_current() -> None:
    module = load_script(DOCS / "draw.py")
    assert module.FILE.read_text("utf-8") == module.draw() + "\n"
