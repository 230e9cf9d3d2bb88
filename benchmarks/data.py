"""A full pass over MNIST's 60,000 images through the tutorial's pipeline."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import _peers
from benchmarks._timing import Contestant, Row, compare
from benchmarks.tutorial import pipeline
from minispore.dataset import digits

# The same pipeline, in MindSpore.
_THEIRS = """
import mindspore as ms
from mindspore.dataset import MnistDataset, transforms, vision

data = MnistDataset({folder}, usage="train")
data = data.map([
    vision.Rescale(1.0 / 255.0, 0),
    vision.Normalize(mean=(0.1307,), std=(0.3081,)),
    vision.HWC2CHW(),
], "image").map(transforms.TypeCast(ms.int32), "label").batch(64)

def run():
    for _ in data.create_tuple_iterator(num_epochs=1):
        pass
"""


def rows() -> list[Row]:
    """The pass beside MindSpore's."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=60_000, test=64)
        theirs = _peers.mindspore(_THEIRS.format(folder=json.dumps(folder)))
        if theirs is None:
            return []
        data = pipeline(Path(folder))

        def ours() -> None:
            for _ in data.create_tuple_iterator(num_epochs=1):
                pass

        try:
            return compare(
                "60,000 images through the pipeline",
                ours,
                [Contestant("mindspore.dataset", theirs, 0.05)],
                turns=11,
            )
        finally:
            theirs.close()
