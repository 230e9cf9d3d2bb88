"""Data-parallel training with MPI: it equals training in one process."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import minispore as ms
from tests.distributed.mpi_launcher import HERE, ROOT, launch, needs_mpi
from tests.distributed.mpi_worker import CASES, METRICS
from tests.distributed.small_training import EPOCHS, Case, model, weights

pytestmark = [needs_mpi, pytest.mark.full]
WORKER = HERE / "mpi_worker.py"
Weights = npt.NDArray[np.float32]
OTHER_EXITS = [
    ("sys.exit", "has ended"),
    ("sys.exit in a callback", "has failed"),
    ("exception", "has failed"),
    ("interrupt", "has failed"),
]


@dataclass(frozen=True)
class Run:
    processes: int
    folder: Path
    printed: str

    def results(self, scenario: str) -> list[Any]:
        files = [self.folder / f"{scenario}-{i}.json" for i in range(self.processes)]
        return [json.loads(file.read_text("utf-8")) for file in files]


def run_scenarios(processes: int, folder: Path, *scenarios: str) -> Run:
    done = launch(processes, WORKER, folder, *scenarios, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(processes, folder, done.stdout)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Run:
    scenarios = (
        "train_cases evaluate process_numbers save resume request_exit tensorpack_callbacks "
        "chief_only_callbacks"
    )
    return run_scenarios(2, tmp_path_factory.mktemp("two"), *scenarios.split())


def train_single_process(case: Case) -> Weights:
    trained = model()
    ms.set_seed(1)
    trained.train(EPOCHS, case.whole())
    return weights(trained)


def check_weights(run: Run) -> None:
    first, *others = run.results("train_cases")
    assert all(other == first for other in others)
    for case, trained in zip(CASES, np.array(first, np.float32), strict=True):
        np.testing.assert_allclose(trained, train_single_process(case), rtol=1e-4, atol=1e-6)


def test_two_processes_train_the_weights_of_one(two: Run) -> None:
    check_weights(two)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 4])
def test_other_numbers_of_processes_train_the_weights_of_one(
    processes: int, tmp_path: Path
) -> None:
    check_weights(run_scenarios(processes, tmp_path, "train_cases"))


def test_metrics_are_computed_over_all_shards(two: Run) -> None:
    ms.set_seed(1)
    expected = model().eval(METRICS.whole())
    for result in two.results("evaluate"):
        assert result == pytest.approx(expected)


def test_run_context_has_mode_and_number_of_processes(two: Run) -> None:
    assert two.results("process_numbers") == [
        ["data_parallel", 2, 2, number, number, 2, [0, 1]] for number in (0, 1)
    ]


def test_only_the_chief_writes_and_prints_by_default(two: Run) -> None:
    printed = two.printed.rpartition("[chief_only_callbacks]")[2]
    # The two processes may print parts of one line each.
    steps = sorted(re.findall(r"epoch: (\d) step: (\d), loss", printed))
    once = [(epoch, step) for epoch in "123" for step in "12"]
    assert steps == sorted(once + [(epoch, "1") for epoch in "123" for _ in range(2)])
    assert len(re.findall("Train epoch time", printed)) == EPOCHS
    files = {file.name for file in (two.folder / "chief").glob("*.ckpt")}
    assert files == {"net-1_2.ckpt", "net-2_2.ckpt", "net-3_2.ckpt"}
    assert len(list((two.folder / "summary").glob("*.events.summary.*_MS"))) == 1


def test_resume_with_equally_many_processes_is_exact(two: Run) -> None:
    saved = two.results("save")
    assert two.results("resume") == [[result, result] for result in saved]


def check_resumed_weights(run: Run, processes: int, folder: Path) -> None:
    shutil.copytree(run.folder / "saves", folder / "saves")
    whole = run.results("save")[0]
    for within_epoch, after_epoch in run_scenarios(processes, folder, "resume").results("resume"):
        np.testing.assert_allclose(within_epoch, whole, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(after_epoch, whole, rtol=1e-4, atol=1e-6)


def test_run_of_two_processes_resumes_in_one(two: Run, tmp_path: Path) -> None:
    check_resumed_weights(two, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 4), (4, 1)])
def test_resume_with_another_number_of_processes(before: int, after: int, tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    check_resumed_weights(
        run_scenarios(before, tmp_path / "before", "save"), after, tmp_path / "after"
    )


def test_exit_request_of_one_process_saves_the_training(two: Run) -> None:
    for events, same in two.results("request_exit"):
        assert events == [["step", 1], ["step", 2], ["end", 2]]
        assert same


def test_tensorpack_callbacks_run_in_the_chief_by_default(two: Run) -> None:
    first, second = two.results("tensorpack_callbacks")
    # After StopTraining the first process calls no callback of all processes.
    assert first[:3] == ["in chief", "in all", "in chief"]
    assert set(first[3:]) == {"in chief"}
    assert second == ["in all"] * 2


def test_error_in_one_process_aborts_all_and_is_printed(tmp_path: Path) -> None:
    done = launch(2, WORKER, tmp_path, "fail_in_callback", folder=tmp_path)
    assert done.returncode != 0
    assert "minispore: process 1 of 2 has failed; all processes are aborted." in done.stderr
    assert "ArithmeticError: division by zero" in done.stderr
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("end", "has ended"),
        ("release", "has called 'release'"),
        ("os._exit", r"has called 'os\._exit\(0\)'"),
        *(pytest.param(way, reason, marks=pytest.mark.slow) for way, reason in OTHER_EXITS),
    ],
)
def test_process_that_leaves_ends_all(way: str, reason: str, tmp_path: Path) -> None:
    """Within seconds, and with the reason."""
    start = monotonic()
    done = launch(2, WORKER, tmp_path, "leave", folder=tmp_path, LEAVE=way)
    assert monotonic() - start < 30  # six seconds, and the start of the programs
    assert done.returncode != 0
    assert re.search(f"process 1 (of 2 )?{reason}", done.stderr)
    assert "KeyboardInterrupt" in done.stderr or way != "interrupt"
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("status", [0, 3])
def test_processes_that_all_leave_end_with_their_status(status: int, tmp_path: Path) -> None:
    """One of them seconds later."""
    done = launch(2, WORKER, tmp_path, "leave_together", folder=tmp_path, LEAVE=str(status))
    assert (done.returncode, done.stderr) == (status, "")
    assert done.stdout.endswith("worked\n")


@pytest.mark.slow
def test_timeout_aborts_all_processes(tmp_path: Path) -> None:
    done = launch(
        2, WORKER, tmp_path, "skip_collective", folder=tmp_path, MINISPORE_MPI_TIMEOUT="1"
    )
    assert done.returncode != 0
    assert "process 0 has waited for the other processes for 1 seconds" in done.stderr
    assert "    train(CASES[0])" in done.stderr.partition("It waits here:")[2]


@pytest.mark.slow
def test_data_parallel_example_reads_digits(tmp_path: Path) -> None:
    done = launch(2, ROOT / "examples" / "data_parallel.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    percents = re.findall(r"2 processes read (\d+\.\d)% of the digits", done.stdout)
    assert len(percents) == 1
    assert float(percents[0]) > 70
    page = (ROOT / "docs" / "howto" / "data_parallel.md").read_text("utf-8")
    documented = re.findall(r"^2 processes read (\d+\.\d)% of the digits$", page, re.MULTILINE)
    assert len(documented) == 1
    # Rounding errors differ between machines.
    assert abs(float(percents[0]) - float(documented[0])) < 5
    assert {file.name for file in (tmp_path / "data_parallel").glob("*.ckpt")} == {
        f"net-{epoch}_32.ckpt" for epoch in (1, 2, 3)
    }
