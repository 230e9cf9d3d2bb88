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
PROGRAM = Path(__file__).with_name("edited_program.txt").read_text("utf-8")


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
