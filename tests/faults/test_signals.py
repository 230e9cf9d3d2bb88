"""SIGTERM and SIGINT, with and without `OnRequestExit`, once and twice, at any moment."""

import os
import random
import signal
from pathlib import Path

import pytest

from tests.faults import kill_harness
from tests.faults.conftest import Baseline
from tests.faults.test_kills import check

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX only")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("kind", ["background", "backup"])
def test_unhandled_signal_is_like_a_kill(
    fork_server: kill_harness.ForkServer, tmp_path: Path, kind: str, number: int, baseline: Baseline
) -> None:
    seconds = baseline(kind)[0].seconds
    log = kill_harness.run_with_kills(
        fork_server, kind, tmp_path, random.Random(1), 1, seconds, number
    )
    check(kind, tmp_path, log, baseline)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_request_saves_a_resumable_checkpoint(
    fork_server: kill_harness.ForkServer, tmp_path: Path, number: int, baseline: Baseline
) -> None:
    complete, _ = baseline("request")
    stopped = fork_server.run("request", tmp_path, kill_harness.ScheduledSignal(0, number))
    assert (stopped.status, stopped.errors, stopped.end) == (0, "", "stopped")
    assert kill_harness.check_files(tmp_path) == (0, 0)
    assert list(kill_harness.output_files(tmp_path)) == ["rank_0/Net_train.ckpt"]
    resumed = fork_server.run("request", tmp_path)
    assert resumed.end == complete.end
    assert stopped.lines + resumed.lines == complete.lines
    assert kill_harness.output_files(tmp_path) == {}
