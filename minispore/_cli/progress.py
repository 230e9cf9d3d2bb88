"""A progress bar for each epoch, and the line that remains of it."""

from collections.abc import Mapping
from time import perf_counter
from types import TracebackType
from typing import NoReturn, cast

from tqdm import tqdm

from minispore._cli.history import accuracy_of
from minispore.train import Callback, RunContext


class ProgressBar(Callback):
    """Draw a bar with the current loss (on a terminal only), and print a line for each epoch.

    Args:
        epochs: How many there will be.
    """

    def __init__(self, epochs: int) -> None:
        super().__init__()
        self._epochs = epochs
        self._bar: tqdm[NoReturn] = tqdm(disable=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.close()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Begin a new bar."""
        params = run_context.original_args()
        self._started = perf_counter()
        self._total_loss = 0.0
        self._steps = 0
        # disable=None: no bar where standard error is no terminal.
        self._bar = tqdm(
            total=params.batch_num,
            desc=f"epoch {params.cur_epoch_num}/{self._epochs}",
            unit="step",
            leave=False,
            disable=None,
        )

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Move the bar on."""
        loss = run_context.original_args().net_outputs.item()
        self._total_loss += loss
        self._steps += 1
        self._bar.set_postfix_str(f"loss {loss:.3f}", refresh=False)
        self._bar.update()

    def state_dict(self) -> dict[str, object]:
        """Return the sum of the epoch's losses, and of how many steps it is."""
        return {"total_loss": self._total_loss, "steps": self._steps}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on in the middle of the epoch."""
        self._total_loss = cast("float", state["total_loss"])
        self._steps = cast("int", state["steps"])
        self._bar.update(self._steps)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Put a line in the bar's place."""
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
