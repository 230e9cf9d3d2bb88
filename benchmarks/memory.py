"""The most memory that a process holds in an epoch of the tutorial."""

import json
from functools import partial
from tempfile import TemporaryDirectory

from benchmarks import _peers
from benchmarks._timing import Contestant, Row, compare
from benchmarks.tutorial import BATCH
from minispore.dataset import digits

_OURS = """
from pathlib import Path
from benchmarks.tutorial import pipeline, trainer
from minispore.train import LossMonitor
trainer([LossMonitor()], pipeline(Path({folder})))()
"""
# By hand: the bytes in memory, normalised batch by batch into the same buffer.
_BY_HAND = """
import numpy as np
from benchmarks.handwritten import HandWritten
images = np.fromfile({folder} + "/train-images-idx3-ubyte", np.uint8, offset=16).reshape(-1, 784)
labels = np.fromfile({folder} + "/train-labels-idx1-ubyte", np.uint8, offset=8).astype(np.int32)
network = HandWritten({batch}, (784, 512, 512, 10), 1e-2)
order = np.random.default_rng(0).permutation(len(images))
batch = np.empty(({batch}, 784), np.float32)
for start in range(0, len(images), {batch}):
    rows = order[start : start + {batch}]
    np.divide(images[rows], np.float32(255 * 0.3081), out=batch)
    batch -= np.float32(0.1307 / 0.3081)
    network.step(batch, labels[rows])
"""
_PRINT = f"{_peers.PEAK}print(peak())"


def rows() -> list[Row]:
    """Ours beside the loop by hand; the interpreter and all that is imported are counted."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=60_000 // BATCH * BATCH, test=BATCH)

        def measuring(code: str) -> float:
            return _peers.fresh(code.format(folder=json.dumps(folder), batch=BATCH) + _PRINT)[0]

        by_hand = Contestant("by hand in numpy", partial(measuring, _BY_HAND), 1.2)
        work = "peak memory of an epoch, 60,000 images"
        return compare(work, partial(measuring, _OURS), [by_hand], turns=3, unit="B")
