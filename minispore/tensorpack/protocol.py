"""tensorpack's protocol: the hooks of a callback, and the exception that stops a training.

    for all callbacks: setup_graph
    for all: before_train
    in each epoch:
        for all: before_epoch
        in each step:
            for all: before_run        global_step is N
            the step
            for all: after_run         global_step is N + 1
            for all: trigger_step
        for all: after_epoch           in fit: before the evaluation
        for all: trigger_epoch         in fit: after it
    for all: after_train               always, whatever happened

"for all" means one after the other in the order of the list, the whole list before the next hook.
"""

from collections.abc import Collection, Sequence
from typing import Self

from minispore.tensorpack.channel import Array
from minispore.tensorpack.trainer import RunValues, Trainer
from minispore.train.callback import RunContext


class StopTraining(Exception):  # noqa: N818 (tensorpack's name)
    """Raised in a hook of tensorpack's to end the training: no further hook but `_after_train`."""


class Hooks:
    """The hooks of tensorpack's callbacks: a subclass overrides those with an underscore.

    Attributes:
        chief_only: Whether only the chief of several processes has it; there is always one process.
        name_scope: For tensorpack's graphs, and without effect.
        hears: Whether `trainer.array` shall know what `ops`' summaries hand out.
    """

    chief_only: bool = True
    name_scope: str = ""
    hears: bool = False
    _trainer: Trainer | None = None

    # For subclasses.

    def _setup_graph(self) -> None:
        """Called once, before `_before_train` of any callback."""

    def _before_train(self) -> None:
        """Called once, before the first epoch."""

    def _before_epoch(self) -> None:
        """Called before each epoch."""

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        """Called before each step; returns the names of the arrays that `_after_run` shall get."""

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Called after each step, before `_trigger_step` of any callback."""

    def _trigger_step(self) -> None:
        """Called after each step."""

    def _after_epoch(self) -> None:
        """Called after the steps of each epoch: for clocks."""

    def _trigger_epoch(self) -> None:
        """Called after each epoch; by default it triggers."""
        self.trigger()

    def _trigger(self) -> None:
        """Do what the callback is for: by default at the end of each epoch."""

    def _after_train(self) -> None:
        """Called once at the end, of an interrupted or failed training as well."""

    def produces(self) -> Collection[str]:
        """Return the names of the numbers that it puts in the channel and others may read."""
        return ()

    def consumes(self) -> Collection[str]:
        """Return the names of the numbers that it reads; a callback before it must put them in."""
        return ()

    # What a trainer calls.

    def setup_graph(self, trainer: Trainer) -> None:
        """Meet the trainer."""
        self._trainer = trainer
        self._setup_graph()

    def before_train(self) -> None:
        """Call `_before_train`."""
        self._before_train()

    def before_epoch(self) -> None:
        """Call `_before_epoch`."""
        self._before_epoch()

    def before_run(self, run_context: RunContext) -> Sequence[str] | None:
        """Call `_before_run`."""
        return self._before_run(run_context)

    def after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        """Call `_after_run`."""
        self._after_run(run_context, run_values)

    def trigger_step(self) -> None:
        """Call `_trigger_step`."""
        self._trigger_step()

    def after_epoch(self) -> None:
        """Call `_after_epoch`."""
        self._after_epoch()

    def trigger_epoch(self) -> None:
        """Call `_trigger_epoch`."""
        self._trigger_epoch()

    def trigger(self) -> None:
        """Call `_trigger`."""
        self._trigger()

    def after_train(self) -> None:
        """Call `_after_train`."""
        self._after_train()

    # What a callback knows.

    @property
    def trainer(self) -> Trainer:
        """The training, from `_setup_graph` on.

        Raises:
            RuntimeError: There is none yet.
        """
        if self._trainer is None:
            raise RuntimeError(f"{type(self).__name__} is in no training: 'trainer' is not known.")
        return self._trainer

    @property
    def epoch_num(self) -> int:
        """The epoch, counted from 1."""
        return self.trainer.epoch_num

    @property
    def global_step(self) -> int:
        """How many steps are done."""
        return self.trainer.global_step

    @property
    def local_step(self) -> int:
        """The step within the epoch, counted from 0."""
        return self.trainer.local_step

    def set_chief_only(self, v: bool = True) -> Self:
        """Set `chief_only`."""
        self.chief_only = v
        return self

    def get_tensors_maybe_in_tower(self, names: Sequence[str]) -> list[Array]:
        """Return the arrays of the current step by their names; see `Trainer.array`."""
        return [self.trainer.array(name) for name in names]
