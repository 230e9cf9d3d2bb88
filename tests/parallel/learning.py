"""One small training, told in how many shards its data come: alone or in several processes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore import nn
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.train import Model

FEATURES, CLASSES, EPOCHS = 5, 3, 3


@dataclass(frozen=True)
class Case:
    """What is trained on.

    Attributes:
        rows: How many rows there are.
        batch: How many of them all processes together take in a step.
        shuffle: Whether their order is another one each epoch.
        drop: Whether an epoch's last batch is left out if it is smaller.
    """

    rows: int
    batch: int
    shuffle: bool = True
    drop: bool = False

    def shard(self, number: int, count: int) -> Dataset:
        """The batches of one of so many processes."""
        rng = np.random.default_rng(self.rows)
        x = rng.standard_normal((self.rows, FEATURES)).astype(np.float32)
        y = rng.integers(CLASSES, size=self.rows).astype(np.int32)
        data = NumpySlicesDataset(
            {"x": x, "y": y}, shuffle=self.shuffle, num_shards=count, shard_id=number
        )
        return data.batch(self.batch // count, drop_remainder=self.drop)


class Together:
    """All shards in one process: what the processes of a step take, in one batch."""

    def __init__(self, shards: Sequence[Dataset]) -> None:
        self._shards = shards

    def get_dataset_size(self) -> int:
        """The number of steps."""
        return self._shards[0].get_dataset_size()

    def create_tuple_iterator(self, *, num_epochs: int) -> "_Passes":
        """The batches."""
        return _Passes([s.create_tuple_iterator(num_epochs=num_epochs) for s in self._shards])


class _Passes:
    def __init__(self, shards: "Sequence[Iterable[list[ms.Tensor]]]") -> None:
        self._shards = shards

    def __iter__(self) -> Iterator[Sequence[object]]:
        for rows in zip(*self._shards, strict=True):
            columns = zip(*rows, strict=True)
            yield [np.concatenate([each.asnumpy() for each in column]) for column in columns]


def model(seed: int = 0, rate: float = 0.1) -> Model:
    """A network of two layers that learns by momentum."""
    ms.set_seed(seed)
    net = nn.SequentialCell(nn.Dense(FEATURES, 7), nn.Tanh(), nn.Dense(7, CLASSES))
    optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy", "loss"})


def weights(trained: Model) -> "npt.NDArray[np.float32]":
    """Everything that was trained, in one array."""
    parameters = trained.train_network.get_parameters()
    return np.concatenate([each.asnumpy().ravel().astype(np.float32) for each in parameters])
