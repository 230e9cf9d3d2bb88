"""A callback of MindSpore's behind tensorpack's hooks, so that the triggers serve both schools."""

from collections.abc import Mapping
from typing import cast

from minispore.tensorpack.adapter import Callback
from minispore.train import callback as train
from minispore.train._dataset import SupportsState
from minispore.train.callback import RunContext
from minispore.train.callback._manager import CallbackManager


class AsTensorpack(Callback):
    """One callback of MindSpore's, whose events are called by tensorpack's hooks.

    Args:
        callback: The callback.
    """

    def __init__(self, callback: train.Callback) -> None:
        self.callback = callback
        self._events = CallbackManager([callback])
        self._failed = False

    def _before_train(self) -> None:
        self._failed = False
        self._events.on_train_begin(self.trainer.run_context)

    def _before_epoch(self) -> None:
        self._events.on_train_epoch_begin(self.trainer.run_context)

    def _before_run(self, run_context: RunContext) -> None:
        self._events.on_train_step_begin(run_context)

    def _trigger_step(self) -> None:
        self._events.on_train_step_end(self.trainer.run_context)

    def _trigger_epoch(self) -> None:
        self._events.on_train_epoch_end(self.trainer.run_context)

    def _after_train(self) -> None:
        if not self._failed:
            self._events.on_train_end(self.trainer.run_context)

    def failed(self, run_context: RunContext, error: BaseException) -> None:
        """Tell it of an exception."""
        self._failed = True
        self._events.on_exception(run_context, error)


def as_tensorpack(callback: train.Callback) -> Callback:
    """Return a callback of tensorpack's: itself, or one that stands for MindSpore's."""
    if isinstance(callback, Callback):
        return callback
    if not isinstance(callback, train.Callback):
        raise TypeError(f"There must be a Callback, but got {callback!r}.")
    return AsTensorpack(callback)


def state_of(callback: train.Callback) -> object:
    """Return the state of a callback, None if it remembers nothing."""
    inner = callback.callback if isinstance(callback, AsTensorpack) else callback
    return dict(inner.state_dict()) if isinstance(inner, SupportsState) else None


def set_state(callback: train.Callback, state: object) -> None:
    """Give a callback what `state_of` returned; ValueError if that is no state of it."""
    inner = callback.callback if isinstance(callback, AsTensorpack) else callback
    if isinstance(inner, SupportsState) != isinstance(state, Mapping):
        raise ValueError(f"The state of {type(inner).__name__} is missing, or it has none.")
    if isinstance(inner, SupportsState):
        inner.load_state_dict(cast("Mapping[str, object]", state))
