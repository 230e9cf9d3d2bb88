"""Fixtures for the tests of faults."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from minispore.tensorpack import logger
from tests.faults.disk_faults import KINDS, Disk
from tests.faults.kill_harness import ForkServer


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if os.name == "nt":
        pytest.skip("POSIX only")
    each = KINDS[request.param](tmp_path)
    yield each
    each.close()


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    server = ForkServer(tmp_path_factory.mktemp("fork_server"))
    yield server
    server.close()


@pytest.fixture(autouse=True)
def no_logger_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logger, "_folder", {})
