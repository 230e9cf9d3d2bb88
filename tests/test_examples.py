"""The example scripts run as a person would run them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minispore.train.summary import read_events

FOLDER = Path(__file__).parents[1] / "examples"
# Those of several processes have tests of their own, in tests/parallel.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "data_parallel.py"})


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_an_example_runs_without_a_warning(script: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    if script.name == "tutorial.py":
        check_tutorial(run.stdout, tmp_path / "tutorial")
    if script.name == "lenet.py":
        check_lenet(run.stdout, tmp_path / "lenet")
    if script.name == "tensorpack.py":
        check_tensorpack(run.stdout, tmp_path / "tensorpack")


def check_tutorial(printed: str, folder: Path) -> None:
    files = {file.name for file in folder.iterdir() if file.is_file()}
    assert {"digits-1_100.ckpt", "digits-1_188.ckpt", "digits-graph.meta", "best.ckpt"} <= files
    assert re.search(r"^epoch: 1 step: 50, loss is \d\.\d+$", printed, re.MULTILINE)
    assert re.search(
        r"^Eval result: epoch 2, metrics: {'accuracy': 0\.\d+}$", printed, re.MULTILINE
    )
    assert "time is up in epoch " in printed
    assert set(re.findall(r"saved (\S+)", printed)) == {f for f in files if f.startswith("low-")}
    best = re.search(r"the best network reads (\d+\.\d)%", printed)
    assert best
    assert float(best[1]) > 80


def check_lenet(printed: str, folder: Path) -> None:
    checkpoints = {file.name for file in folder.glob("*.ckpt")}
    assert checkpoints == {"lenet-2_188.ckpt", "lenet-3_188.ckpt"}
    accuracies = re.findall(r"metrics: {'accuracy': (0\.\d+)}", printed)
    assert len(accuracies) == 3
    # What was saved last reads as well as what was trained.
    assert f"LeNet-5 reads {float(accuracies[-1]):.2%} of the test images" in printed
    assert float(accuracies[-1]) > 0.85


def check_tensorpack(printed: str, folder: Path) -> None:
    rows = json.loads((folder / "stats.json").read_text())
    assert [(row["epoch_num"], row["global_step"]) for row in rows] == [
        (1, 188),
        (2, 376),
        (3, 564),
    ]
    errors = [row["val-error-top1"] for row in rows]
    assert f"the best error was {min(errors):.1%}" in printed
    assert min(errors) < 0.2
    assert all(row["val-error-top5"] < error for row, error in zip(rows, errors, strict=True))

    notes = (folder / "notifications.txt").read_text().splitlines()
    assert notes == [f"validation error {error}" for error in errors]
    checkpoints = {file.name for file in folder.glob("*.ckpt")}
    assert checkpoints == {
        "model-188.ckpt",
        "model-376.ckpt",
        "model-564.ckpt",
        "min-val-error-top1.ckpt",
    }
    # What was saved as the best is the epoch with the least error, not the one before it.
    best = min(rows, key=lambda row: row["val-error-top1"])["global_step"]
    saved = [folder / "min-val-error-top1.ckpt", folder / f"model-{best}.ckpt"]
    assert saved[0].read_bytes() == saved[1].read_bytes()

    (events,) = folder.glob("events.out.tfevents.*")
    tags = {value.tag for event in read_events(events) for value in event.values}
    assert tags == {"loss", "learning_rate", "loss/EMA", "val-error-top1", "val-error-top5"}
    for tag in tags:
        assert len(re.findall(rf"^{tag}: \d", printed, re.MULTILINE)) == 3
    assert "100%" in printed
    assert re.search(r"epoch: 1 step: 100, loss is \d\.\d+$", printed, re.MULTILINE)
