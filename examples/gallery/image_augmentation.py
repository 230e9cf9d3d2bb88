"""Augment small colour images (random crops and flips), and train a network on them."""

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset, vision
from minispore.train import LossMonitor, Model

Image = npt.NDArray[np.uint8]
rng = np.random.default_rng(0)


def draw(label: int) -> Image:
    """Return an image of shape (16, 16, 3): a disc or a square of a random colour on another."""
    rows, columns = np.mgrid[:16, :16] - rng.integers(5, 11, (2, 1, 1))
    inside = np.hypot(rows, columns) < 5 if label else np.maximum(abs(rows), abs(columns)) < 4
    colours = rng.integers(0, 120, 3), rng.integers(130, 256, 3)
    return np.where(inside[:, :, np.newaxis], colours[1], colours[0]).astype(np.uint8)


def augment(image: Image, index: npt.NDArray[np.int32]) -> Image:
    """Crop an image at a random place after padding it, and flip every other one."""
    local = np.random.default_rng(int(index))  # so that the result does not depend on the order
    top, left = local.integers(0, 5, 2)
    cropped = np.pad(image, ((2, 2), (2, 2), (0, 0)))[top : top + 16, left : left + 16]
    return cropped[:, ::-1] if local.random() < 0.5 else cropped


def weights(*shape: int) -> ms.Tensor:
    """Return random initial weights."""
    return ms.Tensor((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))


labels = (np.arange(256) % 2).astype(np.int32)
images = np.stack([draw(int(label)) for label in labels])
indices = np.arange(256, dtype=np.int32)
data: Dataset = NumpySlicesDataset(
    {"image": images, "index": indices, "label": labels}, shuffle=False
)
data = data.map(augment, ["image", "index"], ["image"], num_parallel_workers=1)
scale = [vision.Rescale(1 / 255, 0), vision.Normalize([0.5] * 3, [0.25] * 3), vision.HWC2CHW()]
data = data.map(scale, "image").project(["image", "label"]).batch(32)
(first, _) = next(iter(data.create_tuple_iterator(output_numpy=True)))
print(f"a batch has the shape {first.shape} and the mean {first.mean():.4f}")

network = nn.SequentialCell(
    nn.Conv2d(3, 8, 3, pad_mode="same", weight_init=weights(8, 3, 3, 3)),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(4, 4),
    nn.Flatten(),
    nn.Dense(8 * 4 * 4, 2, weight_init=weights(2, 8 * 4 * 4), bias_init="zeros"),
)
optimizer = nn.SGD(network.trainable_params(), learning_rate=0.03)
model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
model.train(8, data, callbacks=[LossMonitor(8)])
print(f"it classifies {model.eval(data)['accuracy']:.1%} of the discs and squares")
