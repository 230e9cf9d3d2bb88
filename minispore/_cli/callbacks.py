"""The callbacks of `minispore train` that stop it: by Ctrl-C, and if the loss is not finite."""

import math
import signal
from types import FrameType
from typing import Self

from minispore._cli.errors import UserError
from minispore.train import Callback, RunContext


class StopOnInterrupt(Callback):
    """Stop the run after the current step on SIGINT; a second one ends it at once.

    Attributes:
        requested: Whether SIGINT was received.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requested = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Request a stop after SIGINT."""
        if self.requested:
            run_context.request_stop()

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Request a stop after SIGINT."""
        self.on_train_step_end(run_context)

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)


class RequireFiniteLoss(Callback):
    """End the run if the loss is not finite."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Check the loss.

        Raises:
            UserError: The loss is not finite.
        """
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if not math.isfinite(loss):
            raise UserError(
                f"the loss became {loss} in step {params.cur_step_num}: try a smaller --lr"
            )
