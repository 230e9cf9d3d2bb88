"""Programs that train, save and resume, and are edited between the runs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore import Tensor, nn, set_seed
from minispore.dataset import Dataset, GeneratorDataset, NumpySlicesDataset, Sampler
from minispore.dataset.config import set_seed as set_dataset_seed
from minispore.train import Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint
from minispore.train.protocol.dataset import DatasetLike

X = np.linspace(-1, 1, 48, dtype=np.float32).reshape(12, 4)
Y = (np.arange(12) % 3).astype(np.int32)

# A part of a user's program, which is edited between two runs.
PROGRAM = """
import numpy as np
from functools import lru_cache, partial
from minispore import nn, ops
from minispore.dataset import Sampler

SCALE = 2.0
CONFIG = {"epochs": 1, "slope": 0.5}
TABLE = np.arange(1000.0)
ROWS = [(np.full(4, i, np.float32), np.int32(i % 3)) for i in range(12)]

class Own(nn.Cell):
    power = 1

    def __init__(self, shift=0.0):
        super().__init__()
        self.dense = nn.Dense(4, 3)
        self.layers = [nn.Dropout(p=0.1)]
        self.shift = shift

    def construct(self, x):
        return ops.relu(self.dense(x)) * self.factor() + CONFIG["slope"] + self.shift

    def factor(self):
        return SCALE ** self.power

def helper(x):
    return x + np.float32(TABLE[7])

def noise(x, times=0.5):
    '''Change the rows.'''
    return helper(x) * np.float32(times)

def outer(by):
    def inner(x):
        return x - np.float32(by)
    return inner

def rows():
    yield from ROWS

class Add:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x + np.float32(self.by)

    def apply(self, x):
        return self(x)

class Backwards(Sampler):
    def __init__(self, step):
        super().__init__()
        self.step = step

    def __iter__(self):
        return iter(range(11, -1, -self.step))

class Source:
    def __init__(self, first):
        self.first = first

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return ROWS[i]
"""


def program(old: str = "", new: str = "") -> dict[str, Callable[..., object]]:
    """Return the names that the program defines, after an edit."""
    assert old in PROGRAM
    names: dict[str, object] = {"__name__": "__main__"}
    exec(PROGRAM.replace(old, new, 1), names)
    return cast("dict[str, Callable[..., object]]", names)


def layers(*inner: nn.Cell) -> nn.Cell:
    return nn.SequentialCell(nn.Dense(4, 3), *inner)


def pipeline(
    operations: Sequence[Callable[..., object]] = (), x: npt.NDArray[np.float32] = X
) -> Dataset:
    data: Dataset = NumpySlicesDataset({"x": x, "y": Y}, shuffle=False)
    for operation in operations:
        data = data.map(operation, ["x"])
    return data.batch(4)


def generated(source: object) -> Dataset:
    return GeneratorDataset(cast("Iterable[object]", source), ["x", "y"], shuffle=False).batch(4)


def loaded(sampler: object) -> Dataset:
    return NumpySlicesDataset({"x": X, "y": Y}, sampler=cast("Sampler", sampler)).batch(4)


def sgd(**settings: object) -> Callable[[nn.Cell], nn.Optimizer]:
    def make(net: nn.Cell) -> nn.Optimizer:
        options = {"learning_rate": 0.1, "momentum": 0.9} | settings
        return nn.SGD(net.trainable_params(), **options)  # type: ignore[arg-type]

    return make


def adam(**settings: object) -> Callable[[nn.Cell], nn.Optimizer]:
    return lambda net: nn.Adam(net.trainable_params(), **settings)  # type: ignore[arg-type]


def groups(lr: float, decay: float, first: int) -> Callable[[nn.Cell], nn.Optimizer]:
    def make(net: nn.Cell) -> nn.Optimizer:
        parameters = net.trainable_params()
        return nn.Momentum(
            [
                {"params": [parameters[first]], "lr": lr},
                {"params": [parameters[1 - first]], "weight_decay": decay},
                {"order_params": parameters},
            ],
            0.1,
            0.9,
        )

    return make


def saving(folder: Path) -> ModelCheckpoint:
    return ModelCheckpoint("m", folder, CheckpointConfig(2, append_info=["training_state"]))


_SGD = sgd()


@dataclass(frozen=True)
class Script:
    """A program that trains; each run makes new objects."""

    seed: int = 1
    dataset_seed: int | None = None
    net: Callable[[], object] = lambda: layers(nn.ReLU(), nn.Dropout(p=0.2))
    loss: Callable[[], nn.Cell] = nn.CrossEntropyLoss
    optimizer: Callable[[nn.Cell], nn.Optimizer] = _SGD
    data: Callable[[], DatasetLike] = pipeline
    model: Mapping[str, object] = field(default_factory=dict[str, object])  # further arguments
    callbacks: Callable[[Path], list[Callback]] = lambda folder: [LossMonitor(0), saving(folder)]

    def run(
        self, folder: Path, resume: Path | None = None, epochs: int = 1, strict: bool = True
    ) -> Path:
        """Train, and return the file that was saved inside the first epoch."""
        set_seed(self.seed)
        if self.dataset_seed is not None:
            set_dataset_seed(self.dataset_seed)
        net = cast("nn.Cell", self.net())
        model = Model(net, self.loss(), self.optimizer(net), **self.model)  # type: ignore[arg-type]
        callbacks = self.callbacks(folder)
        model.train(epochs, self.data(), callbacks, resume=resume, resume_strict=strict)
        return folder / "m-1_2.ckpt"


class Foreign:
    """A dataset that implements only the protocol."""

    def __init__(self, x: npt.NDArray[np.float32]) -> None:
        self.x = x

    def get_dataset_size(self) -> int:
        return 3

    def create_tuple_iterator(self, *, num_epochs: int) -> list[tuple[Tensor, Tensor]]:
        return [(Tensor(self.x[i : i + 4]), Tensor(Y[i : i + 4])) for i in (0, 4, 8)]


class Another(nn.LossBase):
    """A custom loss function."""

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self.get_loss((logits.sum(1) - labels) ** 2)
