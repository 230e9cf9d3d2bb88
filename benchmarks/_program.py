"""The tutorial as a program for MindSpore or minispore, which runs in its own process."""

import json

_PROGRAM = """
import mindspore as ms
from mindspore import nn
from mindspore.dataset import MnistDataset, transforms, vision
from mindspore.train import Model

folder = {folder}
ms.set_context(mode=ms.{mode})

def pipeline(usage):
    data = MnistDataset(folder, usage=usage)
    data = data.map([
        vision.Rescale(1.0 / 255.0, 0),
        vision.Normalize(mean=(0.1307,), std=(0.3081,)),
        vision.HWC2CHW(),
    ], "image")
    return data.map(transforms.TypeCast(ms.int32), "label").batch(64)

class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.dense_relu_sequential = nn.SequentialCell(
            nn.Dense(28 * 28, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10)
        )

    def construct(self, x):
        return self.dense_relu_sequential(self.flatten(x))

network = Network()
optimizer = nn.SGD(network.trainable_params(), 1e-2)
model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={{"accuracy"}})
train, test = pipeline("train"), pipeline("test")
"""


def program(package: str, mode: str, folder: str, run: str) -> str:
    """Return the program for a package and a mode of MindSpore, with MNIST's files in `folder`.

    The code `run` defines the function `run`, which is measured; it may use the program's names.
    """
    text = _PROGRAM.format(mode=mode, folder=json.dumps(folder)) + run
    return text.replace("mindspore", package)
