"""Write the files of two trainings for TensorBoard, and read them.

    python examples/tensorboard_run.py [FOLDER]
    pip install tensorboard
    tensorboard --logdir FOLDER

FOLDER (by default `tensorboard_run`) contains a folder for each of two runs with different learning
rates. TensorBoard plots both in the same diagrams, also during the training: open the address that
it prints. Reading the numbers, as at the end of this program, does not need TensorBoard.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset, digits
from minispore.train import Model, SummaryCollector
from minispore.train.summary import Histogram, Image, read_events


def batches(count: int, usage: str) -> Dataset:
    """Return batches of 50 digits, as images of one channel with values from 0 to 1."""
    images, labels = digits.generate(count, usage=usage)
    pixels = images.reshape(count, 1, 28, 28).astype(np.float32) / 255
    columns = {"image": pixels, "label": labels.astype(np.int32)}
    return NumpySlicesDataset(columns, shuffle=usage == "train").batch(50)


def train(folder: Path, learning_rate: float) -> None:
    """Train for three epochs, and write every tenth step to the folder."""
    ms.set_seed(1)
    network = nn.SequentialCell(nn.Flatten(), nn.Dense(28 * 28, 64), nn.ReLU(), nn.Dense(64, 10))
    optimizer = nn.SGD(network.trainable_params(), learning_rate)
    model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    summary = SummaryCollector(str(folder), collect_freq=10)
    model.fit(3, batches(1_000, "train"), batches(250, "test"), callbacks=[summary])


def show(file: Path) -> None:
    """Print the contents of an event file: the first and the last value of each name."""
    values_by_tag: defaultdict[str, list[tuple[int, object]]] = defaultdict(list)
    for event in read_events(file):
        for value in event.values:
            values_by_tag[value.tag].append((event.step, value.content))
    for tag, values in values_by_tag.items():
        (first, begin), (last, end) = values[0], values[-1]
        print(f"  {tag}: in step {first} {describe(begin)}, in step {last} {describe(end)}")


def describe(content: object) -> str:
    """Return a description of a value."""
    if isinstance(content, Image):
        return f"{content.width} x {content.height} pixels"
    if isinstance(content, Histogram):
        return f"{content.elements} numbers from {content.min:.3f} to {content.max:.3f}"
    return f"{content:.4f}" if isinstance(content, float) else type(content).__name__


def main(folder: Path) -> None:
    """Train twice, and read the files."""
    for learning_rate in (0.02, 0.2):
        train(folder / f"rate-{learning_rate}", learning_rate)
    # The other files are for MindInsight, and the graph of the network.
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        print(f"{file.parent.name}, {file.stat().st_size} bytes:")
        show(file)
    print(f"To see it: tensorboard --logdir {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "tensorboard_run"))
