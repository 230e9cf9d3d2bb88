"""What the tests of faults share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minispore.tensorpack import logger

from .disks import KINDS, Disk
from .killing import Nursery


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A disk of each kind."""
    if os.name == "nt":
        pytest.skip("these faults are POSIX's")
    made = KINDS[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    """What starts trainings."""
    made = Nursery(tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing in this process waits for the disk: no fault here outlives the system's memory."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(autouse=True)
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has tensorpack's logger to itself."""
    monkeypatch.setattr(logger, "_folder", {})
