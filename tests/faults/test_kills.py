"""A training killed at any moment with `kill -9` can be resumed, with equal results.

    pytest -m slow tests/faults/test_kills.py

kills each kind of training a hundred times, or as often as MINISPORE_KILLS says.
"""

import os
import random
import signal
from pathlib import Path

import pytest

from tests.faults import kill_harness
from tests.faults.conftest import Baseline
from tests.faults.training_script import KINDS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX only")

KILLS = int(os.environ.get("MINISPORE_KILLS", "100"))
# A training that saves only on request cannot be resumed after a kill.
SAVED = [kind for kind in KINDS if kind != "request"]


def check(kind: str, folder: Path, log: kill_harness.KillRun, baseline: Baseline) -> None:
    complete, files = baseline(kind)
    assert log.runs[-1].end == complete.end
    kill_harness.check_lines(log, complete.lines)
    assert kill_harness.output_files(folder) == files


@pytest.mark.parametrize(
    "kind", ["backup", *(pytest.param(k, marks=pytest.mark.full) for k in SAVED if k != "backup")]
)
def test_killed_training_resumes_with_equal_results(
    fork_server: kill_harness.ForkServer, tmp_path: Path, kind: str, baseline: Baseline
) -> None:
    seconds = baseline(kind)[0].seconds
    log = kill_harness.run_with_kills(fork_server, kind, tmp_path, random.Random(kind), 1, seconds)
    check(kind, tmp_path, log, baseline)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAVED)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
def test_repeatedly_killed_training_ends_with_equal_results(
    fork_server: kill_harness.ForkServer, tmp_path: Path, kind: str, number: int, baseline: Baseline
) -> None:
    """KeyboardInterrupt may be raised between any two statements."""
    rng = random.Random()
    seconds = baseline(kind)[0].seconds
    logs: list[kill_harness.KillRun] = []
    while (missing := KILLS - sum(log.kills for log in logs)) > 0:
        folder = tmp_path / str(len(logs))
        within = seconds * (1 if number == signal.SIGINT else rng.choice((0.1, 0.3, 1)))
        logs.append(
            kill_harness.run_with_kills(fork_server, kind, folder, rng, missing, within, number)
        )
        check(kind, folder, logs[-1], baseline)
    print(
        f"{kind}: {sum(log.kills for log in logs)} kills in {len(logs)} trainings, all with the "
        f"results of the baseline; hidden files left by kills: {sum(log.litter for log in logs)}, "
        f"event files and lines cut short: {sum(log.torn for log in logs)}"
    )


@pytest.mark.slow
def test_stop_request_followed_by_kill_can_be_resumed(
    fork_server: kill_harness.ForkServer, tmp_path: Path, baseline: Baseline
) -> None:
    """Clusters send SIGTERM, and shortly after it SIGKILL."""
    rng = random.Random()
    complete, _ = baseline("request")
    stopped = killed = 0
    log = kill_harness.KillRun()
    while stopped + killed < KILLS:
        signals = [
            kill_harness.ScheduledSignal(rng.uniform(0, complete.seconds / 2), signal.SIGTERM),
            kill_harness.ScheduledSignal(rng.uniform(0, 0.05)),
        ]
        part = fork_server.run("request", tmp_path, *signals[: rng.choice((1, 2))])
        assert part.errors == ""
        log.runs.append(part)
        kill_harness.check_files(tmp_path)
        stopped += part.end == "stopped"
        killed += part.status == -signal.SIGKILL
        if part.end.startswith("end"):
            assert part.end == complete.end
            kill_harness.check_lines(log, complete.lines)
            assert kill_harness.output_files(tmp_path) == {}
            log = kill_harness.KillRun()
    print(f"request: {stopped} stops on request, {killed} kills")
