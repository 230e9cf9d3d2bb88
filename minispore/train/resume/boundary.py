"""The step boundary of a run whose training state is saved or restored.

The training state consists of the parameters, the dataset's position, the random states and the
states of the callbacks at a boundary.
"""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from minispore.ops.seed import get_rng_state, set_rng_state
from minispore.train.protocol.callback import Callback, RunContext, SaveReason, StateSaver
from minispore.train.protocol.dataset import EpochIterator, SupportsState
from minispore.train.protocol.training_state import TrainingState, encode
from minispore.train.resume.compatibility import check_compatible, class_names, restore_callbacks
from minispore.train.resume.fingerprint import fingerprint
from minispore.train.resume.newest_checkpoint import read_newest_checkpoint
from minispore.train.resume.training_checkpoint import (
    TrainingCheckpoint,
    TrainingValues,
    read_training_checkpoint,
    truncate_for_message,
)


class ResumableBoundary:
    """Saves and restores the training state at the step boundaries of one run.

    Args:
        context: The run context; a resume requested there is checked at once.
        callbacks: The callbacks of the run.
        data: The training data.

    Raises:
        ValueError: The run cannot be resumed from the requested file.
    """

    _rng_state: Mapping[str, object]  # that before a resume
    _matched: Sequence[Callback | None]  # the run's callbacks for those of the checkpoint

    def __init__(
        self, context: RunContext, callbacks: Sequence[Callback], data: EpochIterator
    ) -> None:
        self._context = context
        self._params = context.original_args()
        self._callbacks = callbacks
        self._data = data
        # Computed before the run, since callbacks and steps may change attributes.
        names = ("network", "loss_fn", "optimizer", "train_dataset", "train_network")
        self._fingerprint = fingerprint(**{name: self._params[name] for name in names})
        self._closed = True  # whether no epoch is in progress
        self._final: TrainingState | None = None  # the state at which the run stops
        self._checkpoint: TrainingCheckpoint | None = None
        self._read_checkpoint()

    # Resuming.

    def resume(self) -> "ResumableBoundary":
        """Move to the position of the requested checkpoint; `enter_epoch` restores the rest."""
        self._read_checkpoint()
        if self._checkpoint is None:
            return self
        values = self._values
        self._rng_state = get_rng_state()
        try:
            # These may raise an error: nothing else of the run has been changed.
            set_rng_state(values.random)
            self._data.load_state_dict(values.data)
        except ValueError as error:
            set_rng_state(self._rng_state)
            raise ValueError(
                f"The training state in '{self._checkpoint.path}' does not fit: "
                f"{truncate_for_message(str(error))}"
            ) from error
        self._params.cur_epoch_num = values.epoch
        self._params.cur_step_num = values.step
        if values.closed:
            self._restore(self._checkpoint)
        return self

    def enter_epoch(self) -> None:
        """Note that an epoch has begun; restore the state if the run is resumed inside of it."""
        self._closed = False
        if self._checkpoint is not None:
            self._restore(self._checkpoint)

    def _read_checkpoint(self) -> None:
        path = self._context.get_resume_requested()
        if path is not None and self._checkpoint is None:
            read = read_newest_checkpoint if os.path.isdir(path) else read_training_checkpoint
            self._checkpoint = read(path)
            self._values, self._matched = check_compatible(
                self._checkpoint, self._context, self._callbacks, self._fingerprint
            )

    def _restore(self, checkpoint: TrainingCheckpoint) -> None:
        values = self._values
        try:
            restore_callbacks(checkpoint.path, values.states, self._matched)
        except ValueError:
            set_rng_state(self._rng_state)
            raise
        for parameter in self._params.train_network.get_parameters():
            parameter.set_data(checkpoint.parameters[parameter.name])
        for net_outputs in values.net_outputs:
            self._params.net_outputs = net_outputs
        set_rng_state(values.random)
        self._checkpoint = None
        # The process may have been killed after one saver's file and before the next one's.
        matched = [self._matched[index] for index in values.savers]
        requested = [cast("StateSaver", saver) for saver in matched if saver is not None]
        others = self._savers_without(requested)
        self._save(checkpoint.state, requested, "requested")
        self._save(checkpoint.state, others, "restored")
        if values.finished:
            self._context.request_stop(finished=True)
            self._data.end()
            self._final = checkpoint.state
            self._save(checkpoint.state, others, "finished")

    # Saving.

    def handle_requests(self, *, closed: bool = False) -> None:
        """Save the state if callbacks requested it, or a stop, in a step or at an epoch's end."""
        self._closed = closed
        if self._context.get_stop_requested():
            interrupted = self._context.is_interrupted()
            if interrupted and not closed:
                self._context.leave_epoch()
            self.leave("interrupted" if interrupted else "finished")
        requested = self._context.pop_save_requests()
        if requested:
            self._save(self._final or self._state(requested), requested, "requested")

    def leave(self, reason: SaveReason) -> None:
        """End the run: later saves contain the state at this point, whatever hooks change."""
        if self._final is not None:
            return
        requested = self._context.pop_save_requests()
        others = self._savers_without(requested)
        if requested or others:
            self._final = self._state(requested)
            self._save(self._final, requested, "requested")
            self._save(self._final, others, reason)

    @contextmanager
    def validation(self) -> Generator[None, None, None]:
        """Return a context for a validation; a run interrupted in it is resumed before it."""
        savers = self._context.get_state_savers()
        before = self._state([]) if savers else None
        try:
            yield
        finally:  # also where a hook raises an error because there are no results
            if self._context.is_interrupted() and not self._params.get("metrics"):
                self._context.leave_epoch()
                if before is not None:
                    self._final = before
                    self._save(before, savers, "interrupted")

    def _savers_without(self, requested: Sequence[StateSaver]) -> list[StateSaver]:
        return [saver for saver in self._context.get_state_savers() if saver not in requested]

    def _save(self, state: TrainingState, savers: Sequence[StateSaver], reason: SaveReason) -> None:
        for saver in savers:
            saver.save_training_state(self._context, state, reason)

    def _state(self, requested: Sequence[StateSaver]) -> TrainingState:
        params, interrupted = self._params, self._context.is_interrupted()
        names = class_names(self._callbacks)
        indexes = {id(callback): i for i, callback in enumerate(self._callbacks)}
        values = TrainingValues()
        values.initial_epoch = params.initial_epoch
        values.batch_num = params.batch_num
        values.epoch = params.cur_epoch_num
        values.closed = self._closed
        values.step = params.cur_step_num
        values.finished = self._context.get_stop_requested() and not interrupted
        values.net_outputs = _serializable_outputs(params.get("net_outputs"))
        values.parameters = [item.name for item in params.train_network.get_parameters()]
        values.callbacks = names
        values.states = {
            f"{i} {names[i]}": _state_of(callback) for i, callback in enumerate(self._callbacks)
        }
        values.savers = [indexes[id(saver)] for saver in requested]
        values.data = self._data.state_dict(closed=self._closed)
        values.random = get_rng_state()
        values.fingerprint = self._fingerprint
        return TrainingState.of(values.state_dict())


def _state_of(callback: Callback) -> object:
    if isinstance(callback, SupportsState):
        return callback.state_dict()
    if hasattr(callback, "state_dict") or hasattr(callback, "load_state_dict"):
        raise TypeError(
            f"The callback {type(callback).__name__} must define both 'state_dict' and "
            "'load_state_dict', or neither."
        )
    return None


def _serializable_outputs(net_outputs: object) -> list[object]:
    """Return a list of the outputs; an empty list if a file cannot hold them."""
    try:
        encode(net_outputs, "")
    except TypeError:
        return []
    return [net_outputs]
