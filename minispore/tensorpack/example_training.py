"""A training for the examples of this package: two epochs of three steps, in a temporary folder.

>>> from minispore.tensorpack import CallbackFactory, ModelSaver
>>> train(CallbackFactory(trigger=lambda cb: print(cb.global_step)), ModelSaver())
3
6
['model-3.ckpt', 'model-6.ckpt']
"""

import os
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np

from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.tensorpack import logger
from minispore.tensorpack.inference import InferenceRunner, Measures
from minispore.tensorpack.monitors import ScalarPrinter
from minispore.train import Callback, Model


def _print(level: int, message: str, cause: BaseException | None = None) -> None:
    print(message)


def data() -> Dataset:
    """Return three distinct samples, each twice, in batches of two."""
    x, label = np.eye(3, dtype=np.float32), np.arange(3, dtype=np.int32)
    columns = {"x": np.tile(x, (2, 1)), "label": np.tile(label, 2)}
    return NumpySlicesDataset(columns, shuffle=False).batch(2)


def train(*callbacks: Callback, epochs: int = 2) -> list[str] | None:
    """Train a linear classifier with these callbacks; return the names of the written files."""
    network = nn.Dense(3, 3, weight_init="zeros", bias_init="zeros")
    optimizer = nn.SGD(network.trainable_params(), 0.5)
    with (
        TemporaryDirectory() as folder,
        patch.dict(logger._folder, dir=folder),
        patch.object(logger, "_log_message", _print),
    ):
        Model(network, nn.CrossEntropyLoss(), optimizer).train(epochs, data(), list(callbacks))
        return sorted(os.listdir(folder)) or None


def infer(infs: Measures | list[Measures]) -> None:
    """Train for one epoch with an `InferenceRunner`, and print its results."""
    train(InferenceRunner(data(), infs), ScalarPrinter(blacklist=["^l"]), epochs=1)
