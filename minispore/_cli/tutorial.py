"""The network of MindSpore's callback tutorial, its data pipeline, and its images."""

import os
import sys
from pathlib import Path

from minispore import nn
from minispore.common import dtype as mstype
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.ops.tensors import Tensor
from minispore.utils.progress import progress_bar

_IMAGES = 70_000  # that `digits.write` draws by default


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


def data_folder(data: str, *, quiet: bool = False) -> Path:
    """Return the folder with MNIST's four files for the argument `--data`.

    Raises:
        OSError: If the digits cannot be written.
    """
    if data != "digits":
        return Path(data)
    folder = cache_folder() / "digits"
    if not quiet:
        print(f"Images: digits that minispore draws, once, into {folder}", flush=True)
    with progress_bar(total=_IMAGES, desc="drawing", unit="image", leave=False) as bar:
        return digits.write(folder, progress=bar.update)


def cache_folder() -> Path:
    """Return the folder of cached files: MINISPORE_CACHE, or one in the user's cache folder.

    These are the folders that platformdirs gives on Linux, macOS and Windows.
    """
    environ, home = os.environ, Path.home()
    if folder := environ.get("MINISPORE_CACHE"):
        return Path(folder)
    if sys.platform == "win32":
        local = environ.get("LOCALAPPDATA")
        return (Path(local) if local else home / "AppData" / "Local") / "minispore" / "Cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "minispore"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "minispore"
