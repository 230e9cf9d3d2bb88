"""A proxy of callbacks, which lesson 12 extends."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from minispore.train import Callback, RunContext


class Triggered(Callback):
    """A callback with a trigger: an action that another object calls at the times it chooses."""

    def trigger(self, run_context: RunContext) -> None:
        """Act."""

    def state_dict(self) -> dict[str, object]:
        """Return the state, by default an empty one."""
        return {}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state."""


class Proxy(Callback):
    """Forward all hooks to a callback, and with them its entering, its leaving and its state.

    Args:
        callback: The callback.
    """

    def __init__(self, callback: Triggered) -> None:
        super().__init__()
        self.callback = callback
        self.chief_only = callback.chief_only

    def __enter__(self) -> Self:
        """Enter the callback."""
        self.callback.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Exit the callback."""
        self.callback.__exit__(exc_type, exc_value, traceback)

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_train_begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_train_epoch_begin(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_train_step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_train_step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_train_epoch_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_train_end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_eval_begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_eval_epoch_begin(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_eval_step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_eval_step_end(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_eval_epoch_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """Forward."""
        self.callback.on_eval_end(run_context)

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Forward."""
        self.callback.on_exception(run_context, error)

    def state_dict(self) -> dict[str, object]:
        """Return the state of the callback."""
        return self.callback.state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the state of the callback."""
        self.callback.load_state_dict(state)
