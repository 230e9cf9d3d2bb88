"""The callback of `minispore train` that stops it by Ctrl-C."""

import signal
from types import FrameType
from typing import Self

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
