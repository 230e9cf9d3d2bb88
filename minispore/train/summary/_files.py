"""Event files being written: their names, their growth, and what happens at their limit."""

import errno
import os
import time
from contextlib import suppress
from threading import Lock
from typing import Final

from minispore.train.summary._encode import for_mindspore, for_tensorboard
from minispore.train.summary._event import MINDSPORE_VERSION, TENSORBOARD_VERSION, Event, Landscape
from minispore.train.summary._records import framed

# Names given out in this process; the files themselves are made when they are first written to.
_given: Final[set[str]] = set()
_lock: Final = Lock()


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
        self._limit = limit
        self._file: int | None = None
        self._size = 0
        self._full = False

    def append(self, data: bytes) -> str | None:
        """Add a record.

        Returns:
            None, or a warning: the record would have gone beyond the limit, and the file is closed
            for good.

        Raises:
            OSError: The record could not be written; the file is what it was before.
        """
        if self._full:
            return None
        record = framed(data)
        if self._limit is not None and self._size + len(record) > self._limit:
            self.close()
            self._full = True
            return (
                f"'max_file_size' reached: There are {self._limit - self._size} bytes remaining, "
                f"but the '{self.path}' requires to write {len(record)} bytes."
            )
        if self._file is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._file = os.open(self.path, flags, 0o666)
        try:
            if not os.fstat(self._file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "The file has been removed")
            rest = memoryview(record)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise OSError(error.errno, error.strerror, self.path) from None
        self._size += len(record)
        return None

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

    def write(self, event: Event) -> list[str]:
        """Write an event for both readers; return what there is to warn about."""
        warnings: list[str | None] = []
        files = [(self._mindspore, MINDSPORE_VERSION, for_mindspore)]
        if any(not isinstance(value.content, Landscape) for value in event.values):
            files.append((self._tensorboard, TENSORBOARD_VERSION, for_tensorboard))
        for file, version, encode in files:
            if file.is_empty:
                warnings.append(file.append(encode(Event(event.wall_time, version=version))))
            warnings.append(file.append(encode(event)))
        return [text for text in warnings if text]

    def write_graph(self, event: Event) -> list[str]:
        """Write a graph, for TensorBoard only: MindSpore's is of another kind."""
        first = Event(event.wall_time, version=TENSORBOARD_VERSION)
        texts = [self._graph.append(for_tensorboard(e)) for e in (first, event)]
        return [text for text in texts if text]

    def write_lineage(self, data: bytes) -> list[str]:
        """Write a lineage event."""
        text = self._lineage.append(data)
        return [text] if text else []

    def sync(self) -> None:
        """Have the operating system bring all to the disk."""
        for file in self._all():
            file.sync()

    def close(self) -> None:
        """Close the files."""
        for file in self._all():
            file.close()

    def _all(self) -> tuple[EventFile, ...]:
        return self._mindspore, self._tensorboard, self._graph, self._lineage
