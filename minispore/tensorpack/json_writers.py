"""All numbers in a file: as one JSON list that any program can read, or a line for each row."""

import json
import math
import os
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import ClassVar, cast

from minispore._atomic import replacing
from minispore.tensorpack import logger
from minispore.tensorpack.adapter import MonitorBase
from minispore.train.callback._states import entries, entry, numbers

Row = dict[str, float | None]


class RowWriter(MonitorBase):
    """A row for each step that brought numbers: `{name: number, …, "epoch_num", "global_step"}`.

    What an epoch's last step brings is in one row with what the epoch does. A number that JSON has
    not, such as NaN, is null. A file that is there goes on if its last row is of the epoch before
    this run's first; a resumed run's goes on where the state was saved; any other is moved aside.
    Without a folder it does nothing; when the file cannot be written, it is told and stops writing.

    Args:
        directory: The folder; by default the logger's.
    """

    FILENAME: ClassVar[str]

    def __init__(self, directory: logger.Path | None = None) -> None:
        self._directory = directory
        self._path: str | None = None
        self._open = False
        self._values: dict[str, float] = {}  # of the row to come, and its epoch and step
        self._at = (0, 0)
        self._count = 0

    def process_scalar(self, name: str, val: float) -> None:
        """Let it be in the row of this step."""
        now = (self.epoch_num, self.global_step)
        if self._at != now:
            self._push()
        self._at, self._values[name] = now, val

    @abstractmethod
    def _read(self, path: str) -> list[Row]:
        """The rows of a file; ValueError if it has none."""

    @abstractmethod
    def _begin(self, path: str, rows: Sequence[Row]) -> None:
        """Have these rows in the file, which may be there."""

    @abstractmethod
    def _write(self, row: Row) -> None:
        """Add a row."""

    def _flush(self) -> None:
        """Have everything in the file."""

    def _setup_graph(self) -> None:
        self._path, self._open, self._values, self._count = None, False, {}, 0
        self._resumed: int | None = None
        if self._directory is None and logger.get_logger_dir() is None:
            logger.warn(f"{type(self).__name__} has no folder and writes nothing.")
        else:
            folder = logger.folder_for(self._directory, type(self).__name__)
            self._path = os.path.join(folder, self.FILENAME)

    def _trigger_step(self) -> None:
        if not self.trainer.is_last_step:
            self._push()

    def _trigger(self) -> None:
        self._push()
        self._flushed()

    def _after_train(self) -> None:
        self._trigger()

    def _push(self) -> None:
        if self._path is None or not self._values:
            return
        row: Row = {n: v if math.isfinite(v) else None for n, v in self._values.items()}
        row |= {"epoch_num": self._at[0], "global_step": self._at[1]}
        self._values = {}
        try:
            if not self._open:
                rows = self._earlier(self._path)
                self._begin(self._path, rows)
                self._open, self._count = True, len(rows)
            self._write(row)
            self._count += 1
        except OSError as error:
            self._failed(error)

    def _flushed(self) -> None:
        if self._open and self._path is not None:
            try:
                self._flush()
            except OSError as error:
                self._failed(error)

    def _failed(self, error: OSError) -> None:
        logger.warn(f"{type(self).__name__} writes no more to '{self._path}': {error}")
        self._path = None

    def _earlier(self, path: str) -> list[Row]:
        """The rows that this run goes on from; any other file is moved aside."""
        if not os.path.exists(path):
            return []
        try:
            rows = self._read(path)
            if self._resumed is not None:
                return rows[: self._resumed]
            last = rows[-1].get("epoch_num") if rows else None
            if last is None or last + 1 == self.trainer.starting_epoch:
                logger.info(f"'{path}' is there, and is appended to.")
                return rows
            why = f"its last epoch was {last:g}, and this run begins with "
            why += f"{self.trainer.starting_epoch}"
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
        self._flushed()
        return {"rows": self._count, "values": self._values, "at": list(self._at)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Go on with these rows of the file.

        Raises:
            ValueError: It is no such state.
        """
        owner = type(self).__name__
        rows, at = entry(state, "rows", int, owner), numbers(state, "at", int, owner)
        self._values = entries(state, "values", float, owner)
        self._count = self._resumed = rows
        self._at = (at[0], at[-1]) if at else (0, 0)


class JSONWriter(RowWriter):
    """Write all numbers to `stats.json`, a JSON list of rows that is always whole.

    The file is written at the end of each epoch, and in between whenever a tenth has been added.
    See `RowWriter` for the rows.

    Source: tensorpack.callbacks.JSONWriter.
    """

    FILENAME: ClassVar[str] = "stats.json"

    @staticmethod
    def load_existing_json(dir: logger.Path | None = None) -> list[Row] | None:
        """Return the rows of a folder's file, by default of the logger's; None without a file.

        Raises:
            ValueError: The file holds no such list.
        """
        folder = logger.folder_for(dir, "JSONWriter")
        path = os.path.join(folder, JSONWriter.FILENAME)
        return _rows_of(path) if os.path.exists(path) else None

    @staticmethod
    def load_existing_epoch_number(dir: logger.Path | None = None) -> int | None:
        """Return the epoch of the last row, None if there is none."""
        rows = JSONWriter.load_existing_json(dir)
        last = rows[-1].get("epoch_num") if rows else None
        return None if last is None else int(last)

    def _read(self, path: str) -> list[Row]:
        return _rows_of(path)

    def _begin(self, path: str, rows: Sequence[Row]) -> None:
        self._file = path
        self._texts = [json.dumps(row) for row in rows]
        self._written = len(self._texts)

    def _write(self, row: Row) -> None:
        self._texts.append(json.dumps(row))
        if 10 * (len(self._texts) - self._written) >= self._written:
            self._flush()

    def _flush(self) -> None:
        if self._written != len(self._texts):
            with replacing(self._file) as file:
                file.write(("[" + ",\n".join(self._texts) + "]\n").encode())
            self._written = len(self._texts)


class JSONLWriter(RowWriter):
    """Write all numbers to `stats.jsonl`, a line for each row, by appending: for long runs.

    See `RowWriter` for the rows. A line that a crash has left unfinished is removed.
    """

    FILENAME: ClassVar[str] = "stats.jsonl"

    def _read(self, path: str) -> list[Row]:
        with _damage_named(path), open(path, encoding="utf-8", newline="\n") as file:
            lines = [line for line in file if line.endswith("\n")]
            return _checked([json.loads(line) for line in lines])

    def _begin(self, path: str, rows: Sequence[Row]) -> None:
        self._file = path
        if rows:
            with replacing(path) as file:
                file.writelines(f"{json.dumps(row)}\n".encode() for row in rows)
        elif os.path.exists(path):
            os.unlink(path)

    def _write(self, row: Row) -> None:
        rest = memoryview(f"{json.dumps(row)}\n".encode())
        with open(self._file, "ab", buffering=0) as file:
            before = file.tell()
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:  # a full disk leaves no half of a line, and no empty file
                file.truncate(before)
                if not before:
                    os.unlink(self._file)
                raise


def _rows_of(path: str) -> list[Row]:
    with _damage_named(path), open(path, encoding="utf-8") as file:
        return _checked(json.load(file))


@contextmanager
def _damage_named(path: str) -> Generator[None]:
    """Make of what is wrong in the file the ValueError that names it."""
    try:
        yield
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"'{path}' cannot be read: {str(error)[:500]}") from error


def _checked(rows: object) -> list[Row]:
    items = cast("list[object]", rows) if isinstance(rows, list) else [None]
    return [_row(item) for item in items]


def _row(item: object) -> Row:
    if not isinstance(item, dict):
        raise ValueError("it is no list of objects")
    return {name: _number(value) for name, value in cast("dict[str, object]", item).items()}


def _number(value: object) -> float | None:
    """The number; None for what JSON has not, but Python's and tensorpack's writers write."""
    if value is not None and type(value) not in {int, float}:
        raise ValueError(f"{value!r} is no number")
    number = cast("float | None", value)
    return number if number is not None and math.isfinite(number) else None
