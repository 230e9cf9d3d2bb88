"""A training that resumes from the newest checkpoint: `python training_script.py KIND FOLDER`.

The tests kill it. It prints "begin", a line for each step and each validation, and at its end a
checksum of all parameters.
"""

import hashlib
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from minispore import nn, set_seed
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import JSONLWriter, JSONWriter, MinSaver, ModelSaver, TFEventWriter
from minispore.train import (
    BackupAndRestore,
    BestCheckpoint,
    Callback,
    CheckpointConfig,
    EarlyStopping,
    LossMonitor,
    Model,
    ModelCheckpoint,
    OnRequestExit,
    RunContext,
    SummaryCollector,
)


def checkpoints(folder: Path, **options: bool | str) -> ModelCheckpoint:
    """Return a callback that saves each step and keeps the newest two checkpoints."""
    config = CheckpointConfig(
        save_checkpoint_steps=1,
        keep_checkpoint_max=2,
        append_info=["training_state"],
        **options,  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    )
    return ModelCheckpoint("net", folder, config)


# The callbacks of a training by what saves it.
KINDS: dict[str, Callable[[Path], list[Callback]]] = {
    "checkpoints": lambda folder: [checkpoints(folder)],
    "background": lambda folder: [checkpoints(folder, async_save=True)],
    "safetensors": lambda folder: [checkpoints(folder, format="safetensors", crc_check=True)],
    "backup": lambda folder: [BackupAndRestore(folder)],
    "request": lambda folder: [OnRequestExit(directory=folder)],
    "best": lambda folder: [
        checkpoints(folder),
        BestCheckpoint("accuracy", directory=folder, top_k=2),
        EarlyStopping("accuracy", patience=9),
    ],
    "summaries": lambda folder: [SummaryCollector(str(folder), 1), checkpoints(folder)],
    "tensorpack": lambda folder: [
        ModelSaver(2, checkpoint_dir=folder),
        MinSaver("loss", checkpoint_dir=folder),
        JSONWriter(folder),
        JSONLWriter(folder),
        TFEventWriter(folder),
        checkpoints(folder),
    ],
}


def newest(folder: Path) -> Path | None:
    """Return the checkpoint of the latest step, by its name: net-<epoch>_<step>."""
    paths = [*folder.glob("net*-*.ckpt"), *folder.glob("net*-*.safetensors")]
    return max(paths, key=lambda path: _numbers(path)[-2:], default=None)


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.stem)]


class Begin(Callback):
    """Print that the training begins, when the signal handlers of all callbacks are installed."""

    def on_train_begin(self, run_context: RunContext) -> None:
        print("begin", flush=True)


def train(kind: str, folder: Path) -> Model:
    """Train for three epochs of five steps, from the start or from the newest checkpoint.

    Args:
        kind: A key of `KINDS`.
        folder: The folder of all files.
    """
    set_seed(1)
    random.seed(1)
    rows = np.linspace(-1, 1, 400, dtype=np.float32).reshape(40, 10)
    labels = (np.arange(40) % 3).astype(np.int32)
    data = NumpySlicesDataset({"x": rows, "y": labels}).batch(8)
    net = nn.SequentialCell(nn.Dense(10, 3000), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(3000, 3))
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    callbacks = [Begin(), LossMonitor(), *KINDS[kind](folder)]
    model.fit(3, data, data, callbacks=callbacks, resume=newest(folder))
    return model


def checksum(model: Model) -> str:
    """Return the SHA-256 of all parameters, including the optimizer's."""
    total = hashlib.sha256()
    for parameter in model.train_network.get_parameters():
        total.update(parameter.asnumpy().tobytes())
    return total.hexdigest()


def main() -> None:
    """Train, and print whether the training ended or OnRequestExit stopped it and saved a file."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    model = train(kind, folder)
    stopped = kind == "request" and list(folder.glob("rank_0/*.ckpt"))
    print("stopped" if stopped else f"end {checksum(model)}", flush=True)


if __name__ == "__main__":
    main()
