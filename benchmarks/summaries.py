"""The time of `SummaryCollector` at its default frequency, and MindSpore's for comparison."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks import _other_frameworks
from benchmarks._other_frameworks import Worker
from benchmarks._program import program
from benchmarks._timing import Baseline, Row, compare, make_row
from benchmarks.tutorial import BATCH, trainer
from minispore._cli.tutorial import batches
from minispore.dataset import digits
from minispore.train import Callback, LossMonitor, RunContext, SummaryCollector

# Few steps, since the speed of the machine varies; many turns, since the difference is small. Files
# are opened and closed in each turn, so all data of a turn is written in it.
STEPS = 200
TURNS = 151


class _EverySecondEpoch(SummaryCollector):
    """A SummaryCollector that collects in epochs with an odd number."""

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
    """A callback that measures the time of the steps of each epoch."""

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
    """Return the rows of a training, compared with one without summaries and MindSpore's."""
    with TemporaryDirectory() as folder:
        digits.write(folder, train=STEPS * BATCH, test=BATCH)
        return [_compare_with_none(folder), *_compare_with_mindspore(folder)]


def _compare_with_none(folder: str) -> Row:
    """Return the row of a training in which epochs with and without summaries alternate."""
    epochs = _Epochs()
    callbacks: list[Callback] = [LossMonitor(), _EverySecondEpoch(f"{folder}/summary"), epochs]
    trainer(callbacks, batches(Path(folder), "train", BATCH), 2 * (1 + TURNS))()
    collected, alone = epochs.times[2::2], epochs.times[3::2]
    work = f"{STEPS} steps of the tutorial, SummaryCollector"
    return make_row(work, collected, "without it", alone, 1.02)


def _compare_with_mindspore(folder: str) -> list[Row]:
    theirs = _other_frameworks.mindspore(program("mindspore", "GRAPH_MODE", folder, _RUN))
    if theirs is None:
        return []
    work = f"a training of {STEPS} steps, SummaryCollector"
    with closing(theirs), closing(Worker(program("minispore", "GRAPH_MODE", folder, _RUN))) as ours:
        return compare(work, ours, [Baseline("MindSpore, graph mode", theirs)], turns=7)
