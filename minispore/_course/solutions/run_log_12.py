"""The callback `RunLog` after lesson 12: its trigger, and the proxy that chooses the times."""

import math
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from minispore._course.solutions import run_log_11
from minispore.common import Tensor
from minispore.train import Callback, RunContext
from minispore.train.resume import read_list_field


class RunLog(run_log_11.RunLog):
    """Also record the norm of the gradients when it is triggered, only in the first process.

    Attributes:
        norms: The norm of all gradients of the step at each trigger.
    """

    chief_only = True

    def __init__(self, patience: int | None = None, path: str | None = None) -> None:
        super().__init__(patience, path)
        self.norms: list[float] = []

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forget an earlier run."""
        super().on_train_begin(run_context)
        self.norms = []

    def trigger(self, run_context: RunContext) -> None:
        """Record the norm; the step must return its loss and its gradients by name."""
        gradients: dict[str, Tensor] = run_context.original_args().net_outputs[1]
        arrays = [each.asnumpy() for each in gradients.values()]
        self.norms.append(math.sqrt(sum(float((each**2).sum()) for each in arrays)))

    def state_dict(self) -> dict[str, object]:
        """Return the state with the norms."""
        return {**super().state_dict(), "norms": list(self.norms)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state."""
        norms = read_list_field(state, "norms", float, "RunLog")
        super().load_state_dict(state)
        self.norms = norms


class Periodic(Callback):
    """Forward all hooks to a callback, and trigger it periodically.

    Args:
        callback: The callback, with a method `trigger`.
        every_k_steps: Trigger it after each step whose number, over all epochs, is a multiple.
        every_k_epochs: Trigger it at the end of each epoch whose number is a multiple.
    """

    def __init__(
        self,
        callback: RunLog,
        every_k_steps: int | None = None,
        every_k_epochs: int | None = None,
    ) -> None:
        super().__init__()
        self.callback = callback
        self.chief_only = callback.chief_only
        self.every_k_steps = every_k_steps
        self.every_k_epochs = every_k_epochs

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
        """Forward; then trigger the callback if it is due."""
        self.callback.on_train_step_end(run_context)
        step = run_context.original_args().cur_step_num
        if self.every_k_steps is not None and step % self.every_k_steps == 0:
            self.callback.trigger(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Forward; then trigger the callback if it is due."""
        self.callback.on_train_epoch_end(run_context)
        epoch = run_context.original_args().cur_epoch_num
        if self.every_k_epochs is not None and epoch % self.every_k_epochs == 0:
            self.callback.trigger(run_context)

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
