"""A small training with `Model` on each device, and its results."""

import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from minispore import nn, set_context, set_seed
from minispore.dataset import Dataset, NumpySlicesDataset
from minispore.engine.array import DeviceTarget
from minispore.train import Callback, Model, RunContext
from tests.strict_device.strict_backend import transfers

BATCHES = 10
Callbacks = Callable[[], Sequence[Callback]]


class Counting(Callback):
    """The number of transfers of each step, and of all callbacks after it."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[int, int]] = []

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._before = transfers.counts()

    def on_train_step_end(self, run_context: RunContext) -> None:
        after = transfers.counts()
        self.steps.append((after[0] - self._before[0], after[1] - self._before[1]))


def small_model() -> Model:
    net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 3))
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    metrics = {"accuracy", "loss", "precision", "top_1_accuracy", "recall", "F1"}
    return Model(net, nn.CrossEntropyLoss(), optimizer, metrics=metrics)


def data() -> Dataset:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4 * BATCHES, 4)).astype(np.float32)
    y = rng.integers(0, 3, len(x)).astype(np.int32)
    return NumpySlicesDataset({"x": x, "y": y}, shuffle=True).batch(4)


@dataclass
class Left:
    """The results of a run: weights, printed lines, files, and transfers.

    The names of event files stand without the second and the number that make them unique.
    """

    parameters: list[bytes]
    lines: str
    files: dict[str, bytes]
    counts: tuple[int, int] = field(compare=False)
    steps: list[tuple[int, int]] = field(compare=False)


def run(
    target: DeviceTarget,
    folder: Path,
    callbacks: Callbacks,
    lines: Callable[[], str],
    epochs: int = 2,
    validate: bool = True,
) -> Left:
    """Train on a device, with an evaluation after each epoch if `validate`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    set_context(device_target=target)
    set_seed(1)
    model, counting = small_model(), Counting()
    given = [counting, *callbacks()]
    source = data()
    transfers.clear()
    if validate:
        model.fit(epochs, source, source, callbacks=given)
    else:
        model.train(epochs, source, callbacks=given)
    counts = transfers.counts()
    return Left(
        [p.asnumpy().tobytes() for p in model.train_network.get_parameters()],
        lines(),
        {
            re.sub(r"\.\d+\.\d+\.", ".", str(path.relative_to(folder))): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        },
        counts,
        counting.steps,
    )
