"""The example scripts run as from the command line."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Parameter, load_checkpoint
from minispore.train.summary import read_events

FOLDER = Path(__file__).parents[2] / "examples"
# The examples of several processes are tested in tests/parallel.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "data_parallel.py"})


@pytest.mark.full
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs_without_warnings(script: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    CHECKS[script.stem](run.stdout, tmp_path / script.stem)


def test_readme_lists_all_examples() -> None:
    page = (FOLDER.parent / "docs" / "index.md").read_text("utf-8")
    listed = re.findall(r"^\| `examples/(\w+\.py)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(file.name for file in FOLDER.glob("*.py"))


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
    # The last checkpoint is as accurate as the trained network.
    assert f"LeNet-5 reads {float(accuracies[-1]):.2%} of the test images" in printed
    assert float(accuracies[-1]) > 0.85


def check_tensorpack(printed: str, folder: Path) -> None:
    rows = json.loads((folder / "stats.json").read_text("utf-8"))
    assert [(row["epoch_num"], row["global_step"]) for row in rows] == [
        (1, 188),
        (2, 376),
        (3, 564),
    ]
    errors = [row["val-error-top1"] for row in rows]
    assert f"the best error was {min(errors):.1%}" in printed
    assert min(errors) < 0.2
    assert all(row["val-error-top5"] < error for row, error in zip(rows, errors, strict=True))

    notes = (folder / "notifications.txt").read_text("utf-8").splitlines()
    assert notes == [f"validation error {error}" for error in errors]
    checkpoints = {file.name for file in folder.glob("*.ckpt")}
    assert checkpoints == {
        "model-188.ckpt",
        "model-376.ckpt",
        "model-564.ckpt",
        "min-val-error-top1.ckpt",
    }
    # The best checkpoint is that of the epoch with the lowest error.
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


def check_custom_callbacks(printed: str, folder: Path) -> None:
    saved = dict(re.findall(r"^saved (below-\S+) with a loss of (\S+)$", printed, re.MULTILINE))
    assert saved
    assert max(map(float, saved.values())) < 0.1
    assert {file.name for file in folder.iterdir()} == {*saved, "best.ckpt"}

    best = re.findall(r"^saved best.ckpt with an accuracy of (\S+)%$", printed, re.MULTILINE)
    assert best == sorted(best)
    assert f"best.ckpt reads {best[-1]}% of the test images" in printed

    epochs = re.findall(
        r"^first run: epoch (\d) of 4, step (\d+) of 240, mean loss (\S+)$", printed, re.MULTILINE
    )
    assert [(int(epoch), int(step)) for epoch, step, _ in epochs] == [
        (epoch, 60 * epoch) for epoch in (1, 2, 3, 4)
    ]
    assert float(epochs[-1][2]) < float(epochs[0][2]) / 3

    assert "stopped after 0.5 s, in epoch " in printed
    (loss,) = re.findall(r"^stopped at a loss of (\S+), in step \d+$", printed, re.MULTILINE)
    assert float(loss) <= 0.3
    ((accuracy, epoch),) = re.findall(
        r"^stopped at an accuracy of (\S+)%, in epoch (\d+)$", printed, re.MULTILINE
    )
    assert float(accuracy) >= 89
    assert printed.splitlines()[-2].startswith(f"last run: epoch {epoch} of 1000")


def check_own_callback(printed: str, folder: Path) -> None:
    assert not folder.exists()
    steps = [int(n) for n in re.findall(r"^stopped in step (\d+) at 0\.", printed, re.MULTILINE)]
    losses = re.findall(r"^the mean loss of all digits is (\S+)$", printed, re.MULTILINE)
    # The loss of a single batch falls below the limit long before the average does.
    assert steps[0] < steps[1]
    assert float(losses[0]) > 1.2 * float(losses[1])
    assert "The callback FirstTry violates 2 of 10 invariants." in printed
    assert re.findall(r"^(\w+): .*\.$", printed, re.MULTILINE) == ["reuse", "resume", "Tried"]
    assert printed.endswith("After the correction:\nIt satisfies all invariants.\n")


def check_resume(printed: str, folder: Path) -> None:
    whole, killed, rest, end = printed.split("\n\n")
    losses = whole.splitlines()[1:]
    assert len(losses) == 8
    assert killed.splitlines() == [
        "Killed:",
        *losses[:5],
        "waiting to be killed",
        f"its exit status is {-signal.SIGKILL}",
        "it left backup.ckpt",
    ]
    assert rest.splitlines()[1:] == losses[4:]
    assert end == "The losses are the same, and the networks are, byte for byte.\n"
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {str(file.relative_to(folder)) for file in files} == {
        "whole/network.ckpt",
        "killed/network.ckpt",
    }
    assert files[0].read_bytes() == files[1].read_bytes()


def check_tensorboard_run(printed: str, folder: Path) -> None:
    assert printed.endswith(f"To see it: tensorboard --logdir {folder.name}\n")
    last_losses: list[float] = []
    for rate in ("0.02", "0.2"):
        (file,) = (folder / f"rate-{rate}").glob("events.out.tfevents.*")
        events = [event for event in read_events(file) if event.values]
        tags = {value.tag for event in events for value in event.values}
        assert {"input_data/auto", "loss/auto", "1.weight/auto", "eval_accuracy/auto"} < tags

        text = printed.partition(f"rate-{rate}, {file.stat().st_size} bytes:\n")[2]
        shown = text.splitlines()[: len(tags)]
        assert {line.split(":")[0].strip() for line in shown} == tags
        values = [
            value.content for event in events for value in event.values if value.tag == "loss/auto"
        ]
        losses = [value for value in values if isinstance(value, float)]
        assert len(losses) == 7  # steps 1, 10, 20, …
        line = f"  loss/auto: in step 1 {losses[0]:.4f}, in step 60 {losses[-1]:.4f}"
        assert line in shown
        last_losses.append(losses[-1])
    # The two runs differ.
    assert last_losses[0] > last_losses[1]


def check_read_checkpoint(printed: str, folder: Path) -> None:
    data = (folder / "digits.ckpt").read_bytes()
    assert f"digits.ckpt has {len(data)} bytes; it begins with {data[:16].hex(' ')}" in printed
    # The printed files exist.
    names = re.findall(r"^byte +(\d+): +its name is '(.+)'$", printed, re.MULTILINE)
    places = re.findall(r"^byte +(\d+): +(\d+) bytes, (.*) …$", printed, re.MULTILINE)
    loaded = load_checkpoint(str(folder / "digits.ckpt"))
    assert [name for _, name in names] == list(loaded)
    for (at, name), (start, length, begin) in zip(names, places, strict=True):
        assert data[int(at) :].startswith(name.encode())
        content = data[int(start) : int(start) + int(length)]
        assert content[:4].hex(" ") == begin
        parameter = loaded[name]
        assert isinstance(parameter, Parameter)
        assert content == parameter.asnumpy().astype(np.dtype("<f4")).tobytes()
    assert printed.endswith(f"load_checkpoint finds the same {len(loaded)} arrays, bit for bit\n")


# The checks of the output and the files of each example.
CHECKS: dict[str, Callable[[str, Path], None]] = {
    "custom_callbacks": check_custom_callbacks,
    "lenet": check_lenet,
    "own_callback": check_own_callback,
    "read_checkpoint": check_read_checkpoint,
    "resume": check_resume,
    "tensorboard_run": check_tensorboard_run,
    "tensorpack": check_tensorpack,
    "tutorial": check_tutorial,
}
