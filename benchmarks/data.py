"""A pass of the tutorial's pipeline over 60,000 images."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import _other_frameworks
from benchmarks._program import program
from benchmarks._timing import Baseline, Row, compare
from benchmarks.tutorial import BATCH
from minispore._cli.tutorial import batches
from minispore.dataset import digits

_RUN = """
def run():
    for _ in train.create_tuple_iterator(num_epochs=1):
        pass
"""


def rows() -> list[Row]:
    """Return the row of the pass, compared with MindSpore's."""
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
