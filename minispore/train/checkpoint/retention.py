"""Retention of checkpoint files: a file is removed when no callback keeps it any longer."""

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import ClassVar
from weakref import WeakSet

from minispore.utils.threads import fork_safe_lock


class RetainedFiles:
    """The paths of the files that one callback keeps, the oldest first.

    Only files that were added are removed, and none that another callback of the run keeps.

    Args:
        paths: The files to begin with, the oldest first.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net.ckpt")
        >>> open(path, "wb").close()
        >>> newest, best = RetainedFiles([path]), RetainedFiles([path])
        >>> newest.remove(path)
        >>> os.path.exists(path)
        True
        >>> best.remove(path)
        >>> os.path.exists(path)
        False
        >>> folder.cleanup()
    """

    _all: ClassVar[WeakSet["RetainedFiles"]] = WeakSet()
    _lock: ClassVar[Lock] = fork_safe_lock()  # shared with the runs of other threads

    def __init__(self, paths: Iterable[str] = ()) -> None:
        # Removing the first of many items of a list or dict is slow.
        self._paths: OrderedDict[str, None] = OrderedDict.fromkeys(
            os.path.abspath(path) for path in paths
        )
        with self._lock:
            self._all.add(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, path: str) -> None:
        """Keep a file, which becomes the newest."""
        path = os.path.abspath(path)
        self._paths[path] = None
        self._paths.move_to_end(path)

    def remove(self, path: str) -> None:
        """Keep a file no longer, and delete it unless another callback keeps it."""
        path = os.path.abspath(path)
        del self._paths[path]
        with self._lock:
            shared = any(path in other._paths for other in self._all)
        if not shared:
            # The user may have removed or moved it.
            with suppress(FileNotFoundError):
                os.unlink(path)

    def prune_to(self, count: int) -> None:
        """Remove the oldest files until `count` are left; missing files do not count."""
        if len(self) > count:
            self._paths = OrderedDict.fromkeys(filter(os.path.exists, self._paths))
        for path in list(islice(self._paths, max(0, len(self) - count))):
            self.remove(path)

    def release(self) -> None:
        """Allow other callbacks to remove these files."""
        with self._lock:
            self._all.discard(self)
