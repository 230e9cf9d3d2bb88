"""The network of MindSpore's callback tutorial, its data pipeline, and its images."""

import os
from pathlib import Path

from minispore import nn
from minispore.common import Tensor
from minispore.common import dtype as mstype
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision


class Network(nn.Cell):
    """A network from 28 x 28 pixels to ten scores, with two hidden layers of 512 units."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu_sequential = nn.SequentialCell(
            nn.Dense(28 * 28, 512),
            nn.ReLU(),
            nn.Dense(512, 512),
            nn.ReLU(),
            nn.Dense(512, 10),
        )

    def construct(self, x: Tensor) -> Tensor:
        """Return the scores, of shape (batch, 10), of images of shape (batch, 1, 28, 28)."""
        return self.dense_relu_sequential(self.flatten(x))


def batches(folder: Path, usage: str, batch_size: int) -> Dataset:
    """Return batches of normalised images and labels, as in the tutorial."""
    dataset: Dataset = MnistDataset(str(folder), usage=usage)
    dataset = dataset.map(
        [
            vision.Rescale(1.0 / 255.0, 0),
            vision.Normalize(mean=(0.1307,), std=(0.3081,)),
            vision.HWC2CHW(),
        ],
        "image",
    )
    dataset = dataset.map(transforms.TypeCast(mstype.int32), "label")
    return dataset.batch(batch_size)


def data_folder(data: str) -> Path:
    """Return the folder with MNIST's four files for the argument `--data`.

    Raises:
        OSError: If the digits cannot be written.
    """
    if data != "digits":
        return Path(data)
    folder = cache_folder() / "digits"
    print(f"Images: digits that minispore draws, once, into {folder}", flush=True)
    return digits.write(folder)


def cache_folder() -> Path:
    """Return the folder of cached files: MINISPORE_CACHE, or one in the user's cache folder."""
    if own := os.environ.get("MINISPORE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minispore"
