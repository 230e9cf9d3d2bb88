"""Six common callbacks as small classes, each run on generated digits.

    python examples/custom_callbacks.py [FOLDER]

They stop after a time, at a loss or at an accuracy; save below a loss, or at the best accuracy so
far; and print the progress. The checkpoints are written to FOLDER (by default `custom_callbacks`).

`SaveBest` and `Progress` have a state, which is lost if the training is interrupted and resumed:
`own_callback.py` shows how to save it.
"""

import sys
import time
from pathlib import Path

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset, digits
from minispore.train import Callback, Model, RunContext


class StopAfter(Callback):
    """Stop the training after a number of seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.until = 0.0

    def on_train_begin(self, run_context: RunContext) -> None:
        # Not time.time(), which changes when the clock of the system is set.
        self.until = time.monotonic() + self.seconds

    def on_train_step_end(self, run_context: RunContext) -> None:
        if time.monotonic() >= self.until:
            params = run_context.original_args()
            print(f"stopped after {self.seconds} s, in epoch {params.cur_epoch_num}")
            run_context.request_stop()


class StopAtLoss(Callback):
    """Stop the training at the first batch whose loss is at most a threshold."""

    def __init__(self, loss: float) -> None:
        super().__init__()
        self.loss = loss

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if loss <= self.loss:
            print(f"stopped at a loss of {loss:.4f}, in step {params.cur_step_num}")
            run_context.request_stop()


class StopAtAccuracy(Callback):
    """Stop a training by `fit` when the accuracy reaches a threshold."""

    def __init__(self, accuracy: float) -> None:
        super().__init__()
        self.accuracy = accuracy

    def on_eval_end(self, run_context: RunContext) -> None:
        # Not at the end of the epoch: an epoch that is stopped early ends without an evaluation.
        params = run_context.original_args()
        accuracy = params.metrics.get("accuracy", 0.0)  # an evaluation may be stopped, too
        if accuracy >= self.accuracy:
            print(f"stopped at an accuracy of {accuracy:.1%}, in epoch {params.cur_epoch_num}")
            run_context.request_stop()


class SaveBelow(Callback):
    """Save the network after each step whose loss is below a threshold."""

    def __init__(self, loss: float, folder: Path) -> None:
        super().__init__()
        self.loss = loss
        self.folder = folder

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if loss < self.loss:
            name = f"below-{params.cur_epoch_num}_{params.cur_step_num}.ckpt"
            ms.save_checkpoint(params.network, str(self.folder / name))
            print(f"saved {name} with a loss of {loss:.4f}")


class SaveBest(Callback):
    """Save the network after each evaluation in `fit` with the best accuracy so far."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.best = 0.0

    def on_train_begin(self, run_context: RunContext) -> None:
        # The same object may be used in a second run.
        self.best = 0.0

    def on_eval_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        accuracy = params.metrics.get("accuracy", 0.0)
        if accuracy > self.best:
            self.best = accuracy
            ms.save_checkpoint(params.network, str(self.file))
            print(f"saved {self.file.name} with an accuracy of {accuracy:.1%}")


class Progress(Callback):
    """Print a line after each epoch: the name of the run, the progress, and the mean loss."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.losses: list[float] = []

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.losses = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.losses.append(run_context.original_args().net_outputs.item())

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        print(
            f"{self.name}: epoch {params.cur_epoch_num} of {params.epoch_num}, "
            f"step {params.cur_step_num} of {params.epoch_num * params.batch_num}, "
            f"mean loss {np.mean(self.losses):.4f}"
        )


def batches(count: int, usage: str) -> Dataset:
    """Return batches of 50 digits, as rows of pixels from 0 to 1."""
    images, labels = digits.generate(count, usage=usage)
    pixels = images.reshape(count, -1).astype(np.float32) / 255
    columns = {"image": pixels, "label": labels.astype(np.int32)}
    return NumpySlicesDataset(columns, shuffle=usage == "train").batch(50)


def untrained() -> Model:
    """Return a new network with a loss, an optimizer and a metric."""
    network = nn.SequentialCell(nn.Dense(28 * 28, 64), nn.ReLU(), nn.Dense(64, 10))
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.05, momentum=0.9)
    return Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})


def main(folder: Path) -> None:
    """Train four times, with different callbacks."""
    ms.set_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    train_data, test_data = batches(3_000, "train"), batches(500, "test")

    # An evaluation precedes the end of its epoch, so its line is printed first.
    best = SaveBest(folder / "best.ckpt")
    callbacks = [Progress("first run"), SaveBelow(0.1, folder), best]
    untrained().fit(4, train_data, test_data, callbacks=callbacks)

    # The callbacks stop the training long before the last epoch.
    untrained().train(1000, train_data, callbacks=[StopAfter(0.5)])
    untrained().train(1000, train_data, callbacks=[StopAtLoss(0.3)])

    # Several callbacks can be combined; they do not depend on each other.
    callbacks = [Progress("last run"), StopAtAccuracy(0.89), StopAtLoss(0.001), StopAfter(60)]
    untrained().fit(1000, train_data, test_data, callbacks=callbacks)

    # The loaded network has the accuracy that it had when it was saved.
    model = untrained()
    ms.load_checkpoint(str(best.file), model.predict_network)
    print(f"{best.file.name} reads {model.eval(test_data)['accuracy']:.1%} of the test images")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "custom_callbacks"))
