"""Fixtures for the tests of faults."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from minispore.tensorpack import logger
from tests.faults.disk_faults import KINDS, Disk
from tests.faults.kill_harness import ForkServer, Run, check_files, output_files

Baseline = Callable[[str], tuple[Run, dict[str, bytes]]]


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if os.name == "nt":
        pytest.skip("POSIX only")
    medium = KINDS[request.param](tmp_path)
    yield medium
    medium.close()


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    server = ForkServer(tmp_path_factory.mktemp("fork_server"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def baseline(fork_server: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    """Return a function that returns the lines and the files of a training that is not killed."""

    @cache
    def run(kind: str) -> tuple[Run, dict[str, bytes]]:
        folder = tmp_path_factory.mktemp(kind)
        complete = fork_server.run(kind, folder)
        assert (complete.status, complete.errors) == (0, "")
        assert complete.end.startswith("end ")
        assert check_files(folder) == (0, 0)
        return complete, output_files(folder)

    return run


@pytest.fixture(autouse=True)
def no_logger_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logger, "_folder", {})
