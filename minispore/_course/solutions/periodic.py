"""The proxy of lesson 12, which chooses the times of a trigger."""

from minispore._course.proxy import Proxy, Triggered
from minispore.train import RunContext


class Periodic(Proxy):
    """Forward all hooks to a callback, and trigger it at chosen times, never twice after a step.

    Args:
        callback: The callback, with a method `trigger`.
        every_k_steps: Trigger it after each step whose number, over all epochs, is a multiple.
        every_k_epochs: Trigger it at the end of each epoch whose number is a multiple.
        at_end: Whether to trigger it after the last step of the run.
    """

    def __init__(
        self,
        callback: Triggered,
        every_k_steps: int | None = None,
        every_k_epochs: int | None = None,
        *,
        at_end: bool = False,
    ) -> None:
        super().__init__(callback)
        self.every_k_steps = every_k_steps
        self.every_k_epochs = every_k_epochs
        self.at_end = at_end

    def step_is_due(self, run_context: RunContext) -> bool:
        """Return whether the current step triggers the callback."""
        step = run_context.original_args().cur_step_num
        return self.every_k_steps is not None and step % self.every_k_steps == 0

    def epoch_is_due(self, run_context: RunContext) -> bool:
        """Return whether the end of the current epoch triggers the callback."""
        epoch = run_context.original_args().cur_epoch_num
        is_due = self.every_k_epochs is not None and epoch % self.every_k_epochs == 0
        return is_due and not self.step_is_due(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Forward; then trigger the callback if it is due."""
        super().on_train_step_end(run_context)
        if self.step_is_due(run_context):
            self.callback.trigger(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Forward; then trigger the callback if it is due."""
        super().on_train_epoch_end(run_context)
        if self.epoch_is_due(run_context):
            self.callback.trigger(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """Trigger the callback if it is due; then forward, since the callback may end there."""
        was_triggered = self.step_is_due(run_context) or self.epoch_is_due(run_context)
        if self.at_end and not was_triggered:
            self.callback.trigger(run_context)
        super().on_train_end(run_context)
