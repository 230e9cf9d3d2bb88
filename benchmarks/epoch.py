"""An epoch of the tutorial with its pipeline, five callbacks and validation."""

from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np

from benchmarks import _other_frameworks
from benchmarks._other_frameworks import Run, Worker
from benchmarks._program import program
from benchmarks._timing import Baseline, Row, compare
from benchmarks.tutorial import BATCH, torch_layers
from minispore.dataset import digits
from minispore.dataset.idx import read_idx

TRAIN, TEST = 200 * BATCH, 40 * BATCH

_RUN = """
from mindspore.train import (
    CheckpointConfig, EarlyStopping, History, LossMonitor, ModelCheckpoint, TimeMonitor,
)

def run():
    model.fit(1, train, test, dataset_sink_mode=False, callbacks=[
        LossMonitor(100),
        TimeMonitor(),
        ModelCheckpoint("run", folder, CheckpointConfig(100, keep_checkpoint_max=2)),
        History(),
        EarlyStopping("accuracy", mode="max", patience=3),
    ])
"""


def rows() -> list[Row]:
    """Return the rows of the epoch, compared with MindSpore's two modes and PyTorch."""
    with TemporaryDirectory() as folder, ExitStack() as processes:
        digits.write(folder, train=TRAIN, test=TEST)
        others: list[Baseline] = []
        for mode, name, target in (
            ("GRAPH_MODE", "MindSpore, graph mode", 0.5),
            ("PYNATIVE_MODE", "MindSpore, PyNative", None),
        ):
            theirs = _other_frameworks.mindspore(program("mindspore", mode, folder, _RUN))
            if theirs is not None:
                processes.enter_context(closing(theirs))
                others.append(Baseline(name, theirs, target))
        torch = _by_torch(Path(folder))
        if torch is not None:
            others.append(Baseline("PyTorch eager, DataLoader, no callbacks", torch, 0.3))
        ours = processes.enter_context(
            closing(Worker(program("minispore", "GRAPH_MODE", folder, _RUN)))
        )
        work = f"an epoch of {TRAIN // BATCH} steps: pipeline, five callbacks, validation"
        return compare(work, ours, others, turns=7)


class Samples:
    """Normalized images as tensors, one by one, for a `DataLoader`."""

    def __init__(self, torch: ModuleType, folder: Path, usage: str) -> None:
        """Read all images into memory."""
        self.torch = torch
        self.images = read_idx(folder / f"{usage}-images-idx3-ubyte")
        self.labels = read_idx(folder / f"{usage}-labels-idx1-ubyte").astype(np.int64)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.labels)

    def __getitem__(self, i: int) -> tuple[object, object]:
        """Return an image and its label."""
        image = self.torch.from_numpy(self.images[i]).to(self.torch.float32).div_(255.0)
        return image.sub_(0.1307).div_(0.3081), self.labels[i]


def _by_torch(folder: Path) -> Run | None:
    """Return the same epoch as in PyTorch's tutorial: single samples and a `DataLoader`."""
    torch = _other_frameworks.library("torch")
    data = _other_frameworks.library("torch.utils.data")
    if torch is None or data is None:
        return None

    network = torch.nn.Sequential(*torch_layers(torch))
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-2)
    loss_fn = torch.nn.CrossEntropyLoss()
    train = data.DataLoader(Samples(torch, folder, "train"), batch_size=BATCH, shuffle=True)
    test = data.DataLoader(Samples(torch, folder, "t10k"), batch_size=BATCH)

    def run() -> None:
        for x, labels in train:
            optimizer.zero_grad()
            loss_fn(network(x.flatten(1)), labels).backward()
            optimizer.step()
        correct = 0
        with torch.no_grad():
            for x, labels in test:
                correct += int((network(x.flatten(1)).argmax(1) == labels).sum())

    return run
