"""Isolation of the logger's folder between tests."""

from pathlib import Path

import pytest

from minispore.tensorpack import logger


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logger, "_folder", {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Set and return the logger's folder."""
    logger.set_logger_dir(tmp_path)
    return tmp_path
