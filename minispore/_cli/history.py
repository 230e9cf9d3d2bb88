"""The table of a run's losses and accuracies, and its plot."""

import csv
import math
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import BinaryIO, NamedTuple, Protocol, Self, cast

from minispore._cli.errors import UserError
from minispore.train import Callback, RunContext
from minispore.utils.atomic import atomic_write, regular

EVERY = 50  # steps between two rows


class Row(NamedTuple):
    """One row of the table.

    Attributes:
        step: The number of steps since the start of the run.
        epoch: The epoch, from 1.
        seconds: The time since the start of the run.
        loss: The mean loss of the steps since the previous row.
        accuracy: The accuracy on the test set in the last row of an epoch; otherwise None.
    """

    step: int
    epoch: int
    seconds: float
    loss: float
    accuracy: float | None


class History(Callback):
    """Write a row every 50 steps and at the end of each epoch.

    Args:
        path: The CSV file to write.

    Attributes:
        rows: The rows of the table.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.rows: list[Row] = []

    def __enter__(self) -> Self:
        self.rows.clear()
        self._losses: list[float] = []
        self._started = perf_counter()
        return self

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start the table, unless the run is resumed."""
        if run_context.get_resume_requested() is None:
            self._write_table()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Record the loss.

        Raises:
            UserError: If the loss is not finite.
        """
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if not math.isfinite(loss):
            raise UserError(
                f"the loss became {loss} in step {params.cur_step_num}: try a smaller --lr"
            )
        self._losses.append(loss)
        # The last row of an epoch is written with the accuracy.
        in_epoch = (params.cur_step_num - 1) % params.batch_num + 1
        if in_epoch % EVERY == 0 and in_epoch < params.batch_num:
            self._add_row(run_context, None)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Record the accuracy."""
        accuracy = accuracy_of(run_context)
        if self._losses or accuracy is not None:
            self._add_row(run_context, accuracy)

    def state_dict(self) -> dict[str, object]:
        """Return the number of rows, and the losses since the last one.

        The rows are in the file: with their times, checkpoints of equal runs would differ.
        """
        return {"rows": len(self.rows), "losses": self._losses}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue the table; the time between the runs does not count."""
        self.rows = read_table(self._path)[: cast("int", state["rows"])]
        self._losses = list(cast("list[float]", state["losses"]))
        self._started = perf_counter() - (self.rows[-1].seconds if self.rows else 0.0)
        self._write_table()

    def _add_row(self, run_context: RunContext, accuracy: float | None) -> None:
        params = run_context.original_args()
        row = Row(
            step=params.cur_step_num,
            epoch=params.cur_epoch_num,
            seconds=round(perf_counter() - self._started, 3),
            loss=round(sum(self._losses) / len(self._losses), 6),
            accuracy=accuracy,
        )
        self._losses.clear()
        self.rows.append(row)
        self._write_table()

    def _write_table(self) -> None:
        """Replace the file atomically, so that readers never see an incomplete row."""
        text = StringIO(newline="")
        table = csv.writer(text)
        table.writerow(Row._fields)
        table.writerows(self.rows)
        with atomic_write(self._path) as file:
            file.write(text.getvalue().encode())


def read_table(path: Path) -> list[Row]:
    """Return the rows of a table; an empty list if there is no such file.

    Raises:
        ValueError: If the file is damaged.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8", opener=regular) as file:
            _, *rows = csv.reader(file)
        return [
            Row(int(step), int(epoch), float(seconds), float(loss), float(score) if score else None)
            for step, epoch, seconds, loss, score in rows
        ]
    except (ValueError, csv.Error) as error:
        raise ValueError(f"the table {path} is damaged: {error}") from error


def accuracy_of(run_context: RunContext) -> float | None:
    """Return the accuracy of the epoch; None if a stop request interrupted its evaluation."""
    params = run_context.original_args()
    return None if run_context.get_stop_requested() else params.metrics["accuracy"]


def plot(rows: list[Row], path: Path) -> bool:
    """Plot loss and accuracy over steps to a PNG file; return False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(7, 6), dpi=120, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot([row.step for row in rows], [row.loss for row in rows], color="tab:orange")
    upper.set_ylabel("training loss")
    upper.set_ylim(bottom=0)
    scored = [(row.step, row.accuracy) for row in rows if row.accuracy is not None]
    lower.plot([step for step, _ in scored], [value for _, value in scored], "o-", color="tab:cyan")
    lower.set_ylabel("accuracy on the test set")
    lower.set_xlabel("step")
    for axes in (upper, lower):
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    with atomic_write(path) as file:
        _save(figure, file)
    return True


class _Savable(Protocol):
    """The method of a figure that is used here; matplotlib annotates it only in part."""

    def savefig(self, fname: BinaryIO) -> None: ...


def _save(picture: _Savable, file: BinaryIO) -> None:
    picture.savefig(file)
