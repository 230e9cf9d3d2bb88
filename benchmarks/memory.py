"""The peak memory of a process in an epoch of the tutorial."""

import json
from functools import partial
from tempfile import TemporaryDirectory

from benchmarks import _other_frameworks
from benchmarks._timing import Baseline, Row, compare
from benchmarks.tutorial import BATCH
from minispore.dataset import digits

_OURS = """
from pathlib import Path
from benchmarks.tutorial import BATCH, trainer
from minispore._cli.tutorial import batches
from minispore.train import LossMonitor
trainer([LossMonitor()], batches(Path({folder}), "train", BATCH))()
"""
# In plain numpy: the bytes in memory, normalized batch by batch in one buffer.
_PLAIN_NUMPY = """
import numpy as np
from benchmarks.numpy_baseline import HandWritten
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
_PRINT = f"{_other_frameworks.PEAK}print(peak())"


def rows() -> list[Row]:
    """Return the row of the memory, including the interpreter and imports, and plain numpy's."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=60_000 // BATCH * BATCH, test=BATCH)

        def measuring(code: str) -> float:
            return _other_frameworks.run_python(
                code.format(folder=json.dumps(folder), batch=BATCH) + _PRINT
            )[0]

        plain_numpy = Baseline("plain numpy", partial(measuring, _PLAIN_NUMPY), 1.2)
        work = "peak memory of an epoch, 60,000 images"
        return compare(work, partial(measuring, _OURS), [plain_numpy], turns=3, unit="B")
