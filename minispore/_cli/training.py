"""`minispore train`: train the tutorial's network on digits."""

import json
import re
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from minispore import nn
from minispore._cli.arguments import Arguments
from minispore._cli.callbacks import RequireFiniteLoss, StopOnInterrupt
from minispore._cli.errors import UserError, as_user_error
from minispore._cli.plotting import ReadDigit, plot
from minispore._cli.tutorial import Network, batches, data_folder
from minispore.common import GRAPH_MODE, PYNATIVE_MODE, set_context, set_seed
from minispore.dataset import Dataset
from minispore.train import CheckpointConfig, CSVLogger, Model, ModelCheckpoint, ProgressBar
from minispore.utils.atomic import atomic_write, open_regular_file

# How many digits are drawn.
_DIGITS = 16
# With the epoch and the step in it.
CHECKPOINT = re.compile(r"mnist-(\d+)_(\d+)\.ckpt")


def train(arguments: Arguments) -> bool:
    """Train, validate after each epoch, save, and print where the results are.

    Returns:
        Whether the run ended; False after Ctrl-C.

    Raises:
        UserError: If the device, the data or the folder for the results cannot be used, a file
            cannot be written or belongs to another run, there is nothing to resume from, or the
            training diverged.
    """
    set_seed(arguments.seed)
    with as_user_error(OSError, ValueError, RuntimeError):
        out = results_folder(arguments.out, resume=arguments.resume)
        resume = newest_checkpoint(out) if arguments.resume else None
        epoch, _ = (0, 0) if resume is None else _epoch_and_step(resume)
        if epoch > arguments.epochs:
            raise UserError(f"--epochs must be at least {epoch}: the run in {out} is in that epoch")
        mode = GRAPH_MODE if arguments.mode == "graph" else PYNATIVE_MODE
        set_context(device_target=arguments.device.upper(), mode=mode)
        folder = data_folder(arguments.data)
        train_data = batches(folder, "train", arguments.batch_size)
        test_data = batches(folder, "test", arguments.batch_size)
        for data in (train_data, test_data):
            # Errors in the files are raised now, and not at the end of an epoch.
            next(iter(data.create_tuple_iterator(num_epochs=1)))
        steps = train_data.get_dataset_size()
        out.mkdir(parents=True, exist_ok=True)
        if resume is None:
            with atomic_write(out / "arguments.json") as file:
                file.write(json.dumps(_options(arguments), indent=2).encode())

    network = Network()
    model = Model(
        network,
        loss_fn=nn.CrossEntropyLoss(),
        optimizer=nn.SGD(network.trainable_params(), arguments.lr, momentum=0.9, nesterov=True),
        metrics={"accuracy"},
    )
    interrupt = StopOnInterrupt()
    table = CSVLogger(out / "metrics.csv", every=50)
    checkpoint = ModelCheckpoint(
        prefix="mnist",
        directory=str(out),
        config=CheckpointConfig(save_checkpoint_steps=steps, append_info=["training_state"]),
    )
    # A loss that overflows ends the run with a UserError, as does a full disk.
    with (
        np.errstate(over="ignore", invalid="ignore"),
        as_user_error(OSError),
        nullcontext() if resume is None else _explained(out, arguments),
    ):
        model.fit(
            arguments.epochs,
            train_data,
            test_data,
            callbacks=[interrupt, RequireFiniteLoss(), table, ProgressBar(), checkpoint],
            resume=resume,
        )
        drawn = plot(table.rows, _read_digits(model, test_data), out / "plot.png")

    saved = Path(checkpoint.latest_ckpt_file_name).name
    print(summary_line(out, saved, table.rows[-1], drawn=drawn, interrupted=interrupt.requested))
    if interrupt.requested:
        words = ["minispore", *arguments.words]
        words += [] if arguments.out else ["--out", str(out)]
        words += [] if arguments.resume else ["--resume"]
        print(f"To resume it: {shlex.join(words)}")
    else:
        print(
            f"Next: 'minispore predict {shlex.quote(str(out))} IMAGE' reads a digit that you draw; "
            "'minispore play' opens a page of small runs to stop, kill and resume"
        )
    return not interrupt.requested


def _read_digits(model: Model, data: Dataset) -> list[ReadDigit]:
    """Return some digits of batches of images and labels, as the network reads them."""
    digits: list[ReadDigit] = []
    for images, labels in data.create_tuple_iterator(num_epochs=1):
        predictions = model.predict(images).argmax(1)
        for image, label, prediction in zip(
            images.asnumpy(), labels.asnumpy(), predictions.asnumpy(), strict=True
        ):
            digits.append(ReadDigit(image[0], int(label), int(prediction)))
            if len(digits) == _DIGITS:
                return digits
    return digits


def _options(arguments: Arguments) -> dict[str, object]:
    """Return the options that must be the same when a run is resumed."""
    names = ("data", "batch_size", "lr", "seed", "device", "mode")
    return {f"--{name.replace('_', '-')}": getattr(arguments, name) for name in names}


@contextmanager
def _explained(out: Path, arguments: Arguments) -> Generator[None]:
    """Convert the error of a resumed run to a `UserError` that names the options that differ."""
    try:
        with as_user_error(ValueError):
            yield
    except UserError as error:
        try:
            with open(out / "arguments.json", encoding="utf-8", opener=open_regular_file) as file:
                saved = dict[str, object](json.load(file))
        except (OSError, ValueError, TypeError, RecursionError):  # damaged, or of an older version
            raise error from None
        changes = [
            f"{option} {saved[option]}, not {value}"
            for option, value in _options(arguments).items()
            if saved.get(option, value) != value
        ]
        if not changes:
            raise
        raise UserError(
            f"the run in {out} was started with {' and '.join(changes)}: resume it with the same "
            "options"
        ) from error


def results_folder(out: Path | None, *, resume: bool) -> Path:
    """Return the folder for the results; by default one named after the current time.

    Raises:
        UserError: If it has the results of another run, which is not resumed.
    """
    out = out or Path("runs") / datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    if not resume and any((out / name).exists() for name in ("metrics.csv", "plot.png")):
        raise UserError(
            f"the folder {out} contains the results of another run: resume it with --resume, or "
            "choose another --out"
        )
    return out


def newest_checkpoint(out: Path) -> Path:
    """Return the checkpoint of the latest epoch and step.

    Raises:
        UserError: If there is none.
    """
    checkpoints = [path for path in out.glob("mnist-*.ckpt") if CHECKPOINT.fullmatch(path.name)]
    if not checkpoints:
        raise UserError(f"there is no checkpoint of 'minispore train' in the folder {out}")
    return max(checkpoints, key=_epoch_and_step)


def _epoch_and_step(checkpoint: Path) -> tuple[int, int]:
    match = CHECKPOINT.fullmatch(checkpoint.name)
    assert match is not None
    return int(match[1]), int(match[2])


def summary_line(
    out: Path, checkpoint: str, last: Mapping[str, Any], *, drawn: bool, interrupted: bool
) -> str:
    """Return how the run ended, and where its files are."""
    if interrupted:
        outcome = f"Stopped by Ctrl-C after step {last['step']}"
    else:
        epochs = "1 epoch" if last["epoch"] == 1 else f"{last['epoch']} epochs"
        outcome = f"Accuracy {last['accuracy']:.4f} after {epochs}"
    picture = "plot.png" if drawn else "no plot, since matplotlib is not installed"
    return f"{outcome}; in {out}: {checkpoint}, metrics.csv, {picture}"
