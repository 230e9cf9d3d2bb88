"""Several processes train what one would, and each is told what it must know of the others."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import minispore as ms
from tests.parallel.launching import HERE, ROOT, launch, needs_mpi
from tests.parallel.learning import EPOCHS, Case, model, weights
from tests.parallel.scenes import CASES, METRICS

pytestmark = needs_mpi
SCENES = HERE / "scenes.py"
Weights = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Run:
    """What was printed and written by so many processes."""

    processes: int
    folder: Path
    printed: str

    def seen(self, scene: str) -> list[Any]:
        """What each process has seen of a scene."""
        files = [self.folder / f"{scene}-{i}.json" for i in range(self.processes)]
        return [json.loads(file.read_text("utf-8")) for file in files]


def play(processes: int, folder: Path, *scenes: str) -> Run:
    done = launch(processes, SCENES, folder, *scenes, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(processes, folder, done.stdout)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Run:
    scenes = (
        "laws metrics stops params saves resumes exits backs schools unlike settings loop chief"
    )
    return play(2, tmp_path_factory.mktemp("two"), *scenes.split())


def alone(case: Case) -> Weights:
    """What one process trains with the batches of all."""
    trained = model()
    ms.set_seed(1)
    trained.train(EPOCHS, case.whole())
    return weights(trained)


def check_laws(run: Run) -> None:
    first, *others = run.seen("laws")
    assert all(other == first for other in others)
    for case, trained in zip(CASES, np.array(first, np.float32), strict=True):
        np.testing.assert_allclose(trained, alone(case), rtol=1e-4, atol=1e-6)


def test_two_processes_train_what_one_does_with_the_batches_of_both(two: Run) -> None:
    check_laws(two)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 4])
def test_so_many_processes_train_what_one_does(processes: int, tmp_path: Path) -> None:
    check_laws(play(processes, tmp_path, "laws"))


def test_metrics_are_those_of_all_data(two: Run) -> None:
    ms.set_seed(1)
    expected = model().eval(METRICS.whole())
    for found in two.seen("metrics"):
        assert found == pytest.approx(expected)


def test_a_stop_asked_for_by_one_process_stops_all_after_that_step(two: Run) -> None:
    for events, for_good in two.seen("stops"):
        assert events == [["step", 1], ["step", 2], ["step", 3], ["end", 3]]
        assert for_good == [*(["step", i] for i in (1, 2, 3, 4)), ["end", 4]]


def test_callbacks_are_told_of_the_processes(two: Run) -> None:
    assert two.seen("params") == [
        ["data_parallel", 2, 2, number, number, 2, [0, 1]] for number in (0, 1)
    ]


def test_the_first_process_alone_writes_and_prints_unless_asked(two: Run) -> None:
    printed = two.printed.rpartition("[chief]")[2]
    # Lines of two processes may run into one another.
    found = sorted(re.findall(r"epoch: (\d) step: (\d), loss", printed))
    once = [(epoch, step) for epoch in "123" for step in "12"]
    assert found == sorted(once + [(epoch, "1") for epoch in "123" for _ in range(2)])
    assert len(re.findall("Train epoch time", printed)) == EPOCHS
    steps = {file.name for file in (two.folder / "chief").glob("*.ckpt")}
    assert steps == {"net-1_2.ckpt", "net-2_2.ckpt", "net-3_2.ckpt"}
    assert len(list((two.folder / "summary").glob("*.events.summary.*_MS"))) == 1


def test_a_training_goes_on_with_as_many_processes_and_every_bit(two: Run) -> None:
    saved = two.seen("saves")
    assert two.seen("resumes") == [[each, each] for each in saved]


def resumed(run: Run, processes: int, folder: Path) -> None:
    shutil.copytree(run.folder / "saves", folder / "saves")
    whole = run.seen("saves")[0]
    for inside, after in play(processes, folder, "resumes").seen("resumes"):
        np.testing.assert_allclose(inside, whole, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(after, whole, rtol=1e-4, atol=1e-6)


def test_a_training_of_two_processes_goes_on_with_one(two: Run, tmp_path: Path) -> None:
    resumed(two, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 4), (4, 1)])
def test_a_training_goes_on_with_another_number_of_processes(
    before: int, after: int, tmp_path: Path
) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    resumed(play(before, tmp_path / "before", "saves"), after, tmp_path / "after")


def test_a_request_to_exit_that_one_process_gets_saves_the_training(two: Run) -> None:
    for events, same in two.seen("exits"):
        assert events == [["step", 1], ["step", 2], ["end", 2]]
        assert same


def test_tensorpacks_callbacks_are_the_first_process_s_unless_they_say_otherwise(two: Run) -> None:
    first, second = two.seen("schools")
    # After StopTraining there is silence, where it was raised.
    assert first[:3] == ["alone", "everywhere", "alone"]
    assert set(first[3:]) == {"alone"}
    assert second == ["everywhere"] * 2


def test_a_training_that_is_begun_again_goes_on_in_all_processes(two: Run) -> None:
    assert two.seen("backs") == [[["step", 5], True]] * 2


def test_data_that_do_not_end_together_are_refused_in_all_processes(two: Run) -> None:
    for said in two.seen("unlike"):
        assert re.search("equally many batches, .* are 1, 2", str(said))


def test_settings_that_differ_are_refused_in_all_processes(two: Run) -> None:
    for epochs, decay in two.seen("settings"):
        assert "'epoch' is 2 in process 0 and 3 in process 1." in epochs
        assert "'optimizer.weight_decay' is 0.0 in process 0 and 0.1 in process 1;" in decay


def test_processes_whose_networks_differ_all_fail(tmp_path: Path) -> None:
    done = launch(2, SCENES, tmp_path, "diverges", folder=tmp_path)
    assert done.returncode != 0
    assert "after epoch 1 these differ from process 0's in process 1: '0.weight'" in done.stderr
    assert not list(tmp_path.glob("*.json"))


def test_a_loop_of_one_s_own_has_the_same_gradients_everywhere(two: Run) -> None:
    first, second = two.seen("loop")
    assert first == second
    mean, total, by_default, by_four = first[0]
    assert mean == by_default == [[[1.0, 0.5]], [5.0]]
    assert total == [[[2.0, 1.0]], [10.0]]
    assert by_four == [[[0.5, 0.25]], [2.5]]
    # The weights are the first process's, 0; so its loss is 0, and the other's 1.
    assert first[1] == 0.5


@pytest.mark.parametrize("scene", ["raises", pytest.param("uncaught", marks=pytest.mark.slow)])
def test_an_error_in_one_process_ends_all_with_its_message(scene: str, tmp_path: Path) -> None:
    done = launch(2, SCENES, tmp_path, scene, folder=tmp_path)
    assert done.returncode != 0
    assert "minispore: process 1 of 2 has failed, so all are ended." in done.stderr
    assert "ArithmeticError: the milk has boiled over" in done.stderr
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.slow
def test_nobody_waits_for_ever(tmp_path: Path) -> None:
    done = launch(2, SCENES, tmp_path, "sleeps", folder=tmp_path, MINISPORE_MPI_TIMEOUT="1")
    assert done.returncode != 0
    assert "process 0 has waited for the others for 1 seconds" in done.stderr
    assert "    train(CASES[0])" in done.stderr.partition("It waits here:")[2]


@pytest.mark.slow
def test_the_example_reads_digits(tmp_path: Path) -> None:
    done = launch(2, ROOT / "examples" / "data_parallel.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"2 processes read (\d+\.\d)% of the digits", done.stdout)
    assert len(said) == 1
    assert float(said[0]) > 70
    assert {file.name for file in (tmp_path / "data_parallel").glob("*.ckpt")} == {
        f"net-{epoch}_32.ckpt" for epoch in (1, 2, 3)
    }
