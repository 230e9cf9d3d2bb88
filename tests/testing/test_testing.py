"""The package of testing tools: its public names, and what importing it imports."""

from pathlib import Path

import minispore.testing

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "testing.md"


def test_page_lists_every_invariant() -> None:
    listed = [line.split("`")[1] for line in PAGE.read_text("utf-8").splitlines() if "| `" in line]
    assert listed == list(minispore.testing.INVARIANTS)
