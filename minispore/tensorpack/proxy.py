"""A callback that stands for another one, of either school."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, cast

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.channel import names_of
from minispore.tensorpack.checked import checked
from minispore.tensorpack.protocol import RunValues
from minispore.tensorpack.states import Remembering
from minispore.train import callback as train
from minispore.train._dataset import SupportsState
from minispore.train._protocol.manager import CallbackManager
from minispore.train._protocol.run_context import Occasion, StateSaver
from minispore.train._training_state import TrainingState
from minispore.train.callback import RunContext

# The hooks that are MindSpore's events by another name.
_EVENTS: Final = {
    "before_train": "on_train_begin",
    "before_epoch": "on_train_epoch_begin",
    "before_run": "on_train_step_begin",
    "trigger_step": "on_train_step_end",
    "trigger_epoch": "on_train_epoch_end",
    "after_train": "on_train_end",
}


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


@checked
class ProxyCallback(Remembering, Callback):
    """A callback that passes every hook on to another one.

    Source: tensorpack.callbacks.ProxyCallback.

    Args:
        cb: The other, of either school.

    Examples:
        >>> from minispore.tensorpack import CallbackFactory
        >>> from minispore.tensorpack._examples import train
        >>> class Loudly(ProxyCallback):
        ...     def _trigger_epoch(self) -> None:
        ...         print("now")
        ...         super()._trigger_epoch()
        >>> train(Loudly(CallbackFactory(trigger=lambda cb: print(cb.epoch_num))))
        now
        1
        now
        2
    """

    def __init__(self, cb: train.Callback) -> None:
        self.cb: train.Callback = cb
        self.chief_only: bool = getattr(cb, "chief_only", True)
        self.hears: bool = getattr(cb, "hears", False)
        self._events = None if isinstance(cb, Callback) else CallbackManager([cb])
        self._listed = self  # the proxy that is in the run's list, if this is inside of another
        self._failed = False

    def _pass(self, hook: str, *args: object) -> object:
        """Call a hook of the other."""
        if self._events is None:
            return getattr(self.cb, f"_{hook}")(*args)
        if hook in _EVENTS and not self._failed:
            context = _Inside(self.trainer.run_context, self._listed)
            getattr(self._events, _EVENTS[hook])(context)
        return None

    def _setup_graph(self) -> None:
        self._failed = False
        if isinstance(self.cb, ProxyCallback):
            self.cb._listed = self._listed
        if isinstance(self.cb, Callback):
            self.cb.setup_graph(self.trainer)

    def _before_train(self) -> None:
        self._pass("before_train")

    def _before_epoch(self) -> None:
        self._pass("before_epoch")

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        return cast("Sequence[str] | None", self._pass("before_run", run_context))

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self._pass("after_run", run_context, run_values)

    def _trigger_step(self) -> None:
        self._pass("trigger_step")

    def _after_epoch(self) -> None:
        self._pass("after_epoch")

    def _trigger_epoch(self) -> None:
        self._pass("trigger_epoch")

    def _trigger(self) -> None:
        self._pass("trigger")

    def _after_train(self) -> None:
        self._pass("after_train")

    def failed(self, run_context: RunContext, error: BaseException) -> None:
        """Tell the other of an exception."""
        if isinstance(self.cb, Callback):
            self.cb.failed(run_context, error)
        else:
            self._failed = True
            self.cb.on_exception(run_context, error)

    def _evaluates(self) -> bool:
        """Whether the events of an evaluation are passed on."""
        return True

    def __enter__(self) -> Self:
        self.cb.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self.cb.__exit__(exc_type, exc_value, traceback)

    def monitor(self) -> MonitorBase | None:
        """Return the monitor that it stands for, if it does for one."""
        return self.cb.monitor() if isinstance(self.cb, Callback) else None

    def produces(self) -> Collection[str]:
        """Return what the other puts in."""
        return names_of(self.cb, "produces")

    def consumes(self) -> Collection[str]:
        """Return what the other reads."""
        return names_of(self.cb, "consumes")

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        """Pass it on to the callback of MindSpore's that has asked for it."""
        cast("StateSaver", self.cb).save_training_state(run_context, state, occasion)

    def state_dict(self) -> dict[str, object]:
        """Return the other's state, and its own."""
        inner = dict(self.cb.state_dict()) if isinstance(self.cb, SupportsState) else None
        return {"callback": inner} | super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Give it to the other.

        Raises:
            ValueError: It is no state of the other's.
        """
        self.checked(state)
        inner = state.get("callback")
        if isinstance(self.cb, SupportsState) != isinstance(inner, Mapping):
            name = type(self.cb).__name__
            raise ValueError(f"The state of {name} is missing, or it has none.")
        if isinstance(self.cb, SupportsState):
            self.cb.load_state_dict(cast("Mapping[str, object]", inner))
        super().load_state_dict(state)


def _passed_on(event: str) -> Callable[[ProxyCallback, RunContext], None]:
    def hook(self: ProxyCallback, run_context: RunContext) -> None:
        if self._evaluates():
            getattr(self.cb, event)(run_context)

    return hook


for _event in [name for name in vars(train.Callback) if name.startswith("on_eval_")]:
    setattr(ProxyCallback, _event, _passed_on(_event))
