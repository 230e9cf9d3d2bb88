"""What `SummaryCollector` costs a training at its default frequency."""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks._timing import Row, beside
from benchmarks.tutorial import BATCH, pipeline, trainer
from minispore.dataset import digits
from minispore.train import Callback, LossMonitor, RunContext, SummaryCollector

# Few steps, as the machine's speed changes from one second to the next; many turns, as what is
# looked for is small. The writer's thread does eight collections at a time, so 80 steps see it work
# once; an epoch's first steps are not measured, as in them it may be busy with the epoch before.
STEPS = 80
_FIRST = 120
_EPOCH = _FIRST + STEPS
TURNS = 201


class _EverySecondEpoch(SummaryCollector):
    """Collects in the epochs of odd number."""

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_epoch_num % 2:
            super().on_train_step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_epoch_num % 2:
            super().on_train_step_end(run_context)


class _LastSteps(Callback):
    """Measures the last steps of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        step = run_context.original_args().cur_step_num % _EPOCH
        if step == _FIRST:
            self._start = perf_counter()
        elif step == 0:
            self.times.append(perf_counter() - self._start)


def rows() -> list[Row]:
    """Epochs of one training that are collected beside those that are not, in turns."""
    steps = _LastSteps()
    with TemporaryDirectory() as folder:
        digits.write(folder, train=_EPOCH * BATCH, test=BATCH)
        callbacks: list[Callback] = [LossMonitor(), _EverySecondEpoch(f"{folder}/summary"), steps]
        trainer(callbacks, pipeline(Path(folder)), 2 * (1 + TURNS))()
    collected, alone = steps.times[2::2], steps.times[3::2]
    work = f"{STEPS} steps of the tutorial, SummaryCollector"
    return [beside(work, collected, "without it", alone, 1.02)]
