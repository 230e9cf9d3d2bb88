"""CSVLogger: write the loss, the metrics and the learning rate of a run to a CSV file."""

import csv
import os
from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Final

from minispore.train.protocol.callback import Callback, RunContext, step_in_epoch
from minispore.train.protocol.learning_rate import learning_rates
from minispore.train.protocol.monitor import distinct_names
from minispore.train.protocol.outputs import as_array, first_output
from minispore.train.protocol.state_fields import StateField, StatefulMixin
from minispore.utils.atomic import append_line, atomic_write
from minispore.utils.checks import check_int, check_type, value_error

__all__ = ["CSVLogger"]

_COLUMNS: Final = ("epoch", "step", "net_output")


class CSVLogger(Callback, StatefulMixin):
    """Write the loss, the metrics and the learning rate of a run to a CSV file, in rows of epochs.

    The columns are `epoch`, `step`, `net_output`, which is the mean loss of the steps since the row
    before, `learning_rate`, which is that of the row's step, and the metrics of the validation of
    `Model.fit`; a cell is empty where there was no validation. A metric named `epoch` has the
    column `eval_epoch`. If groups of parameters have learning rates of their own, the columns are
    `learning_rate_0`, `learning_rate_1` and so on; without an optimizer there is none.

    A new run replaces the file, and a resumed run continues the table. Rows are appended: a killed
    process leaves at most an incomplete last line, which a resumed run removes.

    Args:
        filename: The file.
        every: Write a row after so many steps of an epoch as well; None for epochs only.
        separator: The character between two columns.

    Attributes:
        rows: The rows, as dictionaries of the columns.

    Raises:
        TypeError: `filename` is not a path, `every` not an int, or `separator` not a str.
        ValueError: `every` is below 1, or `separator` is not a single character, or a quotation
            mark or the end of a line.
        OSError: In training, the file cannot be written.

    Examples:
        >>> import tempfile, numpy as np
        >>> from pathlib import Path
        >>> from minispore import nn
        >>> from minispore.train import Model
        >>> net = nn.Dense(2, 1, "zeros", "zeros")
        >>> x = np.zeros((1, 2), np.float32)
        >>> model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"mse"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = Path(folder, "run.csv")
        ...     data = [(x, x[:, :1])] * 3
        ...     model.fit(2, data, data, valid_frequency=2, callbacks=CSVLogger(table, every=2))
        ...     print(table.read_text("utf-8"))
        epoch,step,net_output,learning_rate,mse
        1,2,0.0,0.1,
        1,3,0.0,0.1,
        2,5,0.0,0.1,
        2,6,0.0,0.1,0.0
        <BLANKLINE>
    """

    chief_only = True
    _table = StateField(str)
    _total_loss = StateField(float)
    _steps = StateField(int)
    _rates = StateField(dict[str, float])  # of the last step

    def __init__(
        self,
        filename: str | os.PathLike[str],
        every: int | None = None,
        separator: str = ",",
    ) -> None:
        super().__init__()
        check_type(filename, (str, os.PathLike), "filename")
        if every is not None:
            check_int(every, "every", low=1)
        check_type(separator, str, "separator")
        if len(separator) != 1 or not (separator.isprintable() or separator == "\t"):
            raise value_error(separator, "separator", "be a printable character or a tab")
        if separator == '"':
            raise value_error(separator, "separator", "not be the quotation mark")
        self._separator = separator
        self._filename = filename
        self._every = every
        self.rows: list[dict[str, object]] = []
        self._columns = list(_COLUMNS)
        self._size = 0  # of the file that it has written

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start a table, unless the run is resumed."""
        self.rows, self._columns = [], [*_COLUMNS, *learning_rates(run_context)]
        self.reset_state()
        if run_context.get_resume_requested() is None:
            self._write()

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Note the learning rate of the step."""
        self._rates = learning_rates(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Add the loss to the mean of the next row, and the row if it is due."""
        params = run_context.original_args()
        loss = as_array(first_output(params.net_outputs))
        self._total_loss += float("nan") if loss is None else float(loss.mean())
        self._steps += 1
        in_epoch = step_in_epoch(params)
        # The last row of an epoch is written with the metrics.
        if self._every and in_epoch % self._every == 0 and in_epoch < params.batch_num:
            self._add_row(run_context, {})

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Add the row of the epoch's end, unless a stop comes after that of its last step."""
        params = run_context.original_args()
        metrics = params.metrics if "metrics" in params else {}
        if self._steps or metrics:
            self._add_row(run_context, metrics)

    def state_dict(self) -> dict[str, object]:
        """Return the rows as text, and the sum and the number of the losses since the last one."""
        self._table = self._lines(self.rows, ",", header=True)
        return super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state that `state_dict` has returned, and write the table.

        Raises:
            ValueError: An entry is missing or has the wrong type. The callback is unchanged then.
        """
        super().load_state_dict(state)
        rows = csv.DictReader(StringIO(self._table, newline=""))
        self.rows = [{name: _value(cell) for name, cell in row.items() if cell} for row in rows]
        self._columns = list(rows.fieldnames or _COLUMNS)
        self._write()

    def _add_row(self, run_context: RunContext, metrics: Mapping[str, object]) -> None:
        params = run_context.original_args()
        row: dict[str, object] = {"epoch": params.cur_epoch_num, "step": params.cur_step_num}
        if self._steps:
            row["net_output"] = float(f"{self._total_loss / self._steps:.6g}")
        row |= self._rates | distinct_names(metrics, [*_COLUMNS, *self._rates])
        self.rows.append(row)
        self._total_loss, self._steps = 0.0, 0
        new = [name for name in row if name not in self._columns]
        self._columns += new
        if new or _size(self._filename) != self._size:  # something else has changed the file
            self._write()
        else:
            line = self._lines([row], self._separator).encode()
            append_line(self._filename, line)
            self._size += len(line)

    def _lines(
        self, rows: Iterable[dict[str, object]], separator: str, *, header: bool = False
    ) -> str:
        text = StringIO(newline="")
        table = csv.DictWriter(text, self._columns, delimiter=separator, lineterminator="\n")
        if header:
            table.writeheader()
        table.writerows(rows)
        return text.getvalue()

    def _write(self) -> None:
        """Replace the file atomically."""
        content = self._lines(self.rows, self._separator, header=True).encode()
        with atomic_write(self._filename) as file:
            file.write(content)
        self._size = len(content)


def _size(path: str | os.PathLike[str]) -> int:
    """Return the number of bytes of a file, -1 if there is none."""
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _value(cell: str) -> object:
    """Return the number in a cell, or its text."""
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell
