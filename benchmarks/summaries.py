"""What `SummaryCollector` costs a training at its default frequency."""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks._timing import Contestant, Row, compare
from benchmarks.tutorial import BATCH, pipeline, trainer
from minispore.dataset import digits
from minispore.train import LossMonitor, SummaryCollector

# Enough for what happens once, the files and the graph, to count no more than it does in a run.
STEPS = 200


def rows() -> list[Row]:
    """The tutorial's steps with summaries beside the same without."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=STEPS * BATCH, test=BATCH)
        data = pipeline(Path(folder))
        ours = trainer([LossMonitor(), SummaryCollector(f"{folder}/summary")], data)
        without = Contestant("without it", trainer([LossMonitor()], data), 1.02)
        return compare(
            f"{STEPS} steps of the tutorial, SummaryCollector", ours, [without], turns=31
        )
