"""WaitedDSCallback as a state machine: random orders of dataset and training."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minispore.dataset import DSRunContext, WaitedDSCallback
from minispore.train import RunContext


class Counts(WaitedDSCallback):
    """Count the synchronizations."""

    calls = 0

    def sync_epoch_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        self.calls += 1

    def sync_step_begin(self, train_run_context: RunContext, ds_run_context: DSRunContext) -> None:
        self.calls += 1


class Synchronization(RuleBasedStateMachine):
    """The dataset begins an epoch or step after the training has done the one before.

    Before the training begins its first epoch, the dataset may skip to the resumed position; and
    after a run has ended, it is no longer synchronized.
    """

    def __init__(self) -> None:
        super().__init__()
        self.context = RunContext({})
        self.calls = 0
        self.epoch = 0  # of the dataset
        self.row = 0

    @initialize(size=st.integers(1, 3))
    def make(self, size: int) -> None:
        self.size, self.waited = size, Counts(size)
        self.begin_run()

    def begin_run(self) -> None:
        self.waited.on_train_begin(self.context)
        self.running, self.epochs, self.begun = True, 0, 0
        self.steps = self.trained = 0

    @rule()
    def train_again(self) -> None:
        self.begin_run()
        self.epoch = self.row = 0

    @rule()
    def end_run(self) -> None:
        self.waited.__exit__(None, None, None)
        self.running = False

    @rule()
    def train_epoch(self) -> None:
        self.waited.on_train_epoch_begin(self.context)
        self.epochs += 1
        self.trained = self.steps

    @precondition(lambda self: self.epochs)
    @rule()
    def train_step(self) -> None:
        self.waited.on_train_step_end(self.context)
        self.trained += 1

    @rule()
    def map_epoch(self) -> None:
        at = DSRunContext(cur_epoch_num=self.epoch + 1, cur_step_num_in_epoch=0, cur_step_num=0)
        synchronized = self.epoch > 0 and self.running and self.epochs > 0
        if synchronized and self.begun >= self.epochs:
            with pytest.raises(RuntimeError, match="another epoch before the training has done"):
                self.waited.ds_epoch_begin(at)
            return
        self.waited.ds_epoch_begin(at)
        self.calls += synchronized
        self.epoch += 1
        self.begun += 1
        self.steps = self.trained = 0

    @precondition(lambda self: self.epoch)
    @rule()
    def map_step(self) -> None:
        row = self.row + 1
        at = DSRunContext(cur_epoch_num=self.epoch, cur_step_num_in_epoch=row, cur_step_num=row)
        synchronized = self.row > 0 and self.running and self.epochs > 0
        if synchronized and self.steps > self.trained:
            with pytest.raises(RuntimeError, match="another step before the training has done the"):
                self.waited.ds_step_begin(at)
            return
        self.waited.ds_step_begin(at)
        self.calls += synchronized
        self.row += self.size
        self.steps += 1

    @invariant()
    def each_synchronization_calls_a_hook(self) -> None:
        if hasattr(self, "waited"):
            assert self.waited.calls == self.calls


TestSynchronization = Synchronization.TestCase
