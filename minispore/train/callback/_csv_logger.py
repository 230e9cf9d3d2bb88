"""CSVLogger: write the loss and the metrics of each epoch to a CSV file."""

import csv
import os
from collections.abc import Mapping
from io import StringIO

from minispore.train.callback._history import History
from minispore.train.protocol.run_context import RunContext
from minispore.train.resume import read_field
from minispore.utils.atomic import atomic_write
from minispore.utils.checks import check_type


class CSVLogger(History):
    """Write what `History` records to a CSV file after each epoch.

    The columns are `epoch`, `net_output`, which is the loss of the last step, and the metrics of
    the validation of `Model.fit`; a cell is empty in an epoch without a validation. A new run
    replaces the file, and a resumed run continues the table.

    Args:
        filename: The file.

    Raises:
        TypeError: `filename` is not a path.
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
        ...     data = [(x, x[:, :1])]
        ...     model.fit(4, data, data, valid_frequency=2, callbacks=CSVLogger(table))
        ...     print(table.read_text("utf-8"))
        epoch,net_output,mse
        1,0.0,
        2,0.0,0.0
        3,0.0,
        4,0.0,0.0
        <BLANKLINE>
    """

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        super().__init__()
        check_type(filename, (str, os.PathLike), "filename", "CSVLogger")
        self._filename = filename
        self._rows: list[dict[str, object]] = []

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start a table."""
        super().on_train_begin(run_context)
        self._rows = []

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Add a row, and write the table."""
        super().on_train_epoch_end(run_context)
        params = run_context.original_args()
        row = {"epoch": params.cur_epoch_num, "net_output": self.history["net_output"][-1]}
        self._rows.append(row | (params.metrics if "metrics" in params else {}))
        self._write()

    def state_dict(self) -> dict[str, object]:
        """Return the lists of `History`, and the rows as text."""
        return super().state_dict() | {"table": self._text()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore a state that `state_dict` has returned.

        Raises:
            ValueError: An entry is missing or has the wrong type. The callback is unchanged then.
        """
        text = read_field(state, "table", str, "CSVLogger")
        super().load_state_dict(state)
        rows = csv.DictReader(StringIO(text, newline=""))
        self._rows = [{**row, "epoch": int(row["epoch"])} for row in rows]

    def _text(self) -> str:
        names = dict.fromkeys(name for row in self._rows for name in row)
        text = StringIO(newline="")
        table = csv.DictWriter(text, list(names), lineterminator="\n")
        table.writeheader()
        table.writerows(self._rows)
        return text.getvalue()

    def _write(self) -> None:
        with atomic_write(self._filename) as file:
            file.write(self._text().encode())
