"""Writing event files: their names, appending records, and the limit of their size."""

import errno
import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, count
from typing import Final

import numpy as np

from minispore.train.checkpoint.protobuf import WireError, varint_field
from minispore.train.summary.decode import decode
from minispore.train.summary.deferred_writer import run_all
from minispore.train.summary.encode import for_mindspore, for_tensorboard
from minispore.train.summary.event import (
    MINDSPORE_VERSION,
    TENSORBOARD_VERSION,
    Event,
    Landscape,
    Value,
)
from minispore.train.summary.tfrecord import encode_record, read_records
from minispore.utils.arrays import AnyArray
from minispore.utils.atomic import atomic_write, open_regular_file
from minispore.utils.threads import fork_safe_lock

# Names that this process has chosen; a file is created when it is first written to.
_used_names: Final[set[str]] = set()
_lock: Final = fork_safe_lock()
_TIME: Final = 9  # the length of the field with the time, which is the first of an event


class EventFileNames:
    """Unique paths for the files of a `SummaryRecord`.

    Attributes:
        mindspore: MindSpore's event file.
        tensorboard: TensorBoard's event file.
        graph: The graph of the network; its name makes TensorBoard read it first.
        lineage: The lineage of a run in MindSpore's format.
        export: The folder of exported tensors.
    """

    def __init__(self, folder: str, prefix: str, suffix: str) -> None:
        import socket

        seconds, host = int(time.time()), socket.gethostname()
        with _lock:
            # Starts with the process id: another process may choose names in the same second.
            for number in count(os.getpid()):  # pragma: no branch (it is endless)
                unique = f"{seconds}.{number}.{host}"
                start = os.path.join(folder, f"{prefix}.out")
                self.mindspore: str = f"{start}.events.summary.{unique}{suffix}"
                self.tensorboard: str = f"{start}.tfevents.{unique}{suffix}"
                self.graph: str = f"{start}.graph.tfevents.{unique}{suffix}"
                self.lineage: str = f"{start}.events.summary.{unique}_lineage"
                self.export: str = os.path.join(folder, f"export_{seconds}.{number}")
                files = (self.mindspore, self.tensorboard, self.graph, self.lineage)
                if self.mindspore not in _used_names and not any(map(os.path.exists, files)):
                    break
            _used_names.add(self.mindspore)


class RecordWriter:
    """A file to which complete records are appended.

    Args:
        path: The path; the file is created with the first record.
        limit: The maximum number of bytes, or None.
    """

    def __init__(self, path: str, limit: int | None = None) -> None:
        self.path = path
        self._limit = math.inf if limit is None else limit
        self._file: int | None = None
        self._size = 0
        self._full = False

    def append(self, *messages: bytes) -> list[str]:
        """Append a record of each message, with one write.

        Returns:
            Warnings: one if a record would have exceeded the limit; the file is then closed.

        Raises:
            OSError: The records could not be written; the file is unchanged.
        """
        if self._full:
            return []
        records = [encode_record(message) for message in messages]
        sizes = accumulate(map(len, records), initial=self._size)
        fit = sum(size <= self._limit for size in sizes) - 1
        if fit:
            self._write(b"".join(records[:fit]))
        if fit == len(records):
            return []
        self.close()
        self._full = True
        free = self._limit - self._size
        text = f"There are {free} bytes remaining, but the '{self.path}' requires to write"
        return [f"'max_file_size' reached: {text} {len(records[fit])} bytes."]

    def _write(self, data: bytes) -> None:
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._file = os.open(self.path, flags, 0o666)
        try:
            if not os.fstat(self._file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "The file has been removed")
            unwritten = memoryview(data)
            while unwritten:
                unwritten = unwritten[os.write(self._file, unwritten) :]
        except BaseException as error:  # Ctrl-C may come between two parts, too
            os.ftruncate(self._file, self._size)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, self.path) from None
            raise
        self._size += len(data)

    def sync(self) -> None:
        """Force the written records to the disk."""
        if self._file is not None:
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file; remove it if it has no record, because the disk was full."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            if self.is_empty:
                with suppress(OSError):
                    os.unlink(self.path)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written yet."""
        return self._size == 0


class EventFileWriter:
    """The files of a `SummaryRecord`: values for MindSpore and TensorBoard, graph and lineage."""

    def __init__(self, names: EventFileNames, limit: int | None) -> None:
        paths = names.mindspore, names.tensorboard, names.graph, names.lineage
        self._all = tuple(RecordWriter(path, limit) for path in paths)
        self._mindspore, self._tensorboard, self._graph, self._lineage = self._all

    def write(self, events: Sequence[Event]) -> list[str]:
        """Write events for both readers; return warnings."""
        shown = [e for e in events if not all(isinstance(v.content, Landscape) for v in e.values)]
        dialects = (
            (self._mindspore, MINDSPORE_VERSION, for_mindspore, events),
            (self._tensorboard, TENSORBOARD_VERSION, for_tensorboard, shown),
        )
        return run_all(partial(append_events, *arguments) for arguments in dialects)

    def write_restart(self, events: Sequence[Event]) -> list[str]:
        """Write what `restart_events` returns, for TensorBoard only."""
        return append_events(self._tensorboard, TENSORBOARD_VERSION, for_tensorboard, events)

    def write_graph(self, event: Event) -> list[str]:
        """Write a graph, for TensorBoard only: MindSpore's format of graphs is another."""
        return append_events(self._graph, TENSORBOARD_VERSION, for_tensorboard, [event])

    def write_lineage(self, data: bytes) -> list[str]:
        """Write a lineage event."""
        return self._lineage.append(data)

    def sync(self) -> list[str]:
        """Force the files to the disk; return no warnings."""
        for file in self._all:
            file.sync()
        return []

    def close(self) -> None:
        """Close the files."""
        for file in self._all:
            file.close()


