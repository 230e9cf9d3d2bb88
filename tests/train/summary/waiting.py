"""How long what is written waits for more."""

import pytest

from minispore.train.summary import _behind


def pauses(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the program and the thread wait so long."""
    for name in ("_PAUSE", "_LATEST"):
        monkeypatch.setattr(_behind, name, seconds)
