"""All numbers in a file: as one JSON list that any program can read, or a line for each row."""

import json
import math
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import ClassVar, cast

from minispore._atomic import regular, replacing
from minispore.tensorpack import logger
from minispore.tensorpack.monitors import FileMonitor
from minispore.tensorpack.states import Kept, Remembering

Row = dict[str, float | None]


class RowWriter(Remembering, FileMonitor):
    """A row for each step that brought numbers: `{name: number, …, "epoch_num", "global_step"}`.

    What an epoch's last step brings is in one row with what the epoch does. A number that JSON has
    not, such as NaN, is null. A file that is there goes on if its last row is of the epoch before
    this run's first; a resumed run's goes on where the state was saved; any other is moved aside.

    Args:
        directory: The folder; by default the logger's.
    """

    FILENAME: ClassVar[str]
    _rows = Kept(int)
    _values = Kept(dict[str, float])  # of the row to come, and its epoch and step
    _at = Kept(list[int])
    _begun = _resumed = False  # whether the file is, and whether the run goes on from a state

    @abstractmethod
    def _read(self, path: str) -> list[Row]:
        """The rows of a file; ValueError if it has none."""

    @abstractmethod
    def _begin(self, path: str, rows: list[str]) -> None:
        """Have these rows in the file, which may be there."""

    @abstractmethod
    def _write(self, path: str, row: str) -> None:
        """Add a row."""

    def _flush(self, path: str) -> None:
        """Have everything in the file."""

    def process_scalar(self, name: str, val: float) -> None:
        """Let it be in the row of this step."""
        now = [self.epoch_num, self.global_step]
        if self._at != now:
            self._push()
        self._at, self._values[name] = now, val

    def _setup_graph(self) -> None:
        super()._setup_graph()
        self._begun = self._resumed = False

    def _trigger_step(self) -> None:
        if not self.trainer.is_last_step:
            self._push()

    def _trigger(self) -> None:
        self._push()
        self._save()

    def _after_train(self) -> None:
        self._trigger()

    def _push(self) -> None:
        row: Row = {n: v if math.isfinite(v) else None for n, v in self._values.items()}
        self._values = {}
        if row:
            row["epoch_num"], row["global_step"] = self._at
            self._to_file(lambda path: self._add(path, json.dumps(row)))

    def _add(self, path: str, row: str) -> None:
        if not self._begun:
            earlier = [json.dumps(each) for each in self._earlier(path)]
            self._begin(path, earlier)
            self._begun, self._rows = True, len(earlier)
        self._write(path, row)
        self._rows += 1

    def _save(self) -> None:
        if self._begun:
            self._to_file(self._flush)

    def _to_file(self, write: Callable[[str], None]) -> None:
        self._try(lambda folder: write(os.path.join(folder, self.FILENAME)))

    def _earlier(self, path: str) -> list[Row]:
        """The rows that this run goes on from; any other file is moved aside."""
        if not os.path.exists(path):
            return []
        begin = self.trainer.starting_epoch
        try:
            rows = self._read(path)
            if self._resumed:
                return rows[: self._rows]
            last = rows[-1].get("epoch_num") if rows else None
            if last is None or last + 1 == begin:
                logger.info(f"'{path}' is there, and is appended to.")
                return rows
            why = f"its last epoch was {last:g}, and this run begins with {begin}"
        except ValueError as error:
            why = str(error)
        aside = f"{path}.{datetime.now():%m%d-%H%M%S}"
        while os.path.exists(aside):
            aside += "_"
        logger.warn(f"'{path}' is moved to '{aside}': {why}.")
        os.replace(path, aside)
        return []

    def state_dict(self) -> dict[str, object]:
        """Return the number of rows, and what will be in the next; the rows are in the file."""
        self._save()
        return super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with these rows of the file.

        Raises:
            ValueError: It is no such state.
        """
        super().load_state_dict(state)
        self._resumed = True


class JSONWriter(RowWriter):
    """Write all numbers to `stats.json`, a JSON list of rows that is always whole.

    The file is written at the end of each epoch, and in between whenever a tenth has been added.
    See `RowWriter` for the rows.

    Source: tensorpack.callbacks.JSONWriter.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from minispore.tensorpack._examples import train
        >>> with TemporaryDirectory() as folder:
        ...     train(JSONWriter(folder))
        ...     JSONWriter.load_existing_json(folder)[1]["global_step"]
        6
    """

    FILENAME: ClassVar[str] = "stats.json"

    @staticmethod
    def load_existing_json(dir: logger.Path | None = None) -> list[Row] | None:
        """Return the rows of a folder's file, by default of the logger's; None without a file.

        Raises:
            ValueError: The file holds no such list.
        """
        path = os.path.join(logger.folder_for(dir, JSONWriter()), JSONWriter.FILENAME)
        return _rows_of(path) if os.path.exists(path) else None

    @staticmethod
    def load_existing_epoch_number(dir: logger.Path | None = None) -> int | None:
        """Return the epoch of the last row, None if there is none."""
        rows = JSONWriter.load_existing_json(dir)
        last = rows[-1].get("epoch_num") if rows else None
        return None if last is None else int(last)

    def _read(self, path: str) -> list[Row]:
        return _rows_of(path)

    def _begin(self, path: str, rows: list[str]) -> None:
        self._texts, self._saved = rows, len(rows)

    def _write(self, path: str, row: str) -> None:
        self._texts.append(row)
        if 10 * (len(self._texts) - self._saved) >= self._saved:
            self._flush(path)

    def _flush(self, path: str) -> None:
        if self._saved != len(self._texts):
            with replacing(path) as file:
                file.write(("[" + ",\n".join(self._texts) + "]\n").encode())
            self._saved = len(self._texts)


class JSONLWriter(RowWriter):
    """Write all numbers to `stats.jsonl`, a line for each row, by appending: for long runs.

    See `RowWriter` for the rows. A line that a crash has left unfinished is removed.

    Examples:
        >>> from minispore.tensorpack._examples import train
        >>> train(JSONLWriter())
        ['stats.jsonl']
    """

    FILENAME: ClassVar[str] = "stats.jsonl"

    def _read(self, path: str) -> list[Row]:
        return _rows_of(path, in_lines=True)

    def _begin(self, path: str, rows: list[str]) -> None:
        if rows:
            with replacing(path) as file:
                file.writelines(f"{row}\n".encode() for row in rows)
        elif os.path.exists(path):
            os.unlink(path)

    def _write(self, path: str, row: str) -> None:
        rest = memoryview(f"{row}\n".encode())
        with open(path, "ab", buffering=0, opener=regular) as file:
            before = file.tell()
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:  # a full disk leaves no half of a line, and no empty file
                file.truncate(before)
                if not before:
                    os.unlink(path)
                raise OSError(error.errno, error.strerror, path) from None


def _rows_of(path: str, *, in_lines: bool = False) -> list[Row]:
    """The rows of a file; ValueError, which names it, if it holds anything else."""
    try:
        with open(path, encoding="utf-8", newline="\n", opener=regular) as file:
            rows: object = json.load(file) if not in_lines else _whole_lines(file)
        if not isinstance(rows, list):
            raise ValueError("it is no list of objects")
        return [_row(each) for each in cast("list[object]", rows)]
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"'{path}' cannot be read: {str(error)[:500]}") from error


def _whole_lines(file: Iterable[str]) -> list[object]:
    return [json.loads(line) for line in file if line.endswith("\n")]


def _row(item: object) -> Row:
    """The numbers; None for what JSON has not, but Python's and tensorpack's writers write."""
    if not isinstance(item, dict):
        raise ValueError("it is no list of objects")
    row = cast("Row", item)
    for value in row.values():
        if value is not None and type(value) not in {int, float}:
            raise ValueError(f"{value!r} is no number")
    return {n: v if v is not None and math.isfinite(v) else None for n, v in row.items()}
