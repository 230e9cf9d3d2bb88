"""The example scripts run as from the command line."""

import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Parameter, load_checkpoint
from minispore.train.summary import read_events
from tests.helpers.processes import run_python

FOLDER = Path(__file__).parents[2] / "examples"
# The examples of several processes are tested in tests/parallel.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "data_parallel.py"})


@pytest.mark.full
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.name)
def test_example_runs_without_warnings(script: Path, tmp_path: Path) -> None:
    run = run_python("-W", "error", script, folder=tmp_path)
    assert run.stderr == ""
    CHECKS[script.stem](run.stdout, tmp_path / script.stem)


def numbers(pattern: str, printed: str) -> list[float]:
    """Return the numbers at the place of N in the lines of this pattern."""
    pattern = pattern.replace("N", r"(\d+\.\d+|\d+)")
    return [float(number) for number in re.findall(f"^{pattern}", printed, re.MULTILINE)]


def names_of(folder: Path, pattern: str = "*.ckpt") -> set[str]:
    return {file.name for file in folder.glob(pattern)}


def check_tutorial(printed: str, folder: Path) -> None:
    files = names_of(folder, "*.*")
    assert {"digits-1_100.ckpt", "digits-1_188.ckpt", "digits-graph.meta", "best.ckpt"} <= files
    assert numbers("epoch: 1 step: 50, loss is N$", printed)
    assert numbers("Eval result: epoch 2, metrics: {'accuracy': N}$", printed)
    assert "time is up in epoch " in printed
    assert set(re.findall(r"saved (\S+)", printed)) == {f for f in files if f.startswith("low-")}
    assert numbers(".*the best network reads N%", printed)[0] > 80


def check_lenet(printed: str, folder: Path) -> None:
    assert names_of(folder) == {"lenet-2_188.ckpt", "lenet-3_188.ckpt"}
    accuracies = numbers(".*metrics: {'accuracy': N}", printed)
    assert len(accuracies) == 3
    # The last checkpoint is as accurate as the trained network.
    assert f"LeNet-5 reads {accuracies[-1]:.2%} of the test images" in printed
    assert accuracies[-1] > 0.85


def check_tensorpack(printed: str, folder: Path) -> None:
    rows = json.loads((folder / "stats.json").read_text("utf-8"))
    steps = [row["global_step"] for row in rows]
    assert steps == [188, 376, 564]
    errors = [row["val-error-top1"] for row in rows]
    assert f"the best error was {min(errors):.1%}" in printed
    assert min(errors) < 0.2
    notes = (folder / "notifications.txt").read_text("utf-8").splitlines()
    assert notes == [f"validation error {error}" for error in errors]
    # The best checkpoint is that of the epoch with the lowest error.
    best = folder / "min-val-error-top1.ckpt"
    saved = [folder / f"model-{step}.ckpt" for step in steps]
    assert names_of(folder) == {best.name, *(file.name for file in saved)}
    assert best.read_bytes() == saved[errors.index(min(errors))].read_bytes()
    (events,) = folder.glob("events.out.tfevents.*")
    tags = {value.tag for event in read_events(events) for value in event.values}
    assert tags == {"loss", "learning_rate", "loss/EMA", "val-error-top1", "val-error-top5"}
    assert all(len(numbers(f"{tag}: N", printed)) == 3 for tag in tags)


def check_custom_callbacks(printed: str, folder: Path) -> None:
    saved = dict(re.findall(r"^saved (below-\S+) with a loss of (\S+)$", printed, re.MULTILINE))
    assert 0 < max(map(float, saved.values())) < 0.1
    assert names_of(folder, "*") == {*saved, "best.ckpt"}
    best = numbers("saved best.ckpt with an accuracy of N%$", printed)
    assert best == sorted(best)
    losses = numbers(r"first run: epoch \d of 4, step \d+ of 240, mean loss N$", printed)
    assert len(losses) == 4
    assert losses[-1] < losses[0] / 3
    assert "stopped after 0.5 s, in epoch " in printed
    assert numbers(r"stopped at a loss of N, in step \d+$", printed)[0] <= 0.3
    assert numbers(r"stopped at an accuracy of N%, in epoch \d+$", printed)[0] >= 89


def check_own_callback(printed: str, folder: Path) -> None:
    assert not folder.exists()
    steps = numbers(r"stopped in step N at 0\.", printed)
    losses = numbers("the mean loss of all digits is N$", printed)
    # The loss of a single batch falls below the limit long before the average does.
    assert steps[0] < steps[1]
    assert losses[0] > 1.2 * losses[1]
    assert re.findall(r"^(\w+): .*\.$", printed, re.MULTILINE) == ["reuse", "resume", "Tried"]
    assert printed.endswith("After the correction:\nIt satisfies all invariants.\n")


def check_resume(printed: str, folder: Path) -> None:
    whole, killed, resumed, end = (part.splitlines() for part in printed.split("\n\n"))
    assert len(whole) == 1 + 8
    assert killed[1:6] == whole[1:6]
    assert killed[-2:] == [
        f"its exit status is {-signal.SIGKILL}",
        "it left backup-previous.ckpt, backup.ckpt",
    ]
    assert resumed[1:] == whole[5:]
    assert end == ["The losses are the same, and the networks are, byte for byte."]
    one, other = (folder / name / "network.ckpt" for name in ("whole", "killed"))
    assert one.read_bytes() == other.read_bytes()
    assert names_of(folder, "**/*.*") == {"network.ckpt"}


def check_tensorboard_run(printed: str, folder: Path) -> None:
    assert printed.endswith(f"To see it: tensorboard --logdir {folder.name}\n")
    last_losses: list[float] = []
    for rate in ("0.02", "0.2"):
        (file,) = (folder / f"rate-{rate}").glob("events.out.tfevents.*")
        values = [value for event in read_events(file) for value in event.values]
        tags = {value.tag for value in values}
        assert {"input_data/auto", "loss/auto", "1.weight/auto", "eval_accuracy/auto"} < tags
        text = printed.partition(f"rate-{rate}, {file.stat().st_size} bytes:\n")[2]
        shown = text.splitlines()[: len(tags)]
        assert {line.split(":")[0].strip() for line in shown} == tags
        losses = [value.content for value in values if value.tag == "loss/auto"]
        assert len(losses) == 7  # steps 1, 10, 20, …
        assert f"  loss/auto: in step 1 {losses[0]:.4f}, in step 60 {losses[-1]:.4f}" in shown
        assert isinstance(losses[-1], float)
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
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
