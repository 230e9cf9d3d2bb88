"""The callbacks of tensorpack's documentation, with one of MindSpore's, on generated digits.

    python examples/tensorpack.py [FOLDER]

The data, the checkpoints, stats.json and TensorBoard's file are written to FOLDER (by default
`tensorpack`). During the training, write `learning_rate: 0.01` to FOLDER/hyper.txt to change the
learning rate, or create FOLDER/INJECT_SHELL.tmp to get a shell.
"""

import sys
from pathlib import Path

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.tensorpack import (
    ClassificationError,
    GPUUtilizationTracker,
    HumanHyperParamSetter,
    InferenceRunner,
    InjectShell,
    JSONWriter,
    MergeAllSummaries,
    MinSaver,
    ModelSaver,
    MovingAverageSummary,
    ProgressBar,
    RunUpdateOps,
    ScalarPrinter,
    ScheduledHyperParamSetter,
    SendStat,
    TFEventWriter,
    logger,
)
from minispore.train import LossMonitor, Model

# A program that appends a line to a file; its arguments are the file and the line.
NOTIFY = "import sys; open(sys.argv[1], 'a', encoding='utf-8').write(sys.argv[2] + '\\n')"


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
    """Train with all callbacks that the documentation lists."""
    ms.set_seed(1)
    logger.set_logger_dir(folder)
    data = digits.write(folder / "data", train=6_000, test=1_000)
    dataset_train, dataset_val = batches(data, "train"), batches(data, "test")

    network = Network()
    optimizer = nn.SGD(network.trainable_params(), learning_rate=0.05)
    model = Model(network, nn.CrossEntropyLoss(), optimizer)

    notify = [sys.executable, "-c", NOTIFY, str(folder / "notifications.txt")]
    callbacks = [  # noqa: RUF005 (as in tensorpack's documentation)
        # save the model every epoch
        ModelSaver(),
        # backup the model with best validation error
        MinSaver("val-error-top1"),
        # run inference on another dataset every epoch, compute the error and log to monitors
        InferenceRunner(
            dataset_val,
            [
                ClassificationError("wrong-top1", "val-error-top1"),
                ClassificationError("wrong-top5", "val-error-top5"),
            ],
        ),
        # schedule the learning rate based on epoch number
        ScheduledHyperParamSetter(
            "learning_rate", [(30, 1e-2), (60, 1e-3), (85, 1e-4), (95, 1e-5)]
        ),
        # can manually change the learning rate through a file, without interrupting training
        HumanHyperParamSetter("learning_rate"),
        # send validation error to somewhere
        SendStat([*notify, "validation error {val-error-top1}"], "val-error-top1"),
        # record GPU utilizations during training
        GPUUtilizationTracker(),
        # touch a file to pause the training and start a debug shell
        InjectShell(shell="ipython"),  # noqa: S604 (no command)
    ] + [  # these callbacks are enabled by default in tensorpack: DEFAULT_CALLBACKS()
        # maintain moving averages, of the training loss
        MovingAverageSummary(),
        # draw a progress bar
        ProgressBar(),
        # log the summaries that the network records by operations
        MergeAllSummaries(),
        # run what is to be updated along with training, if anything
        RunUpdateOps(),
    ]
    monitors = [  # monitors are a special kind of callbacks: DEFAULT_MONITORS()
        # write everything to tensorboard
        TFEventWriter(),
        # write all scalar data to a json file, for easy parsing
        JSONWriter(),
        # print all scalar data every epoch (can be configured differently)
        ScalarPrinter(),
    ]
    model.train(3, dataset_train, callbacks=[*callbacks, *monitors, LossMonitor(100)])

    best = folder / "min-val-error-top1.ckpt"
    ms.load_param_into_net(network, ms.load_checkpoint(str(best)))
    stats = JSONWriter.load_existing_json() or []
    print(f"the best error was {min(row['val-error-top1'] or 1.0 for row in stats):.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tensorpack"))
