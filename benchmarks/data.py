"""A full pass over MNIST's 60,000 images through the tutorial's pipeline."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import _peers
from benchmarks._program import program
from benchmarks._timing import Contestant, Row, compare
from benchmarks.tutorial import pipeline
from minispore.dataset import digits

_RUN = """
def run():
    for _ in train.create_tuple_iterator(num_epochs=1):
        pass
"""


def rows() -> list[Row]:
    """The pass beside MindSpore's."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=60_000, test=64)
        theirs = _peers.mindspore(program("mindspore", "GRAPH_MODE", folder, _RUN))
        if theirs is None:
            return []
        data = pipeline(Path(folder))

        def ours() -> None:
            for _ in data.create_tuple_iterator(num_epochs=1):
                pass

        with closing(theirs):
            return compare(
                "60,000 images through the pipeline",
                ours,
                [Contestant("mindspore.dataset", theirs, 0.05)],
                turns=11,
            )
