"""The committed pictures are equal to the drawings of the current source."""

from tests.helpers.scripts import SCRIPTS, load_script


def test_committed_picture_is_current() -> None:
    module = load_script(SCRIPTS / "draw.py")
    assert module.FILE.read_text("utf-8") == module.draw() + "\n"
