"""The callback `RunLog` after lesson 10: it also decides."""

from minispore._course.solutions import run_log_09
from minispore.train import RunContext


class RunLog(run_log_09.RunLog):
    """Also request a stop when the mean loss no longer decreases.

    Args:
        patience: The number of consecutive epochs without a new lowest loss after which the run
            is stopped; None for never.
    """

    def __init__(self, patience: int | None = None) -> None:
        super().__init__()
        self.patience = patience
        self.best = float("inf")
        self.wait = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forget an earlier run."""
        super().on_train_begin(run_context)
        self.best, self.wait = float("inf"), 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Record the loss, and decide."""
        if run_context.is_epoch_unfinished():
            return
        super().on_train_epoch_end(run_context)
        loss = self.losses[-1]
        self.wait += 1
        if loss < self.best:
            self.best, self.wait = loss, 0
        if self.patience is not None and self.wait >= self.patience:
            run_context.request_stop(finished=True)
