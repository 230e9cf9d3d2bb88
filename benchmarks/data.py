"""Passes over data: of the tutorial's pipeline, and with a slow Python function."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import numpy as np

from benchmarks import _other_frameworks
from benchmarks._program import program
from benchmarks._timing import Baseline, Row, compare
from benchmarks.tutorial import BATCH
from minispore._cli.tutorial import batches
from minispore.dataset import NumpySlicesDataset, digits

_RUN = """
def run():
    for _ in train.create_tuple_iterator(num_epochs=1):
        pass
"""


def rows() -> list[Row]:
    """Return the rows of both passes."""
    return [*_tutorial(), *_workers()]


def wait(image: object) -> object:
    """Take 2 ms, in which other processes may use the processor."""
    sleep(2e-3)
    return image


def _workers() -> list[Row]:
    def run(workers: int) -> Callable[[], None]:
        images = NumpySlicesDataset(np.zeros((512, 784), np.float32), "image")
        data = images.map(wait, num_parallel_workers=workers, python_multiprocessing=True).batch(32)

        def once() -> None:
            for _ in data.create_tuple_iterator(num_epochs=1):
                pass

        return once

    return compare(
        "512 images, a function of 2 ms each, 2 workers",
        run(2),
        [Baseline("1 worker", run(1), 1 / 1.6)],
        turns=7,
    )


def _tutorial() -> list[Row]:
    with TemporaryDirectory() as folder:
        digits.write(folder, train=60_000, test=64)
        theirs = _other_frameworks.mindspore(program("mindspore", "GRAPH_MODE", folder, _RUN))
        if theirs is None:
            return []
        data = batches(Path(folder), "train", BATCH)

        def ours() -> None:
            for _ in data.create_tuple_iterator(num_epochs=1):
                pass

        with closing(theirs):
            return compare(
                "60,000 images through the pipeline",
                ours,
                [Baseline("mindspore.dataset", theirs, 0.05)],
                turns=11,
            )
