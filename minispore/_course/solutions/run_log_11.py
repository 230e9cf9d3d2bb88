"""The callback `RunLog` after lesson 11: it also persists, and survives exceptions."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO, cast

from minispore._course.solutions import run_log_10
from minispore.train import RunContext
from minispore.train.resume import read_field, read_list_field


class RunLog(run_log_10.RunLog):
    """Also write a file, and keep the state of the log in the training state.

    Args:
        patience: As before.
        path: The file, to which lines are appended; None for no file.
    """

    def __init__(self, patience: int | None = None, path: str | Path | None = None) -> None:
        super().__init__(patience)
        self.path = path
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        """Open the file."""
        if self.path is not None:
            self._file = open(self.path, "a", encoding="utf-8")
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file, however the run has ended."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Record the loss, and write it to the file."""
        before = len(self.losses)
        super().on_train_epoch_end(run_context)
        if len(self.losses) > before:
            epoch = run_context.original_args().cur_epoch_num
            self._write(f"epoch {epoch}: {self.losses[-1]}")

    def on_exception(self, run_context: RunContext, error: BaseException) -> None:
        """Write why the run has ended."""
        self._write(f"ended by {type(error).__name__}")

    def state_dict(self) -> dict[str, object]:
        """Return copies of everything that changes during a run."""
        return {
            "losses": list(self.losses),
            "results": [dict(result) for result in self.results],
            "steps": list(self._steps),
            "best": self.best,
            "wait": self.wait,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state; read all of it before the first attribute is set.

        Raises:
            ValueError: An entry is missing or of the wrong type.
        """
        losses = read_list_field(state, "losses", float, "RunLog")
        results = cast("list[dict[str, object]]", read_list_field(state, "results", dict, "RunLog"))
        steps = read_list_field(state, "steps", float, "RunLog")
        best = read_field(state, "best", float, "RunLog")
        wait = read_field(state, "wait", int, "RunLog")
        self.losses, self._steps = losses, steps
        self.results = [dict(result) for result in results]
        self.best, self.wait = best, wait

    def _write(self, line: str) -> None:
        if self._file is not None:
            print(line, file=self._file, flush=True)
