"""Ctrl-C as a request: the current step ends, and the run closes as if it had been told to stop."""

import signal
from types import FrameType, TracebackType
from typing import Self

from minispore.train import Callback, RunContext


class StopOnInterrupt(Callback):
    """Stop the run after the current step when SIGINT comes; a second one ends it at once.

    Attributes:
        requested: Whether SIGINT has come.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requested = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._request)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Pass the request on."""
        if self.requested:
            run_context.request_stop()

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Pass the request on."""
        self.on_train_step_end(run_context)

    def _request(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
