"""What changes where several processes train together: everything that one must tell the others.

The loop is the same. Its callbacks have another manager, which meets the other processes' after
those events at whose end the loop looks at what callbacks have asked for; so all processes find the
same there. And what a metric is given is what all processes have computed.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, cast

from minispore.communication._exchange import (
    fail_together,
    gathered,
    highest,
    is_data_parallel,
    is_first,
    of_the_first,
)
from minispore.nn._grad_reducer import begin_alike
from minispore.train._dataset import SupportsState
from minispore.train._scores import Scores
from minispore.train._training_state import TrainingState
from minispore.train.callback import _manager
from minispore.train.callback._base import Callback
from minispore.train.callback._manager import CallbackManager, Event, as_list
from minispore.train.callback._run_context import Occasion, RunContext
from minispore.train.metrics import Metric

# Before these it must be known that the data will end together,
_BEGINNING: Final[tuple[Event, ...]] = (Callback.on_train_begin, Callback.on_eval_begin)
# and after these the loop asks whether a stop was requested.
_STOPPING: Final[tuple[Event, ...]] = (
    Callback.on_train_step_end,
    Callback.on_eval_step_end,
    Callback.on_train_epoch_end,
    Callback.on_eval_end,
)


def manager_of(callbacks: Callback | Iterable[Callback] | None) -> CallbackManager:
    """Return the manager for a run with these callbacks, alone or with other processes."""
    if is_data_parallel("Model"):
        return _ManagerOfRanks(callbacks)
    return _manager.manager_of(callbacks)


def scores_of(metrics: Mapping[str, Metric], indexes: Sequence[int] | None) -> Scores:
    """Return the metrics of an evaluation, alone or with other processes."""
    kind = _ScoresOfRanks if is_data_parallel("Model") else Scores
    return kind(metrics, indexes)


class _ManagerOfRanks(CallbackManager):
    """The callbacks that this process calls, in the step of all processes."""

    def __init__(self, callbacks: Callback | Iterable[Callback] | None) -> None:
        given = list(callbacks) if isinstance(callbacks, Iterable) else as_list(callbacks)
        super().__init__(given)
        if not is_first():
            super().__init__(_without_chief_only(given, self.callbacks))

    def emit(self, event: Event, run_context: RunContext) -> None:
        """Call the hooks of `event`, and agree with the other processes on what they asked for."""
        if event in _BEGINNING:
            _check_data(run_context)
        if event is Callback.on_train_end:
            highest(0)  # Nobody removes a file from which another has yet to go on.
        super().emit(event, run_context)
        if event is Callback.on_train_begin:
            path = of_the_first(run_context.get_resume_requested())
            if path is not None:
                run_context.request_resume(path)
            begin_alike(run_context.original_args().train_network.get_parameters())
        if event in _STOPPING:
            _agree_to_stop(run_context)

    @contextmanager
    def run(self, run_context: RunContext) -> Generator[None, None, None]:
        """As alone, but an exception that only some of the processes raise ends them all."""
        try:
            with super().run(run_context):
                yield
        except BaseException as error:
            fail_together(error)
            raise


class _ScoresOfRanks(Scores):
    """The metrics of what all processes compute: each metric sees every batch of each."""

    def update(self, outputs: object) -> None:
        """Take in a batch of each process, in the order of their numbers."""
        for each in gathered(outputs):
            super().update(each)


class _Absent(Callback):
    """What a process has in the place of a callback that only the first one calls."""

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        """Leave the file to the first process."""


class _AbsentWithState(_Absent):
    """Likewise of one that remembers something."""

    def state_dict(self) -> dict[str, object]:
        """Nothing is remembered here."""
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Nor is it here."""


def _without_chief_only(given: Sequence[Callback], listed: Sequence[Callback]) -> list[Callback]:
    """The callbacks of a run, with stand-ins for those that only the first process calls.

    A companion made for all of them is replaced by the one for those that are called; where there
    is none, it has a stand-in as well. For a training state lists the callbacks of the first
    process, and all processes go on from it.
    """
    own: list[Callback] = []
    for each in given:
        own += each.callbacks if isinstance(each, CallbackManager) else [each]
    here = [_stand_in(each) if each.chief_only else each for each in own]
    companions = {type(each): each for each in as_list(here) if each not in here}
    made = [each for each in listed if each not in own]
    return [*(companions.get(type(each)) or _stand_in(each) for each in made), *here]


def _stand_in(callback: Callback) -> Callback:
    base = _AbsentWithState if isinstance(callback, SupportsState) else _Absent
    # A training state names the classes of a run's callbacks.
    name = {"__qualname__": type(callback).__qualname__}
    return cast("Callback", type(type(callback).__name__, (base,), name)())


def _check_data(run_context: RunContext) -> None:
    """Raise ValueError, in all processes, unless all have as many batches."""
    sizes = gathered(run_context.original_args().batch_num)
    if len(set(sizes)) > 1:
        raise ValueError(
            "In data parallel training all processes must have equally many batches, but those of "
            f"the processes 0, 1, … are {', '.join(map(str, sizes))}. A data set with 'num_shards' "
            "and 'shard_id' gives each as many."
        )


def _agree_to_stop(run_context: RunContext) -> None:
    """Let a stop that one process has requested be requested in all."""
    stopped, interrupted = run_context.get_stop_requested(), run_context.is_interrupted()
    asked = 2 * stopped - interrupted
    agreed = highest(asked)
    if agreed > asked:
        run_context.request_stop(for_good=agreed == 2)
