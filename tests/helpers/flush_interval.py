"""The delays of deferred summary tasks."""

import pytest

from minispore.train.summary import deferred_writer


def set_delays(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the delays after which the program and the thread execute tasks."""
    for name in ("_PAUSE", "_MAX_DELAY"):
        monkeypatch.setattr(deferred_writer, name, seconds)
