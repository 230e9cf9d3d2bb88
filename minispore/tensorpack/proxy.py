"""A callback that stands for another one, of either school."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Self, cast

from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.as_tensorpack import AsTensorpack, as_tensorpack, set_state, state_of
from minispore.tensorpack.protocol import Hooks
from minispore.tensorpack.trainer import RunValues
from minispore.train import callback as train
from minispore.train._training_state import TrainingState
from minispore.train.callback import RunContext
from minispore.train.callback._run_context import Occasion, StateSaver


class ProxyCallback(Callback):
    """A callback that passes every hook on to another one.

    Source: tensorpack.callbacks.ProxyCallback.

    Args:
        cb: The other, of either school.
    """

    def __init__(self, cb: train.Callback) -> None:
        self.cb: Callback = as_tensorpack(cb)
        self.stands_for(self)
        self.chief_only: bool = self.cb.chief_only
        self.hears: bool = self.cb.hears

    def __enter__(self) -> Self:
        self._inner().__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self._inner().__exit__(exc_type, exc_value, traceback)

    def _inner(self) -> train.Callback:
        return self.cb.callback if isinstance(self.cb, AsTensorpack) else self.cb

    def stands_for(self, listed: "ProxyCallback") -> None:
        """Let `listed` save what a callback of MindSpore's inside saves."""
        if isinstance(self.cb, ProxyCallback):
            self.cb.stands_for(listed)
        elif isinstance(self.cb, AsTensorpack):
            self.cb.listed = listed

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, occasion: Occasion
    ) -> None:
        """Pass it on to the callback of MindSpore's that has asked for it."""
        inner = self.cb if isinstance(self.cb, ProxyCallback) else self._inner()
        cast("StateSaver", inner).save_training_state(run_context, state, occasion)

    def monitor(self) -> MonitorBase | None:
        """Return the monitor that it stands for, if it does for one."""
        return self.cb.monitor()

    def produces(self) -> Collection[str]:
        """Return what the other puts in."""
        return self.cb.produces()

    def consumes(self) -> Collection[str]:
        """Return what the other reads."""
        return self.cb.consumes()

    def failed(self, run_context: RunContext, error: BaseException) -> None:
        """Tell the other of an exception."""
        self.cb.failed(run_context, error)

    def _setup_graph(self) -> None:
        self.cb.setup_graph(self.trainer)

    def _before_train(self) -> None:
        self.cb.before_train()

    def _before_epoch(self) -> None:
        self.cb.before_epoch()

    def _before_run(self, run_context: RunContext) -> Sequence[str] | None:
        return self.cb.before_run(run_context)

    def _after_run(self, run_context: RunContext, run_values: RunValues) -> None:
        self.cb.after_run(run_context, run_values)

    def _trigger_step(self) -> None:
        self.cb.trigger_step()

    def _after_epoch(self) -> None:
        self.cb.after_epoch()

    def _trigger_epoch(self) -> None:
        self.cb.trigger_epoch()

    def _trigger(self) -> None:
        self.cb.trigger()

    def _after_train(self) -> None:
        self.cb.after_train()

    def _evaluation(self) -> bool:
        """Whether the events of an evaluation are passed on."""
        return True

    def state_dict(self) -> dict[str, object]:
        """Return the other's state."""
        return {"callback": state_of(self.cb)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Give it to the other.

        Raises:
            ValueError: It is no state of the other's.
        """
        set_state(self.cb, state.get("callback"))


def _passed_on(event: str) -> Callable[[ProxyCallback, RunContext], None]:
    def hook(self: ProxyCallback, run_context: RunContext) -> None:
        if self._evaluation():
            getattr(self._inner(), event)(run_context)

    return hook


for _event in [name for name in vars(train.Callback) if name.startswith("on_eval_")]:
    setattr(ProxyCallback, _event, _passed_on(_event))


def has_trigger(callback: Callback) -> bool:
    """Return whether a callback, or the one that it stands for, has its own `_trigger`."""
    if isinstance(callback, ProxyCallback):
        return has_trigger(callback.cb)
    return type(callback)._trigger is not Hooks._trigger
