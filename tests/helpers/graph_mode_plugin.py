"""A pytest plugin: tests run in graph mode.

python -m pytest -W ignore::pytest.PytestAssertRewriteWarning \
    -p tests.helpers.graph_mode_plugin tests/nn …
"""

import pytest

from minispore import GRAPH_MODE, set_context


def pytest_configure(config: pytest.Config) -> None:
    """Set the mode before the tests are imported."""
    set_context(mode=GRAPH_MODE)
    # A short run has no replay.
    config.addinivalue_line("filterwarnings", "ignore:In GRAPH_MODE no step was replayed")


def pytest_runtest_setup() -> None:
    """Set the mode again: the test before may have chosen the other one."""
    set_context(mode=GRAPH_MODE)
