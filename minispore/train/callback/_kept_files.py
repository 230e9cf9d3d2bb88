"""The files that a saving policy keeps: one is removed only when no policy keeps it any longer."""

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import ClassVar
from weakref import WeakSet

from minispore._threads import fork_safe_lock


class KeptFiles:
    """Paths of the files that one callback keeps, the oldest first.

    Only files that were added are ever removed, and none that another callback keeps in the same
    run.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "net.ckpt")
        >>> open(path, "wb").close()
        >>> newest, best = KeptFiles([path]), KeptFiles([path])
        >>> newest.remove(path)
        >>> os.path.exists(path)
        True
        >>> best.remove(path)
        >>> os.path.exists(path)
        False
        >>> folder.cleanup()
    """

    _all: ClassVar[WeakSet["KeptFiles"]] = WeakSet()
    _lock: ClassVar[Lock] = fork_safe_lock()  # runs in other threads have theirs in it

    def __init__(self, paths: Iterable[str] = ()) -> None:
        # Not a list, nor a dict: of either, removing the first of many takes long.
        self._paths = OrderedDict.fromkeys(os.path.abspath(path) for path in paths)
        with self._lock:
            self._all.add(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, path: str) -> None:
        """Keep a file: from now on the newest."""
        path = os.path.abspath(path)
        self._paths[path] = None
        self._paths.move_to_end(path)

    def remove(self, path: str) -> None:
        """Keep it no longer, and delete it unless another policy keeps it."""
        path = os.path.abspath(path)
        del self._paths[path]
        with self._lock:
            kept = any(path in other._paths for other in self._all)
        if not kept:
            # Whoever has removed or moved it by hand meant to.
            with suppress(FileNotFoundError):
                os.unlink(path)

    def keep_newest(self, most: int) -> None:
        """Remove the oldest until `most` are left; files that no longer exist do not count."""
        if len(self) > most:
            self._paths = OrderedDict.fromkeys(filter(os.path.exists, self._paths))
        for path in list(islice(self._paths, max(0, len(self) - most))):
            self.remove(path)

    def end_run(self) -> None:
        """Let others remove these files, if they come to write them anew."""
        with self._lock:
            self._all.discard(self)
