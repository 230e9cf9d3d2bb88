"""A convolutional network, as LeNet, reads digits that are drawn with seven segments."""

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model

rng = np.random.default_rng(0)
# The rows and columns of each segment in an image of 10 x 6 pixels.
SEGMENTS = {
    "top": (slice(0, 1), slice(0, 6)), "middle": (slice(4, 5), slice(0, 6)),
    "bottom": (slice(9, 10), slice(0, 6)), "upper left": (slice(0, 5), slice(0, 1)),
    "upper right": (slice(0, 5), slice(5, 6)), "lower left": (slice(4, 10), slice(0, 1)),
    "lower right": (slice(4, 10), slice(5, 6)),
}  # fmt: skip
# The segments of each digit that are off.
OFF = [
    "middle", "top middle bottom upper left lower left", "upper left lower right",
    "upper left lower left", "top bottom lower left", "upper right lower left", "upper right",
    "middle bottom upper left lower left", "", "lower left",
]  # fmt: skip


def draw(digit: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Return a noisy image of shape (1, 16, 16) with a digit at a random place."""
    image = rng.uniform(0, 0.3, (1, 16, 16)).astype(np.float32)
    top, left = rng.integers(0, 6), rng.integers(0, 10)
    for name, (rows, columns) in SEGMENTS.items():
        if name not in OFF[digit]:
            image[0, top : top + 10, left : left + 6][rows, columns] += 0.7
    return image


def weights(*shape: int) -> ms.Tensor:
    """Return random initial weights."""
    return ms.Tensor((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))


labels = np.tile(np.arange(10, dtype=np.int32), 32)
images = np.stack([draw(int(label)) for label in labels])
data = NumpySlicesDataset({"image": images, "label": labels}, shuffle=False).batch(32)

network = nn.SequentialCell(
    nn.Conv2d(1, 6, 3, pad_mode="same", weight_init=weights(6, 1, 3, 3)),
    nn.ReLU(),
    nn.MaxPool2d(2, 2),
    nn.Conv2d(6, 12, 3, pad_mode="same", weight_init=weights(12, 6, 3, 3)),
    nn.ReLU(),
    nn.MaxPool2d(2, 2),
    nn.Flatten(),
    nn.Dense(12 * 4 * 4, 10, weight_init=weights(10, 12 * 4 * 4), bias_init="zeros"),
)
optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.02, momentum=0.9)
model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
model.train(15, data, callbacks=[LossMonitor(20)])
print(f"it reads {model.eval(data)['accuracy']:.1%} of the digits")
