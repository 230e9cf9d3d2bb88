"""Counts of the outcomes of mutants, printed at the end of a nightly run."""

from collections import Counter

import pytest
from hypothesis import settings

_OUTCOMES: dict[str, Counter[str]] = {}


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> Counter[str]:
    """Return the counts of the outcomes of one reader's mutants."""
    return _OUTCOMES.setdefault(request.node.callspec.id, Counter())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _OUTCOMES or settings().max_examples < 1000:
        return
    terminalreporter.section("mutants")
    total = Counter[str]()
    for name, counts in [*_OUTCOMES.items(), ("total", total)]:
        total += counts if counts is not total else Counter()
        listed = ", ".join(f"{outcome} {count}" for outcome, count in counts.most_common())
        terminalreporter.line(f"{name:30} {counts.total():7}: {listed}")
