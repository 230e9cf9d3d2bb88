"""An overview of callbacks: checkpoints, monitors, and three custom ones, on generated digits.

    python examples/tutorial.py [FOLDER]

The data and the checkpoints are written to FOLDER (by default `tutorial`).

`SaveBelow` and `KeepBest` have a state, which is lost if the training is interrupted and resumed:
`own_callback.py` shows how to save it.
"""

import sys
import time
from pathlib import Path

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.train import (
    Callback,
    CheckpointConfig,
    LossMonitor,
    Model,
    ModelCheckpoint,
    RunContext,
    TimeMonitor,
)


class Network(nn.Cell):
    """A network from the pixels of an image to ten scores, with two hidden layers."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(
            nn.Dense(28 * 28, 128),
            nn.ReLU(),
            nn.Dense(128, 64),
            nn.ReLU(),
            nn.Dense(64, 10),
        )

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.layers(self.flatten(x))


class StopAfter(Callback):
    """Stop the training after a number of seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def on_train_begin(self, run_context: RunContext) -> None:
        # All callbacks can read this attribute.
        run_context.original_args().began = time.monotonic()

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        if time.monotonic() - params.began > self.seconds:
            print(f"time is up in epoch {params.cur_epoch_num}, step {params.cur_step_num}")
            run_context.request_stop()


class SaveBelow(Callback):
    """Save the network after each step with the lowest loss so far, below a threshold."""

    def __init__(self, threshold: float, folder: Path) -> None:
        super().__init__()
        self.threshold = threshold
        self.lowest = threshold
        self.folder = folder

    def on_train_begin(self, run_context: RunContext) -> None:
        self.lowest = self.threshold

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if loss < self.lowest:
            self.lowest = loss
            name = f"low-{params.cur_epoch_num}_{params.cur_step_num}.ckpt"
            ms.save_checkpoint(params.network, str(self.folder / name))
            print(f"saved {name} with a loss of {loss:.4f}")


class KeepBest(Callback):
    """Save the network after each evaluation in `fit` with the best accuracy so far."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.best = 0.0

    def on_train_begin(self, run_context: RunContext) -> None:
        self.best = 0.0

    def on_eval_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        accuracy = params.metrics.get("accuracy", 0.0)
        if accuracy > self.best:
            self.best = accuracy
            ms.save_checkpoint(params.network, str(self.path))


def batches(folder: Path, usage: str) -> Dataset:
    """Return batches of 32 normalized images and int32 labels."""
    data: Dataset = MnistDataset(str(folder), usage)
    data = data.map(
        [vision.Rescale(1 / 255, 0), vision.Normalize((0.1307,), (0.3081,)), vision.HWC2CHW()],
        "image",
    )
    data = data.map(transforms.TypeCast(ms.int32), "label")
    return data.batch(32)


def main(folder: Path) -> None:
    """Train five times, with different callbacks."""
    ms.set_seed(1)
    data = digits.write(folder / "data", train=6_000, test=1_000)
    train_data, test_data = batches(data, "train"), batches(data, "test")

    network = Network()
    model = Model(
        network,
        loss_fn=nn.CrossEntropyLoss(),
        optimizer=nn.SGD(network.trainable_params(), learning_rate=0.05),
        metrics={"accuracy"},
    )

    config = CheckpointConfig(save_checkpoint_steps=100, keep_checkpoint_max=2)
    checkpoint = ModelCheckpoint("digits", str(folder), config)
    model.train(1, train_data, callbacks=[checkpoint, LossMonitor(50)])

    model.fit(2, train_data, test_data, callbacks=[LossMonitor(100), TimeMonitor()])

    model.train(1000, train_data, callbacks=[StopAfter(0.5)])

    model.train(1, train_data, callbacks=[SaveBelow(0.2, folder)])

    best = KeepBest(folder / "best.ckpt")
    model.fit(2, train_data, test_data, callbacks=[best])

    ms.load_param_into_net(network, ms.load_checkpoint(str(best.path)))
    print(f"the best network reads {model.eval(test_data)['accuracy']:.1%} of the test images")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tutorial"))
