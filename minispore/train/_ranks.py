"""What changes where several processes train together: everything that one must tell the others.

The loop is the same. Its callbacks have another manager, which meets the other processes' after
those events at whose end the loop looks at what callbacks have asked for; so all processes find the
same there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast

from minispore.communication import get_group_size
from minispore.communication._exchange import (
    by_itself,
    fail_together,
    gathered,
    highest,
    is_data_parallel,
    is_first,
    of_the_first,
)
from minispore.nn._grad_reducer import begin_alike
from minispore.train._alike import check_parameters
from minispore.train._dataset import SupportsState
from minispore.train._protocol import manager
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.manager import CallbackManager, Event, as_list
from minispore.train._protocol.run_context import Occasion, RunContext
from minispore.train._training_state import TrainingState

R = TypeVar("R")
_Hook = Callable[[RunContext], None]
# Before these it must be known that the data will end together,
_BEGINNING: Final[tuple[Event, ...]] = (Callback.on_train_begin, Callback.on_eval_begin)
# and after these the loop asks whether a stop was requested.
_STOPPING: Final[tuple[Event, ...]] = (
    Callback.on_train_step_end,
    Callback.on_eval_step_end,
    Callback.on_train_epoch_end,
    Callback.on_eval_end,
)
# After these parameters must be the same.
_COMPARED: Final[tuple[Event, ...]] = (Callback.on_train_epoch_end, Callback.on_train_end)


def manager_of(callbacks: Callback | Iterable[Callback] | None) -> CallbackManager:
    """Return the manager for a run with these callbacks, alone or with other processes."""
    if is_data_parallel("Model"):
        return _ManagerOfRanks(callbacks)
    return manager.manager_of(callbacks)


class _ManagerOfRanks(CallbackManager):
    """The callbacks that this process calls, in the step of all processes."""

    def __init__(self, callbacks: Callback | Iterable[Callback] | None) -> None:
        given = list(callbacks) if isinstance(callbacks, Iterable) else as_list(callbacks)
        super().__init__(given)
        if not is_first():
            super().__init__(_without_chief_only(given, self.callbacks))
        if get_group_size() > 1:
            self._hooks = {
                event: tuple([(name, _guarded(hook)) for name, hook in hooks])
                for event, hooks in self._hooks.items()
            }

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
            begin_alike(run_context.original_args().train_network)
        if event in _STOPPING:
            _agree_to_stop(run_context)
        if event in _COMPARED:
            check_parameters(run_context.original_args())

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        """As alone, but an exception that only some of the processes raise ends them all."""
        try:
            return super().run(run_context, body)
        except BaseException as error:
            fail_together(error)
            raise


def _guarded(hook: _Hook) -> _Hook:
    """The hook, but one of a `chief_only` callback is refused what all processes do together."""
    owner: object = getattr(hook, "__self__", None)
    if not isinstance(owner, Callback) or not owner.chief_only:
        return hook
    who = type(owner).__name__

    def guarded(run_context: RunContext) -> None:
        with by_itself(who):
            hook(run_context)

    return guarded


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
    attributes = {"__qualname__": type(callback).__qualname__, "chief_only": callback.chief_only}
    return cast("Callback", type(type(callback).__name__, (base,), attributes)())


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
