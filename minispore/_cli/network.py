"""The network of MindSpore's callback tutorial, and how it is fed."""

from pathlib import Path

from minispore import nn
from minispore.common import Tensor
from minispore.common import dtype as mstype
from minispore.dataset import Dataset, MnistDataset, transforms, vision


class Network(nn.Cell):
    """Two hidden layers of 512: an image of 28 x 28 in, ten scores out."""

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
        """Score images of shape (batch, 1, 28, 28); the result has the shape (batch, 10)."""
        return self.dense_relu_sequential(self.flatten(x))


def batches(folder: Path, usage: str, batch_size: int) -> Dataset:
    """The images, normalised as the tutorial does it, and the labels of one half of the data."""
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
