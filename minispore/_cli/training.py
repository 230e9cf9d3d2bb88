"""`minispore train`: the tutorial's network on digits, from the data to the last line."""

from datetime import datetime
from pathlib import Path

import numpy as np

from minispore import nn
from minispore._cli.arguments import Arguments
from minispore._cli.data import data_folder
from minispore._cli.errors import told_to_the_user
from minispore._cli.history import History, plot
from minispore._cli.interrupt import StopOnInterrupt
from minispore._cli.network import Network, batches
from minispore._cli.progress import ProgressBar
from minispore.common import set_context, set_seed
from minispore.train import CheckpointConfig, Model, ModelCheckpoint


def train(arguments: Arguments) -> bool:
    """Train, validate after each epoch, save, and say where everything is.

    Returns:
        Whether the run came to its end: False after Ctrl-C.

    Raises:
        UserError: The device, the data or the folder for the results cannot be used, a file cannot
            be written, or the training diverged.
    """
    set_seed(arguments.seed)
    with told_to_the_user(OSError, ValueError, RuntimeError):
        set_context(device_target=arguments.device.upper())
        folder = data_folder(arguments.data)
        train_data = batches(folder, "train", arguments.batch_size)
        test_data = batches(folder, "test", arguments.batch_size)
        for data in (train_data, test_data):
            # Whatever is wrong with the files is told now, and not at the end of an epoch.
            next(iter(data.create_tuple_iterator(num_epochs=1)))
        steps = train_data.get_dataset_size()
        out = results_folder(arguments.out)

    network = Network()
    model = Model(
        network,
        loss_fn=nn.CrossEntropyLoss(),
        optimizer=nn.SGD(network.trainable_params(), arguments.lr, momentum=0.9, nesterov=True),
        metrics={"accuracy"},
    )
    interrupt = StopOnInterrupt()
    history = History(out / "metrics.csv")
    checkpoint = ModelCheckpoint(
        prefix="mnist",
        directory=str(out),
        config=CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=5),
    )
    # A loss that grows beyond all bounds ends the run with a line of its own, as does a full disk.
    with np.errstate(over="ignore", invalid="ignore"), told_to_the_user(OSError):
        model.fit(
            arguments.epochs,
            train_data,
            test_data,
            callbacks=[interrupt, history, ProgressBar(arguments.epochs), checkpoint],
        )
        drawn = plot(history.rows, out / "plot.png")

    saved = Path(checkpoint.latest_ckpt_file_name).name
    print(last_line(out, saved, history, drawn=drawn, interrupted=interrupt.requested))
    return not interrupt.requested


def results_folder(wanted: Path | None) -> Path:
    """The folder for the results, made if need be; by default one for this moment."""
    out = wanted or Path("runs") / datetime.now().astimezone().strftime("%Y-%m-%d_%H-%M-%S")
    out.mkdir(parents=True, exist_ok=True)
    return out


def last_line(
    out: Path, checkpoint: str, history: History, *, drawn: bool, interrupted: bool
) -> str:
    """How the run ended, and where to find what it left."""
    last = history.rows[-1]
    if interrupted:
        outcome = f"Stopped by Ctrl-C after step {last.step}"
    else:
        epochs = "1 epoch" if last.epoch == 1 else f"{last.epoch} epochs"
        outcome = f"Accuracy {last.accuracy:.4f} after {epochs}"
    picture = "plot.png" if drawn else "no plot, since matplotlib is not installed"
    return f"{outcome}; in {out}: {checkpoint}, metrics.csv, {picture}"
