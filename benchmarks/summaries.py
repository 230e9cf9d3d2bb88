"""What `SummaryCollector` costs a training at its default frequency."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks._timing import Row, beside
from benchmarks.tutorial import BATCH, pipeline, trainer
from minispore.dataset import digits
from minispore.train import Callback, LossMonitor, RunContext, SummaryCollector

# Few steps, as the machine's speed changes from one second to the next; many turns, as what is
# looked for is small. The writer's thread is done with most of an epoch's ten before it ends.
STEPS = 100
TURNS = 301
_WARM = 2


class _EverySecondEpoch(SummaryCollector):
    """Collects in the epochs of odd number."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_epoch_num % 2:
            super().on_train_step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_epoch_num % 2:
            super().on_train_step_end(run_context)


class _Epochs(Callback):
    """Measures the epochs."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self._start = perf_counter()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.times.append(perf_counter() - self._start)


def rows() -> list[Row]:
    """Epochs of one training that are collected beside those that are not, in turns."""
    epochs = _Epochs()
    with TemporaryDirectory() as folder:
        digits.write(folder, train=STEPS * BATCH, test=BATCH)
        callbacks: list[Callback] = [LossMonitor(), _EverySecondEpoch(f"{folder}/summary"), epochs]
        trainer(callbacks, pipeline(Path(folder)), _WARM + 2 * TURNS)()
    times = epochs.times[_WARM:]
    work = f"{STEPS} steps of the tutorial, SummaryCollector"
    return [beside(work, times[::2], "without it", times[1::2], 1.02)]
