"""The default callbacks and monitors."""

import json
from pathlib import Path

import pytest

from minispore.tensorpack import (
    DEFAULT_CALLBACKS,
    DEFAULT_MONITORS,
)
from tests.tensorpack.small_trainings import train_counting


def test_default_callbacks_and_monitors_write_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_counting(*DEFAULT_CALLBACKS(), *DEFAULT_MONITORS())
    assert {path.name.split(".")[0] for path in folder.iterdir()} == {"events", "stats"}
    rows = json.loads((folder / "stats.json").read_text("utf-8"))
    assert [row["half"] for row in rows] == [1.5, 3]
