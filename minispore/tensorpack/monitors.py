"""Monitors that store numbers, print them, or write them to event files and JSON files."""

import json
import math
import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

import numpy as np

from minispore.tensorpack import logger
from minispore.tensorpack.adapter import Callback, MonitorBase
from minispore.tensorpack.protocol import Array, ScalarStore
from minispore.train.resume import StateField, StatefulMixin
from minispore.train.summary import Event, Value
from minispore.train.summary.encode import for_tensorboard
from minispore.train.summary.event import TENSORBOARD_VERSION, Content
from minispore.train.summary.event_writer import (
    EventFileNames,
    RecordWriter,
    append_events,
    restart_events,
)
from minispore.train.summary.graph import GraphTracer, parts_of
from minispore.train.summary.histogram import histogram
from minispore.train.summary.image import make_grid
from minispore.utils.atomic import append_line, atomic_write, open_regular_file
from minispore.utils.checks import check_arguments, is_dict, is_list


class ScalarHistory(ScalarStore, MonitorBase):
    """Store all numbers of a run, to be read after it.

    During the run, `trainer.monitors` stores them as well.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> history = ScalarHistory()
        >>> train(history)
        >>> history.get_history("learning_rate")
        [(3, 0.5), (6, 0.5)]

    Source: tensorpack's `callbacks.ScalarHistory`.
    """

    def process_scalar(self, name: str, val: float) -> None:
        """Append a number to the history."""
        self.add(name, self.global_step, val)


@check_arguments
@dataclass(eq=False)
class ScalarPrinter(StatefulMixin, MonitorBase):
    """Print the numbers that were logged since the last time.

    Of several in one list, each prints the numbers that none has printed yet.

    Args:
        enable_step: Whether to print after each step.
        enable_epoch: Whether to print after each epoch.
        whitelist: Regular expressions; only names that match one of them are printed. None for all.
        blacklist: Regular expressions; names that match one of them are not printed.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(ScalarPrinter(blacklist=["^loss$"]))
        learning_rate: 0.5
        learning_rate: 0.5

    Source: tensorpack's `callbacks.ScalarPrinter`.
    """

    enable_step: bool = False
    enable_epoch: bool = True
    whitelist: Sequence[str] | None = None
    blacklist: Sequence[str] | None = None
    _values = StateField(dict[str, float])
    _printers: Sequence["ScalarPrinter"] = field(default=(), init=False, repr=False)

    def process_scalar(self, name: str, val: float) -> None:
        """Store a number until it is printed."""
        self._values[name] = val

    def _before_train(self) -> None:
        callbacks = self.trainer.params.list_callback
        monitors = [callback.monitor() for callback in callbacks if isinstance(callback, Callback)]
        self._printers = [monitor for monitor in monitors if isinstance(monitor, ScalarPrinter)]
        self._print()

    def _trigger_step(self) -> None:
        # The numbers of the last step are printed with its epoch.
        if self.enable_step and not (self.enable_epoch and self.trainer.is_last_step):
            self._print()

    def _trigger(self) -> None:
        if self.enable_epoch:
            self._print()

    def _print(self) -> None:
        whitelist = ("",) if self.whitelist is None else self.whitelist
        for name, value in sorted(self._values.items()):
            listed = any(re.search(pattern, name) for pattern in whitelist)
            if listed and not any(re.search(pattern, name) for pattern in self.blacklist or ()):
                logger.info(f"{name}: {value:.5g}")
                for printer in self._printers:
                    printer._values.pop(name, None)
        self._values = {}


@check_arguments
class FileMonitor(MonitorBase):
    """Base class of monitors that write files.

    If there is no folder, or as soon as a file cannot be written, they log a warning and stop
    writing.

    Args:
        directory: The folder; by default the logger's.
    """

    def __init__(self, directory: logger.Path | None = None) -> None:
        self._directory = directory
        self._folder: str | None = None

    def _setup_graph(self) -> None:
        self._folder = None
        try:
            self._folder = logger.folder_for(self._directory, self)
        except ValueError as error:
            logger.warn(f"{error} No file is written.")

    def _try(self, write: Callable[[str], None]) -> None:
        """Call a function that writes into the folder; handle its OSError."""
        if self._folder is not None:
            try:
                write(self._folder)
            except OSError as error:
                logger.warn(f"{type(self).__name__} stops writing: {error}")
                self._folder = None


