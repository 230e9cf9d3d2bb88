"""Train on one task, save a checkpoint, and reuse the first layer for another task."""

import tempfile
from pathlib import Path

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.train import Model

rng = np.random.default_rng(0)
points = rng.uniform(-1, 1, (200, 2)).astype(np.float32)
radius = np.hypot(points[:, 0], points[:, 1])


def weights(*shape: int) -> ms.Tensor:
    """Return random initial weights."""
    return ms.Tensor(rng.standard_normal(shape).astype(np.float32))


class Network(nn.Cell):
    """Hidden features, and a head with one score for each class."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Dense(2, 12, weight_init=weights(12, 2), bias_init=weights(12))
        self.head = nn.Dense(12, classes, weight_init=weights(classes, 12), bias_init="zeros")
        self.relu = nn.ReLU()

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.relu(self.features(x)))


def train(network: nn.Cell, labels: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> None:
    """Train for some epochs, and print the accuracy."""
    columns = {"x": points, "y": labels}
    data: Dataset = NumpySlicesDataset(columns, shuffle=False).batch(200)
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.1, momentum=0.9)
    model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.train(60, data)
    names = [parameter.name for parameter in network.trainable_params()]
    print(f"trained {names}: accuracy {model.eval(data)['accuracy']:.1%}")


source = Network(2)
train(source, (radius < 0.7).astype(np.int32))
with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder) / "source.ckpt")
    ms.save_checkpoint(source, file)
    saved = ms.load_checkpoint(file, filter_prefix="head")

network = Network(3)
missing, _ = ms.load_param_into_net(network, saved)
print(f"not loaded: {sorted(missing)}")
for parameter in network.features.get_parameters():
    parameter.requires_grad = False
train(network, np.digitize(radius, [0.5, 0.9]).astype(np.int32))
same = np.array_equal(network.features.weight.asnumpy(), source.features.weight.asnumpy())
print(f"the features are {'unchanged' if same else 'changed'}")