def restart_events(folder: str, step: int, tags: Collection[str]) -> tuple[list[Event], bool]:
    """Return the first events of a resumed run, with which TensorBoard drops what is done again.

    Args:
        folder: The folder with the event files of the run before.
        step: The last step that was written when the state was saved.
        tags: The names of the values that were written of this step by then. They are kept; what
            was written of the step later, such as the results of an evaluation, is done again.

    Returns:
        The events, none if there are no files; and whether the files have a graph.
    """
    names = [name for name in os.listdir(folder) if "tfevents" in name]
    steps = varint_field(2, 0), varint_field(2, step)
    values: dict[str, Value] = {}
    has_graph = False
    for name in sorted(names):
        # A file of a process that was killed may end inside a record.
        path = os.path.join(folder, name)
        with suppress(OSError, WireError), open(path, "rb", opener=open_regular_file) as file:
            for data in read_records(file):
                if not data.startswith(steps, _TIME):  # to decode all events would take long
                    continue
                event = decode(data)
                has_graph |= event.graph is not None
                if event.step == step:
                    values |= {value.tag: value for value in event.values if value.tag in tags}
    now = time.time()
    # TensorBoard takes the first of these in a folder for the start of the run itself.
    events = [Event(now, step, restart=True)] * 2 if names else []
    return events + ([Event(now, step, values=tuple(values.values()))] if values else []), has_graph


def append_events(
    file: RecordWriter,
    version: str,
    encode: Callable[[Sequence[Event]], Iterator[bytes]],
    events: Sequence[Event],
) -> list[str]:
    """Append events, to an empty file after its version; one that fails does not affect others."""
    if not events:
        return []
    first = [Event(events[0].wall_time, version=version)] if file.is_empty else []
    try:
        return file.append(*encode([*first, *events]))
    except (WireError, OSError):
        if len(events) == 1:
            raise
    return run_all(partial(append_events, file, version, encode, [event]) for event in events)


def export_tensor(folder: str, name: str, step: int, array: AnyArray) -> None:
    """Save a tensor as `folder`/tensor/name_step.npy, with the name quoted as in a URL."""
    from urllib.parse import quote

    inner = os.path.join(folder, "tensor")
    os.makedirs(inner, exist_ok=True)
    with atomic_write(os.path.join(inner, f"{quote(name, safe='')}_{step}.npy")) as file:
        np.save(file, array)