@check_arguments
class TFEventWriter(StatefulMixin, FileMonitor):
    """Write all logged values and the network's graph to an event file, which TensorBoard reads.

    After a resume TensorBoard drops what was written after the state that the run is resumed from.

    Args:
        logdir: The folder; by default the logger's.
        max_queue: Has no effect: each value is written at once.
        flush_secs: Has no effect.
        split_files: Whether to start a new file with each epoch.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(TFEventWriter())
        ['events.out.tfevents...']

    Source: tensorpack's `callbacks.TFEventWriter`.
    """

    _step = StateField(int)  # the last step, and the names of its values
    _names = StateField(list[str])

    def __init__(
        self,
        logdir: logger.Path | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        split_files: bool = False,
    ) -> None:
        super().__init__(logdir)
        self._split = split_files
        self._file: RecordWriter | None = None
        self._tracer: GraphTracer | None = None

    def process_scalar(self, name: str, val: float) -> None:
        """Write a number."""
        self._put(name, val)

    def process_image(self, name: str, val: Array) -> None:
        """Write the images as one picture, side by side; NaN is black."""
        pixels = np.clip(np.nan_to_num(val.astype(np.float64)), 0, 255).round().astype(np.uint8)
        self._put(name, make_grid(pixels.transpose(0, 3, 1, 2)))

    def process_histogram(self, name: str, val: Array) -> None:
        """Write a histogram."""
        self._put(name, histogram(val))

    def process_event(self, evt: Event) -> None:
        """Write an event unchanged."""
        if evt.values:
            names = self._names if evt.step == self._step else []
            self._step, self._names = evt.step, [*names, *(value.tag for value in evt.values)]
        self._try(lambda folder: self._append(folder, [evt]))

    def _append(self, folder: str, events: Sequence[Event]) -> None:
        if self._file is None:
            self._file = RecordWriter(EventFileNames(folder, "events", "").tensorboard)
        append_events(self._file, TENSORBOARD_VERSION, for_tensorboard, events)

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Restore the state, and write that the run continues from there.

        Raises:
            ValueError: The state is invalid.
        """
        super().load_state_dict(state)

        def restart(folder: str) -> None:
            events, has_graph = restart_events(folder, self._step, self._names)
            self._append(folder, events)
            if has_graph and self._tracer is not None:
                self._tracer.stop()
                self._tracer = None

        self._try(restart)

    def _put(self, name: str, content: Content) -> None:
        self.process_event(Event(time.time(), self.global_step, values=(Value(name, content),)))

    def _before_train(self) -> None:
        params = self.trainer.params
        if self._folder is not None:
            self._tracer = GraphTracer(
                params.train_network, parts_of(params.network, params.loss_fn)
            )

    def _after_epoch(self) -> None:
        tracer, self._tracer = self._tracer, None
        if tracer is not None:
            tracer.stop()
            if tracer.graph() is not None:
                self.process_event(Event(time.time(), graph=tracer.graph()))

    def _trigger(self) -> None:
        if self._split:
            self._close()

    def _after_train(self) -> None:
        self._after_epoch()
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.sync()
            self._file.close()
            self._file = None


Row = dict[str, float | None]


class RowWriter(StatefulMixin, FileMonitor):
    """Base class of monitors that write one row of numbers for each step in which some are logged.

    A row is `{name: number, …, "epoch_num": …, "global_step": …}`. The numbers of an epoch's last
    step and of the epoch itself are in one row. A number that JSON does not support, such as NaN,
    is null. A resumed run continues its file where the state was saved. Otherwise rows are appended
    to an existing file if its last row is of the epoch before this run's first; any other file is
    renamed.

    Args:
        directory: The folder; by default the logger's.
    """

    FILENAME: ClassVar[str]
    _in_lines: ClassVar[bool]
    _rows = StateField(int)  # the number of rows in the file
    _values = StateField(dict[str, float])  # of the next row
    _at = StateField(list[int])  # the epoch and step of the next row
    _opened = _resumed = False

    @abstractmethod
    def _open(self, path: str, rows: list[str]) -> None:
        """Create the file with these rows, or replace its content by them."""

    @abstractmethod
    def _write(self, path: str, row: str) -> None:
        """Append a row."""

    def _flush(self, path: str) -> None:
        """Write buffered rows."""

    def process_scalar(self, name: str, val: float) -> None:
        """Add a number to the row of the current step."""
        at = [self.epoch_num, self.global_step]
        if self._at != at:
            self._push()
        self._at, self._values[name] = at, val

    def _setup_graph(self) -> None:
        super()._setup_graph()
        self._opened = self._resumed = False

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
        if not self._opened:
            rows = [json.dumps(previous) for previous in self._rows_to_continue(path)]
            self._open(path, rows)
            self._opened, self._rows = True, len(rows)
        self._write(path, row)
        self._rows += 1

    def _save(self) -> None:
        if self._opened:
            self._to_file(self._flush)

    def _to_file(self, write: Callable[[str], None]) -> None:
        self._try(lambda folder: write(os.path.join(folder, self.FILENAME)))

    def _rows_to_continue(self, path: str) -> list[Row]:
        """Return the rows that this run continues; rename any other file."""
        if not os.path.exists(path):
            return []
        first_epoch = self.trainer.starting_epoch
        try:
            rows = _rows_of(path, in_lines=self._in_lines)
            if self._resumed:
                return rows[: self._rows]
            last = rows[-1].get("epoch_num") if rows else None
            if last is None or last + 1 == first_epoch:
                logger.info(f"Rows are appended to the existing file '{path}'.")
                return rows
            reason = f"its last epoch is {last:g}, and this run starts with epoch {first_epoch}"
        except ValueError as error:
            reason = str(error)
        backup = f"{path}.{datetime.now():%m%d-%H%M%S}"
        while os.path.exists(backup):
            backup += "_"
        logger.warn(f"'{path}' is renamed to '{backup}': {reason}.")
        os.replace(path, backup)
        return []

    def state_dict(self) -> dict[str, object]:
        """Return the number of rows and the content of the next row; the rows are in the file."""
        self._save()
        return super().state_dict()

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continue with the rows of the file up to this state.

        Raises:
            ValueError: The state is invalid.
        """
        super().load_state_dict(state)
        self._resumed = True


