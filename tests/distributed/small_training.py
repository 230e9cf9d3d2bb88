"""A small training in one process or several."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.train import Model

Weights = npt.NDArray[np.float32]

FEATURES, CLASSES, EPOCHS = 5, 3, 3


@dataclass(frozen=True)
class Case:
    """The data of a training.

    Attributes:
        rows: The number of rows.
        batch: The number of rows of a step, in all processes together.
        shuffle: Whether each epoch has another random order.
        drop: Whether a last batch with fewer rows is dropped.
    """

    rows: int
    batch: int
    shuffle: bool = True
    drop: bool = False

    def shard(self, number: int, count: int) -> Dataset:
        """Return the batches of one of `count` processes."""
        data = NumpySlicesDataset(
            self._columns(), shuffle=self.shuffle, num_shards=count, shard_id=number
        )
        return data.batch(self.batch // count, drop_remainder=self.drop)

    def whole(self) -> Dataset:
        """Return the batches of a single process."""
        data = NumpySlicesDataset(self._columns(), shuffle=self.shuffle)
        return data.batch(self.batch, drop_remainder=self.drop)

    def _columns(self) -> dict[str, object]:
        rng = np.random.default_rng(self.rows)
        x = rng.standard_normal((self.rows, FEATURES)).astype(np.float32)
        return {"x": x, "y": rng.integers(CLASSES, size=self.rows).astype(np.int32)}


def network(seed: int = 0) -> nn.Cell:
    ms.set_seed(seed)
    return nn.SequentialCell(nn.Dense(FEATURES, 7), nn.Tanh(), nn.Dense(7, CLASSES))


def model(seed: int = 0, net: nn.Cell | None = None) -> Model:
    net = net or network(seed)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy", "loss"})


def weights(trained: Model) -> Weights:
    parameters = trained.train_network.get_parameters()
    return np.concatenate([p.asnumpy().ravel().astype(np.float32) for p in parameters])
