"""What `SummaryCollector` costs a training at its default frequency, and beside MindSpore's."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import _peers
from benchmarks._peers import Apart
from benchmarks._program import program
from benchmarks._timing import Contestant, Row, beside, compare
from benchmarks.tutorial import BATCH, pipeline, trainer
from minispore.dataset import digits
from minispore.train import Callback, LossMonitor, RunContext, SummaryCollector

# Few steps, as the machine's speed changes from one second to the next; many turns, as what is
# looked for is small. Files are opened and closed in each turn, so that all that is collected in it
# is written in it, too.
STEPS = 200
TURNS = 151


class _EverySecondEpoch(SummaryCollector):
    """Collects in the epochs of odd number."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_epoch_num % 2:
            super().on_train_step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        if params.cur_epoch_num % 2:
            super().on_train_step_end(run_context)
            if params.cur_step_num % STEPS == 0:
                self.__exit__(None, None, None)


class _Epochs(Callback):
    """Measures the steps of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num % STEPS == 1:
            self._start = perf_counter()

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num % STEPS == 0:
            self.times.append(perf_counter() - self._start)


_RUN = """
import tempfile
from mindspore.train import SummaryCollector

def run():
    with tempfile.TemporaryDirectory() as summaries:
        model.train(1, train, callbacks=[SummaryCollector(summaries)], dataset_sink_mode=False)
"""


def rows() -> list[Row]:
    """A training with summaries beside one without, and beside MindSpore's."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=STEPS * BATCH, test=BATCH)
        return [_beside_none(folder), *_beside_mindspore(folder)]


def _beside_none(folder: str) -> Row:
    """Epochs of one training that are collected beside those that are not, in turns."""
    epochs = _Epochs()
    callbacks: list[Callback] = [LossMonitor(), _EverySecondEpoch(f"{folder}/summary"), epochs]
    trainer(callbacks, pipeline(Path(folder)), 2 * (1 + TURNS))()
    collected, alone = epochs.times[2::2], epochs.times[3::2]
    work = f"{STEPS} steps of the tutorial, SummaryCollector"
    return beside(work, collected, "without it", alone, 1.02)


def _beside_mindspore(folder: str) -> list[Row]:
    theirs = _peers.mindspore(program("mindspore", "GRAPH_MODE", folder, _RUN))
    if theirs is None:
        return []
    work = f"a training of {STEPS} steps, SummaryCollector"
    with closing(theirs), closing(Apart(program("minispore", "GRAPH_MODE", folder, _RUN))) as ours:
        return compare(work, ours, [Contestant("MindSpore, graph mode", theirs)], turns=7)