class JSONWriter(RowWriter):
    """Write all numbers to `stats.json`, a JSON list of rows that is complete at any time.

    The file is replaced at the end of each epoch, and whenever it has grown by a tenth. See
    `RowWriter` for the rows.

    Args:
        directory: The folder; by default the logger's.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from minispore.tensorpack.example_training import train
        >>> with TemporaryDirectory() as folder:
        ...     train(JSONWriter(folder))
        ...     JSONWriter.load_existing_json(folder)[1]["global_step"]
        6

    Source: tensorpack's `callbacks.JSONWriter`.
    """

    FILENAME: ClassVar[str] = "stats.json"
    _in_lines = False

    @staticmethod
    def load_existing_json(dir: logger.Path | None = None) -> list[Row] | None:
        """Return the rows of the file in a folder; None if there is no file.

        Args:
            dir: The folder; by default the logger's.

        Raises:
            ValueError: The file contains no such list.
        """
        path = os.path.join(logger.folder_for(dir, JSONWriter()), JSONWriter.FILENAME)
        return _rows_of(path, in_lines=False) if os.path.exists(path) else None

    @staticmethod
    def load_existing_epoch_number(dir: logger.Path | None = None) -> int | None:
        """Return the epoch of the last row of the file in a folder; None if there is none."""
        rows = JSONWriter.load_existing_json(dir)
        last = rows[-1].get("epoch_num") if rows else None
        return None if last is None else int(last)

    def _open(self, path: str, rows: list[str]) -> None:
        self._lines, self._saved = rows, len(rows)

    def _write(self, path: str, row: str) -> None:
        self._lines.append(row)
        if 10 * (len(self._lines) - self._saved) >= self._saved:
            self._flush(path)

    def _flush(self, path: str) -> None:
        if self._saved != len(self._lines):
            with atomic_write(path) as file:
                file.write(("[" + ",\n".join(self._lines) + "]\n").encode())
            self._saved = len(self._lines)


class JSONLWriter(RowWriter):
    """Append all numbers to `stats.jsonl`, with one row in each line: for long runs.

    See `RowWriter` for the rows. An incomplete last line, left by a crash, is removed.

    Args:
        directory: The folder; by default the logger's.

    Examples:
        >>> from minispore.tensorpack.example_training import train
        >>> train(JSONLWriter())
        ['stats.jsonl']
    """

    FILENAME: ClassVar[str] = "stats.jsonl"
    _in_lines = True

    def _open(self, path: str, rows: list[str]) -> None:
        if rows:
            with atomic_write(path) as file:
                file.writelines(f"{row}\n".encode() for row in rows)
        elif os.path.exists(path):
            os.unlink(path)

    def _write(self, path: str, row: str) -> None:
        append_line(path, f"{row}\n".encode())


def _rows_of(path: str, *, in_lines: bool) -> list[Row]:
    """Return the rows of a file; ValueError, which names the file, if it is malformed."""
    try:
        with open(path, encoding="utf-8", newline="\n", opener=open_regular_file) as file:
            complete_lines = (line for line in file if line.endswith("\n"))
            rows: object = list(map(json.loads, complete_lines)) if in_lines else json.load(file)
        if not is_list(rows):
            raise ValueError("it is no list of objects")
        return [_check_row(row) for row in rows]
    except (ValueError, OverflowError, RecursionError) as error:
        raise ValueError(f"'{path}' cannot be read: {str(error)[:500]}") from error


def _check_row(row: object) -> Row:
    """Return a row, with None for NaN and infinities, which Python and tensorpack write as such."""
    if not is_dict(row):
        raise ValueError("it is no list of objects")
    numbers: Row = {}
    for name, value in row.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{value!r} is no number")
        is_number = value is not None and math.isfinite(value)
        numbers[str(name)] = value if is_number else None
    return numbers
