"""What a run leaves to look at: a table of its losses and accuracies, and their picture."""

import csv
import math
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from time import perf_counter
from typing import BinaryIO, NamedTuple, Protocol, Self, cast

from minispore._atomic import regular, replacing
from minispore._cli.errors import UserError
from minispore.train import Callback, RunContext

EVERY = 50  # steps between two rows


class Row(NamedTuple):
    """One row of the table.

    Attributes:
        step: Steps done since the start of the run.
        epoch: The epoch, from 1.
        seconds: Time since the start of the run.
        loss: The mean of the steps since the row before.
        accuracy: On the test set, in the last row of an epoch; else None.
    """

    step: int
    epoch: int
    seconds: float
    loss: float
    accuracy: float | None


class History(Callback):
    """Write a row every 50 steps and at the end of an epoch, as the run goes on.

    Args:
        path: The CSV file to write.

    Attributes:
        rows: What was written.
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
        """Begin the table, unless the run goes on with one."""
        if run_context.get_resume_requested() is None:
            self._write_table()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Note the loss.

        Raises:
            UserError: The loss is no finite number any more.
        """
        params = run_context.original_args()
        loss = params.net_outputs.item()
        if not math.isfinite(loss):
            raise UserError(
                f"the loss became {loss} in step {params.cur_step_num}: try a smaller --lr"
            )
        self._losses.append(loss)
        # The last row of an epoch waits for the accuracy.
        in_epoch = (params.cur_step_num - 1) % params.batch_num + 1
        if in_epoch % EVERY == 0 and in_epoch < params.batch_num:
            self._add_row(run_context, None)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Note the accuracy."""
        accuracy = accuracy_of(run_context)
        if self._losses or accuracy is not None:
            self._add_row(run_context, accuracy)

    def state_dict(self) -> dict[str, object]:
        """Return how many rows there are, and the losses since the last one.

        The rows are in the file: their times would make each run's checkpoints differ.
        """
        return {"rows": len(self.rows), "losses": self._losses}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with the rows that were there; the time between the runs does not count."""
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
        """Replace the file: whoever looks at it, at whatever moment, sees whole rows."""
        text = StringIO(newline="")
        table = csv.writer(text)
        table.writerow(Row._fields)
        table.writerows(self.rows)
        with replacing(self._path) as file:
            file.write(text.getvalue().encode())


def read_table(path: Path) -> list[Row]:
    """The rows of a table; none if there is no such file.

    Raises:
        ValueError: The file is damaged.
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
    """The accuracy of the epoch that ends; None if a stop kept it from being measured in full."""
    params = run_context.original_args()
    return None if run_context.get_stop_requested() else params.metrics["accuracy"]


def plot(rows: list[Row], path: Path) -> bool:
    """Draw loss and accuracy over the steps as a PNG; False where matplotlib is not installed."""
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
    with replacing(path) as file:
        _save(figure, file)
    return True


class _Savable(Protocol):
    """What is asked of a figure here; matplotlib types its own signature only in part."""

    def savefig(self, fname: BinaryIO) -> None: ...


def _save(picture: _Savable, file: BinaryIO) -> None:
    picture.savefig(file)
