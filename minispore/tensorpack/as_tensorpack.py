"""A callback of MindSpore's behind tensorpack's hooks, so that the triggers serve both schools."""

from collections.abc import Collection, Mapping
from typing import cast

from minispore.tensorpack.adapter import Callback
from minispore.tensorpack.names import Named
from minispore.train import callback as train
from minispore.train._dataset import SupportsState
from minispore.train.callback import RunContext
from minispore.train.callback._manager import CallbackManager
from minispore.train.callback._run_context import StateSaver


class _Inside(RunContext):
    """The run as a callback inside of another one sees it: what it saves, that one saves."""

    __slots__ = ("_listed",)

    def __init__(self, run_context: RunContext, listed: StateSaver) -> None:
        self.__dict__ = vars(run_context)
        self._listed = listed

    def add_state_saver(self, saver: StateSaver) -> None:
        super().add_state_saver(self._listed)

    def request_save(self, saver: StateSaver) -> None:
        super().request_save(self._listed)


class AsTensorpack(Callback):
    """One callback of MindSpore's, whose events are called by tensorpack's hooks.

    Args:
        callback: The callback.

    Attributes:
        listed: The callback of the run's list that it is inside of.
    """

    listed: StateSaver

    def __init__(self, callback: train.Callback) -> None:
        self.callback = callback
        self._events = CallbackManager([callback])
        self._failed = False

    def produces(self) -> Collection[str]:
        """Return what it puts in the channel, if it tells."""
        return self.callback.produces() if isinstance(self.callback, Named) else ()

    def consumes(self) -> Collection[str]:
        """Return what it reads, if it tells."""
        return self.callback.consumes() if isinstance(self.callback, Named) else ()

    def _before_train(self) -> None:
        self._failed = False
        self._events.on_train_begin(self._inside())

    def _before_epoch(self) -> None:
        self._events.on_train_epoch_begin(self._inside())

    def _before_run(self, run_context: RunContext) -> None:
        self._events.on_train_step_begin(self._inside())

    def _trigger_step(self) -> None:
        self._events.on_train_step_end(self._inside())

    def _trigger_epoch(self) -> None:
        self._events.on_train_epoch_end(self._inside())

    def _after_train(self) -> None:
        if not self._failed:
            self._events.on_train_end(self._inside())

    def _inside(self) -> RunContext:
        return _Inside(self.trainer.run_context, self.listed)

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
