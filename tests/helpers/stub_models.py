"""Small networks and datasets for tests of the training loop."""

from collections.abc import Sequence

import numpy as np

from minispore import Tensor, nn
from minispore.train import Model


class ConstantLoss(nn.Cell):
    """A training network without parameters that returns a constant loss."""

    def __init__(self, loss: float = 0.5) -> None:
        super().__init__()
        self.loss = loss

    def construct(self, *inputs: Tensor) -> Tensor:
        return Tensor(np.float32(self.loss))


class Outputs(nn.Cell):
    """An evaluation network that returns a constant loss, and the batch as prediction and label."""

    def __init__(self, loss: float = 0.25) -> None:
        super().__init__()
        self.loss = loss

    def construct(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return Tensor(np.float32(self.loss)), x, y


class Batches:
    """A dataset of `size` batches that implements only the protocol."""

    def __init__(self, size: int, columns: int = 2) -> None:
        self.size = size
        self.columns = columns

    def get_dataset_size(self) -> int:
        return self.size

    def create_tuple_iterator(self, *, num_epochs: int) -> list[Sequence[object]]:
        row = (np.eye(4, 3, dtype=np.float32), np.arange(4, dtype=np.int32), np.zeros(4))
        return [row[: self.columns]] * self.size


X = np.linspace(-1, 1, 40, dtype=np.float32).reshape(10, 4)
Y = (np.arange(10) % 3).astype(np.int32)


class Rows:
    """A dataset of the rows of X and Y in batches of four, which records the requested epochs."""

    def __init__(self, rows: int = 10) -> None:
        self.rows = rows
        self.requested_epochs: list[int] = []

    def get_dataset_size(self) -> int:
        return -(-self.rows // 4)

    def create_tuple_iterator(self, *, num_epochs: int) -> list[tuple[Tensor, Tensor]]:
        self.requested_epochs.append(num_epochs)
        return [
            (Tensor(X[i : min(i + 4, self.rows)]), Tensor(Y[i : min(i + 4, self.rows)]))
            for i in range(0, self.rows, 4)
        ]


def make(metrics: set[str] | None = None) -> Model:
    net = nn.Dense(4, 3, "zeros", "zeros")
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics=metrics)
