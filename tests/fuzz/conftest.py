"""The count of what came of the mutants, told at the end of a nightly run."""

from collections import Counter

import pytest
from hypothesis import settings

_OUTCOMES: dict[str, Counter[str]] = {}


@pytest.fixture
def outcomes(request: pytest.FixtureRequest) -> Counter[str]:
    """What came of the mutants of one reader."""
    return _OUTCOMES.setdefault(request.node.callspec.id, Counter())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _OUTCOMES or settings().max_examples < 1000:
        return
    terminalreporter.section("mutants")
    total = Counter[str]()
    for name, counts in [*_OUTCOMES.items(), ("in all", total)]:
        total += counts if counts is not total else Counter()
        told = ", ".join(f"{what} {count}" for what, count in counts.most_common())
        terminalreporter.line(f"{name:30} {counts.total():7}: {told}")
