"""Event files being written: their names, their growth, and what happens at their limit."""

import errno
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from typing import Final

from minispore._threads import fork_safe_lock
from minispore.train._files.protobuf import WireError
from minispore.train.summary._behind import gathered
from minispore.train.summary._encode import for_mindspore, for_tensorboard
from minispore.train.summary._event import MINDSPORE_VERSION, TENSORBOARD_VERSION, Event, Landscape
from minispore.train.summary._records import framed

# Names given out in this process; the files themselves are made when they are first written to.
_given: Final[set[str]] = set()
_lock: Final = fork_safe_lock()


class Names:
    """The names of a record's files, which no other record has.

    Attributes:
        mindspore: MindSpore's event file,
        tensorboard: TensorBoard's,
        graph: the network's graph, which TensorBoard reads first for its name,
        lineage: what MindSpore stores of a run beside its values.
        export: the folder of exported tensors.
    """

    def __init__(self, folder: str, prefix: str, suffix: str) -> None:
        import socket

        seconds, host = int(time.time()), socket.gethostname()
        # Begun with that of the process: another one may make its names in the same second.
        number = os.getpid()
        with _lock:
            while True:
                rest = f"{seconds}.{number}.{host}"
                start = os.path.join(folder, f"{prefix}.out")
                self.mindspore = f"{start}.events.summary.{rest}{suffix}"
                self.tensorboard = f"{start}.tfevents.{rest}{suffix}"
                self.graph = f"{start}.graph.tfevents.{rest}{suffix}"
                self.lineage = f"{start}.events.summary.{rest}_lineage"
                files = (self.mindspore, self.tensorboard, self.graph, self.lineage)
                if self.mindspore not in _given and not any(map(os.path.exists, files)):
                    break
                number += 1
            _given.add(self.mindspore)
        self.export = os.path.join(folder, f"export_{seconds}.{number}")


class EventFile:
    """One file that grows by whole records.

    Args:
        path: The file, made with the first record.
        limit: The most bytes that it may have, or None.
    """

    def __init__(self, path: str, limit: int | None = None) -> None:
        self.path = path
        self._limit = math.inf if limit is None else limit
        self._file: int | None = None
        self._size = 0
        self._full = False

    def append(self, *messages: bytes) -> list[str]:
        """Add a record of each, all at once, which is quicker.

        Returns:
            Nothing, or a warning: the next record would have gone beyond the limit, and the file
            is closed for good.

        Raises:
            OSError: They could not be written; the file is what it was before.
        """
        if self._full:
            return []
        records = [framed(message) for message in messages]
        sizes = accumulate(map(len, records), initial=self._size)
        fit = sum(size <= self._limit for size in sizes) - 1
        if fit:
            self._write(b"".join(records[:fit]))
        if fit == len(records):
            return []
        self.close()
        self._full = True
        left = self._limit - self._size
        text = f"There are {left} bytes remaining, but the '{self.path}' requires to write"
        return [f"'max_file_size' reached: {text} {len(records[fit])} bytes."]

    def _write(self, data: bytes) -> None:
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._file = os.open(self.path, flags, 0o666)
        try:
            if not os.fstat(self._file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "The file has been removed")
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except BaseException as error:  # Ctrl-C may come between two parts, too
            os.ftruncate(self._file, self._size)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, self.path) from None
            raise
        self._size += len(data)

    def sync(self) -> None:
        """Have the operating system bring all to the disk."""
        if self._file is not None:
            os.fsync(self._file)

    def close(self) -> None:
        """Close the file; one without a record, where the disk was full from the first, goes."""
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


class Files:
    """The files of one record: values for MindSpore and for TensorBoard, graph and lineage."""

    def __init__(self, names: Names, limit: int | None) -> None:
        self._mindspore = EventFile(names.mindspore, limit)
        self._tensorboard = EventFile(names.tensorboard, limit)
        self._graph = EventFile(names.graph, limit)
        self._lineage = EventFile(names.lineage, limit)

    def write(self, events: Sequence[Event]) -> list[str]:
        """Write events for both readers; return what there is to warn about."""
        seen = [e for e in events if not all(isinstance(v.content, Landscape) for v in e.values)]
        return gathered(
            (
                partial(append_events, self._mindspore, MINDSPORE_VERSION, for_mindspore, events),
                partial(
                    append_events, self._tensorboard, TENSORBOARD_VERSION, for_tensorboard, seen
                ),
            )
        )

    def write_graph(self, event: Event) -> list[str]:
        """Write a graph, for TensorBoard only: MindSpore's is of another kind."""
        return append_events(self._graph, TENSORBOARD_VERSION, for_tensorboard, [event])

    def write_lineage(self, data: bytes) -> list[str]:
        """Write a lineage event."""
        return self._lineage.append(data)

    def sync(self) -> list[str]:
        """Have the operating system bring all to the disk; there is nothing to warn about."""
        for file in self._all():
            file.sync()
        return []

    def close(self) -> None:
        """Close the files."""
        for file in self._all():
            file.close()

    def _all(self) -> tuple[EventFile, ...]:
        return self._mindspore, self._tensorboard, self._graph, self._lineage


def append_events(
    file: EventFile,
    version: str,
    encode: Callable[[Sequence[Event]], Iterator[bytes]],
    events: Sequence[Event],
) -> list[str]:
    """Append events to a file that begins with its version; one that fails keeps none back."""
    if not events:
        return []
    first = [Event(events[0].wall_time, version=version)] if file.is_empty else []
    try:
        return file.append(*encode([*first, *events]))
    except (WireError, OSError):
        if len(events) == 1:
            raise
    return gathered(partial(append_events, file, version, encode, [event]) for event in events)
