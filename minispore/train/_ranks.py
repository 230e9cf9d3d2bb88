"""What changes where several processes train together: everything that one must tell the others.

The loop is the same. Its callbacks have another manager, which meets the other processes' after
those events at whose end the loop looks at what callbacks have asked for; so all processes find the
same there. And what a metric is given is what all processes have computed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast

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

R = TypeVar("R")

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


def data_of(dataset: object, name: str, owner: str) -> DatasetLike:
    """Return what to go through, alone or with other processes, for the data that the user gave.

    Raises:
        TypeError: It is no data set.
        ValueError: It is empty.
    """
    checked = check_dataset(dataset, name, owner)
    if not is_data_parallel("Model") or not isinstance(checked, Dataset):
        return checked
    return check_dataset(dealt(checked, _agreed), name, owner)


def scores_of(
    metrics: Mapping[str, Metric], indexes: Sequence[int] | None, params: InternalCallbackParam
) -> Scores:
    """Return the metrics of an evaluation, alone or with other processes."""
    if is_data_parallel("Model"):
        return _ScoresOfRanks(metrics, indexes, params)
    return Scores(metrics, indexes)


def evaluator_of(network: Cell) -> Cell:
    """Return what evaluates a batch, alone or with other processes."""
    return _WhereRows(network) if is_data_parallel("Model") else network


class _ManagerOfRanks(CallbackManager):
    """The callbacks that this process calls, in the step of all processes."""

    def __init__(self, callbacks: Callback | Iterable[Callback] | None) -> None:
        given = list(callbacks) if isinstance(callbacks, Iterable) else as_list(callbacks)
        super().__init__(given)
        if not is_first():
            super().__init__(_without_chief_only(given, self.callbacks))
        for callback in self.callbacks:
            if callback.chief_only:
                self._called_by_itself(callback)

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

    def run(self, run_context: RunContext, body: Callable[[], R]) -> R:
        """As alone, but an exception that only some of the processes raise ends them all."""
        try:
            return super().run(run_context, body)
        except BaseException as error:
            fail_together(error)
            raise


class _WhereRows(Cell):
    """A network that is not asked about batches without rows."""

    def __init__(self, network: Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, *batch: Tensor) -> object:
        """What the network returns; None without rows."""
        return self.network(*batch) if rows_of(batch) else None


class _ScoresOfRanks(Scores):
    """The metrics of what all processes compute.

    Args:
        metrics: As for `Scores`.
        indexes: As for `Scores`.
        params: Where the evaluation has this process's batch.
    """

    def __init__(
        self,
        metrics: Mapping[str, Metric],
        indexes: Sequence[int] | None,
        params: InternalCallbackParam,
    ) -> None:
        super().__init__(metrics, indexes)
        self._params = params

    def update(self, outputs: object) -> None:
        """Take in the batches of all processes as the one that they are parts of.

        Outputs that are neither of rows nor one number are taken in part by part.
        """
        everybodys = gathered((rows_of(self._params.eval_dataset_element), outputs))
        rows = [count for count, _ in everybodys if count]
        parts = [as_items(part) or (part,) for count, part in everybodys if count]
        joined = [_joined(items, rows) for items in zip(*parts, strict=True)]
        for items in parts if None in joined else [tuple(joined)]:
            super().update(items)


def _joined(parts: Sequence[object], rows: Sequence[int]) -> Tensor | None:
    """One output of a batch for those of its parts; None where that cannot be known."""
    arrays = [part.asnumpy() for part in parts if isinstance(part, Tensor)]
    if len(arrays) < len(rows):
        return None
    if all(array.ndim and len(array) == n for array, n in zip(arrays, rows, strict=True)):
        # Shards are dealt out row by row, and so they are collected.
        places = np.concatenate([np.arange(n) for n in rows])
        return host_tensor(np.concatenate(arrays)[np.argsort(places, kind="stable")])
    if all(array.size == 1 for array in arrays):
        mean = np.average([array.item() for array in arrays], weights=rows)
        return host_tensor(np.full_like(arrays[0], mean))
    return None


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


def _agreed(size: int, drop_remainder: bool) -> int:
    """How many batches all processes have, where they have so many each."""
    return -highest(-size) if drop_remainder else highest(size)


def _agree_to_stop(run_context: RunContext) -> None:
    """Let a stop that one process has requested be requested in all."""
    stopped, interrupted = run_context.get_stop_requested(), run_context.is_interrupted()
    asked = 2 * stopped - interrupted
    agreed = highest(asked)
    if agreed > asked:
        run_context.request_stop(for_good=agreed == 2)
