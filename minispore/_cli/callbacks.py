"""Callbacks of `minispore train` for the terminal: a progress bar, and a stop by Ctrl-C."""

import signal
from collections.abc import Mapping
from time import perf_counter
from types import FrameType
from typing import NoReturn, Self, cast

from tqdm import tqdm

from minispore._cli.history import accuracy_of
from minispore.train import Callback, RunContext


class ProgressBar(Callback):
    """Show a bar with the current loss on a terminal, and print a line for each epoch.

    Args:
        epochs: The number of epochs.
    """

    def __init__(self, epochs: int) -> None:
        super().__init__()
        self._epochs = epochs
        self._bar: tqdm[NoReturn] = tqdm(disable=True)

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Start a bar."""
        params = run_context.original_args()
        self._started = perf_counter()
        self._total_loss = 0.0
        self._steps = 0
        # disable=None: no bar unless standard error is a terminal.
        self._bar = tqdm(
            total=params.batch_num,
            desc=f"epoch {params.cur_epoch_num}/{self._epochs}",
            unit="step",
            leave=False,
            disable=None,
        )

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Update the bar."""
        loss = run_context.original_args().net_outputs.item()
        self._total_loss += loss
        self._steps += 1
        self._bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
        self._bar.update()

    def state_dict(self) -> dict[str, object]:
        """Return the sum of the epoch's losses, and the number of its steps."""
        return {"total_loss": self._total_loss, "steps": self._steps}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue within an epoch."""
        self._total_loss = cast("float", state["total_loss"])
        self._steps = cast("int", state["steps"])
        self._bar.update(self._steps)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Replace the bar by a line."""
        self._bar.close()
        params = run_context.original_args()
        parts = [f"loss {self._total_loss / self._steps:.4f}"]
        if (accuracy := accuracy_of(run_context)) is not None:
            parts.append(f"accuracy {accuracy:.4f}")
        seconds = perf_counter() - self._started
        print(
            f"epoch {params.cur_epoch_num}/{self._epochs}: {', '.join(parts)} ({seconds:.1f} s)",
            flush=True,
        )


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
