"""A training that is killed and resumed, with the same result, bit for bit.

    python examples/resume.py [FOLDER]

The training runs in separate processes: once without an interruption; once until it is killed in
the middle of an epoch, as by `kill -9`, which no program can catch; and once more, to resume it.
The two networks and the backup are written to FOLDER (by default `resume`).

To kill it yourself: `python examples/resume.py FOLDER 50` waits in step 50 for a minute. End the
process in any way, and resume the training with `python examples/resume.py FOLDER 0`.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset, digits
from minispore.train import BackupAndRestore, Callback, LossMonitor, Model, RunContext

EPOCHS = 4
KILLED_IN = 50  # the step; an epoch has 20


class Wait(Callback):
    """Wait in a step, in which the process can be killed."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == self.step:
            print("waiting to be killed", flush=True)
            time.sleep(60)


def train(folder: Path, wait_in: int) -> None:
    """Train; only BackupAndRestore knows whether the training begins or is resumed."""
    ms.set_seed(1)
    images, labels = digits.generate(1_000)
    pixels = images.reshape(-1, 28 * 28).astype(np.float32) / 255
    data = NumpySlicesDataset({"image": pixels, "label": labels.astype(np.int32)}).batch(50)

    # The shuffled data, the dropout and the optimizer all have a state.
    network = nn.SequentialCell(
        nn.Dense(28 * 28, 64), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(64, 10)
    )
    optimizer = nn.Adam(network.trainable_params(), learning_rate=0.003)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)
    backup = BackupAndRestore(folder / "backup")
    model.train(EPOCHS, data, callbacks=[LossMonitor(10), backup, Wait(wait_in)])
    ms.save_checkpoint(network, str(folder / "network.ckpt"))


def begin(folder: Path, wait_in: int = 0) -> subprocess.Popen[str]:
    """Start this script in a new process, which trains in a folder."""
    command = [sys.executable, __file__, str(folder), str(wait_in)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")  # noqa: S603


def main(folder: Path) -> None:
    """Train without and with an interruption, and compare."""
    with begin(folder / "whole") as child:
        whole, _ = child.communicate()
    print(f"Without an interruption:\n{whole}")

    print("Killed:")
    with begin(folder / "killed", KILLED_IN) as child:
        assert child.stdout
        for line in child.stdout:
            print(line, end="")
            if line.startswith("waiting"):
                child.kill()  # SIGKILL: no handler, no `finally`, nothing is flushed
    print(f"its exit status is {child.returncode}")
    files = sorted(file.name for file in (folder / "killed").rglob("*.*"))
    print(f"it left {', '.join(files)}\n")

    with begin(folder / "killed") as child:
        lines, _ = child.communicate()
    print(f"The same command again: the training continues after the last complete epoch.\n{lines}")

    assert whole.endswith(lines)
    networks = [folder / name / "network.ckpt" for name in ("whole", "killed")]
    assert networks[0].read_bytes() == networks[1].read_bytes()
    print("The losses are the same, and the networks are, byte for byte.")


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "resume")
    if len(sys.argv) > 2:
        train(place, wait_in=int(sys.argv[2]))
    else:
        main(place)
