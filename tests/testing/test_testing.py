"""The package of testing tools: its public names, and what importing it imports."""

import importlib
from pathlib import Path

import pytest

import minispore.testing

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "testing.md"


def test_page_lists_every_invariant() -> None:
    listed = [line.split("`")[1] for line in PAGE.read_text("utf-8").splitlines() if "| `" in line]
    assert listed == list(minispore.testing.INVARIANTS)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("minispore.testing", "BrokenLaw", "Violation"),
        ("minispore.testing", "LAWS", "INVARIANTS"),
        ("minispore.testing", "PlannedError", "InjectedError"),
        ("minispore.testing", "PlannedKill", "InjectedKill"),
        ("minispore.testing", "Schedule", "Scenario"),
        ("minispore.testing", "Trouble", "Fault"),
        ("minispore.testing.strategies", "schedules", "scenarios"),
    ],
)
def test_former_names_raise_errors_with_the_present_names(module: str, old: str, new: str) -> None:
    with pytest.raises(ImportError, match=f"'{module}.{old}' was renamed: use '{new}'"):
        getattr(importlib.import_module(module), old)
