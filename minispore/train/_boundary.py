"""Boundaries: the places between two steps where a run can be left, and entered again.

At a boundary all callbacks have seen what happened before, and nothing of what comes next has
begun. Whatever is remembered from there on is in the parameters, the dataset's position, the random
states and the callbacks' states: together they are the training state.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from minispore.common.seed import random_state, set_random_state
from minispore.train._dataset import Epochs, SupportsState
from minispore.train._fingerprint import fingerprint
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.run_context import Occasion, RunContext, StateSaver
from minispore.train._resume import check_fits, restore_callbacks
from minispore.train._state_values import encode
from minispore.train._training_state import (
    TrainingCheckpoint,
    TrainingState,
    printable,
    read_training_checkpoint,
)


class Boundary:
    """The boundaries of one run.

    Args:
        context: The run's; a resume requested there is checked at once.
        callbacks: The run's callbacks.
        data: What is trained on.

    Raises:
        ValueError: The run cannot be resumed from that file.
    """

    _before: Mapping[str, object]  # the random state before a resume
    _matched: Sequence[Callback | None]  # the callbacks for those of the checkpoint

    def __init__(self, context: RunContext, callbacks: Sequence[Callback], data: Epochs) -> None:
        self._context = context
        self._params = context.original_args()
        self._callbacks = callbacks
        self._data = data
        # As the run begins: its callbacks and steps may change attributes.
        names = ("network", "loss_fn", "optimizer", "train_dataset")
        self._fingerprint = fingerprint(**{name: self._params[name] for name in names})
        self._closed = True  # whether no epoch is open
        self._held: TrainingState | None = None  # that of where the run is left
        self._checkpoint: TrainingCheckpoint | None = None
        self._find_checkpoint()

    # On the way in.

    def resume(self) -> None:
        """Go to where a resumed run goes on; if that is inside of an epoch, this must be opened."""
        self._find_checkpoint()
        if self._checkpoint is None:
            return
        values = self._checkpoint.values
        self._before = random_state()
        try:
            # What may be refused comes first, before anything of the run is changed.
            set_random_state(cast("Mapping[str, object]", values["random"]))
            self._data.load_state_dict(cast("Mapping[str, object]", values["data"]))
        except ValueError as error:
            set_random_state(self._before)
            raise ValueError(
                f"The training state in '{self._checkpoint.path}' does not fit: "
                f"{printable(str(error))}"
            ) from error
        self._params.cur_epoch_num = cast("int", values["epoch"])
        self._params.cur_step_num = cast("int", values["step"])
        if values["closed"]:
            self._restore(self._checkpoint)

    def opened(self) -> None:
        """An epoch was opened: if that is the one in which a resumed run goes on, go on."""
        self._closed = False
        if self._checkpoint is not None:
            self._restore(self._checkpoint)

    def _find_checkpoint(self) -> None:
        path = self._context.get_resume_requested()
        if path is not None and self._checkpoint is None:
            self._checkpoint = read_training_checkpoint(path)
            self._matched = check_fits(
                self._checkpoint, self._context, self._callbacks, self._fingerprint
            )

    def _restore(self, checkpoint: TrainingCheckpoint) -> None:
        values = checkpoint.values
        try:
            restore_callbacks(checkpoint, self._matched)
        except ValueError:
            set_random_state(self._before)
            raise
        for parameter in self._params.train_network.get_parameters():
            parameter.set_data(checkpoint.parameters[parameter.name])
        for net_outputs in cast("list[object]", values["net_outputs"]):
            self._params.net_outputs = net_outputs
        set_random_state(cast("Mapping[str, object]", values["random"]))
        self._checkpoint = None
        # A kill may have come between one saver's file and the next one's.
        places = cast("list[int]", values["savers"])
        asking = [cast("StateSaver", self._matched[i]) for i in places if self._matched[i]]
        others = [each for each in self._context.get_state_savers() if each not in asking]
        self._save(checkpoint.state, asking, "asked")
        self._save(checkpoint.state, others, "resumed")
        if values["for_good"]:
            self._context.request_stop(for_good=True)
            self._data.end()
            self._held = checkpoint.state
            self._save(checkpoint.state, others, "ended")

    # On the way.

    def reached(self, *, closed: bool = False) -> None:
        """A step is done, or the epoch closed: now save, if it was asked for or a stop was."""
        self._closed = closed
        if self._context.get_stop_requested():
            interrupted = self._context.is_interrupted()
            if interrupted and not closed:
                self._context.leave_epoch()
            self.leave("stopped" if interrupted else "ended")
        asking = self._context.take_requests()
        if asking:
            self._save(self._held or self._state(asking), asking, "asked")

    def leave(self, occasion: Occasion) -> None:
        """The run ends here: what is saved from now on goes on here, whatever is still called."""
        if self._held is not None:
            return
        asking = self._context.take_requests()
        others = [each for each in self._context.get_state_savers() if each not in asking]
        if asking or others:
            self._held = self._state(asking)
            self._save(self._held, asking, "asked")
            self._save(self._held, others, occasion)

    @contextmanager
    def validation(self) -> Generator[None, None, None]:
        """Around a validation: a run that is stopped before its results goes on before it."""
        savers = self._context.get_state_savers()
        before = self._state([]) if savers else None
        try:
            yield
        finally:  # also when a hook raises because there are no results
            if self._context.is_interrupted() and not self._params.get("metrics"):
                self._context.leave_epoch()
                if before is not None:
                    self._held = before
                    self._save(before, savers, "stopped")

    def _save(self, state: TrainingState, savers: Sequence[StateSaver], occasion: Occasion) -> None:
        for saver in savers:
            saver.save_training_state(self._context, state, occasion)

    def _state(self, asking: Sequence[StateSaver]) -> TrainingState:
        params, interrupted = self._params, self._context.is_interrupted()
        names = [type(callback).__qualname__ for callback in self._callbacks]
        states = {f"{i} {names[i]}": _state_of(each) for i, each in enumerate(self._callbacks)}
        places = {id(callback): i for i, callback in enumerate(self._callbacks)}
        return TrainingState.of(
            {
                "initial_epoch": params.initial_epoch,
                "batch_num": params.batch_num,
                "epoch": params.cur_epoch_num,
                "closed": self._closed,
                "step": params.cur_step_num,
                "for_good": self._context.get_stop_requested() and not interrupted,
                "net_outputs": _what_can_be_saved(params.get("net_outputs")),
                "parameters": [each.name for each in params.train_network.get_parameters()],
                "callbacks": names,
                "states": states,
                "savers": [places[id(saver)] for saver in asking],
                "data": self._data.state_dict(closed=self._closed),
                "random": random_state(),
                "fingerprint": self._fingerprint,
            }
        )


def _state_of(callback: Callback) -> Mapping[str, object] | None:
    if isinstance(callback, SupportsState):
        return callback.state_dict()
    if hasattr(callback, "state_dict") or hasattr(callback, "load_state_dict"):
        raise TypeError(
            f"The callback {type(callback).__name__} must define both 'state_dict' and "
            "'load_state_dict', or neither."
        )
    return None


def _what_can_be_saved(net_outputs: object) -> list[object]:
    """The value as the only one of a list; none if it is nothing that a file can hold."""
    try:
        encode(net_outputs, "")
    except TypeError:
        return []
    return [net_outputs]
