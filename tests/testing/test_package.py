"""The package of testing tools: who does not use it does not pay for it."""

import subprocess
import sys
from pathlib import Path

import minispore.testing

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "testing.md"


def test_only_the_strategies_want_hypothesis() -> None:
    code = "import minispore.testing, sys; print('hypothesis' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert run.stdout == "False\n"


def test_every_public_name_says_what_it_is() -> None:
    for name in minispore.testing.__all__:
        what = getattr(minispore.testing, name)
        assert isinstance(what, dict) or what.__doc__


def test_the_page_has_every_law() -> None:
    listed = [line.split("`")[1] for line in PAGE.read_text("utf-8").splitlines() if "| `" in line]
    assert listed == list(minispore.testing.LAWS)
