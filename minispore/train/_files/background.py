"""Files written behind the program's back: one thread, one file at a time, and no error is lost.

Whoever hands over a file first waits for the one before it. So there is never more than one set of
arrays in waiting, files appear in the order in which they were saved, and the error of one comes
out at the next, at `wait`, or when the program ends, which the thread delays until it is done.
"""

import atexit
import os
import threading
from collections.abc import Callable

from minispore._threads import after_fork_in_child, start


class _Save(threading.Thread):
    """The thread of one file.

    Attributes:
        path: The file, without symbolic links.
        done: Set when it is written, or has failed. Not `join`: in Python before 3.13, a Ctrl-C
            that comes out of one makes every later one return at once.
        error: What went wrong.
    """

    def __init__(self, path: str, write: Callable[[], None]) -> None:
        super().__init__(name=f"saving {path}")
        self.path = os.path.realpath(path)
        self.done = threading.Event()
        self.error: BaseException | None = None
        self._write: Callable[[], None] | None = write

    def run(self) -> None:
        """Write the file, and let go of what it was made from."""
        assert self._write is not None
        try:
            self._write()
        except BaseException as error:
            error.add_note(f"This happened while '{self.path}' was saved in the background.")
            self.error = error
        finally:
            self._write = None
            self.done.set()


class _Background:
    """The file that is being written, or was written last, until its error has been asked for."""

    def __init__(self) -> None:
        self._reset()
        after_fork_in_child(self._reset)

    def _reset(self) -> None:
        """Wait for nothing. A forked process leaves the file to the process that began it."""
        self._lock = threading.Lock()
        self._latest: _Save | None = None

    def start(self, path: str, write: Callable[[], None]) -> None:
        """Let `write` write the file at `path`, after the file before it, whose error is raised."""
        save = _Save(path, write)
        while True:
            self.wait()
            with self._lock:
                if self._latest is None:
                    start(save)
                    self._latest = save
                    return

    def wait(self) -> None:
        """Wait until all is written; raise the error, once, if there was one."""
        save = self._latest
        if save is None:
            return
        save.done.wait()
        with self._lock:
            if self._latest is not save:
                return  # somebody else waited, too, and has got the error
            self._latest = None
        if save.error is not None:
            raise save.error

    def settle(self, path: str) -> None:
        """Wait while the file at `path` is being written; its error is left for `wait`."""
        save = self._latest
        if save is not None and save.path == os.path.realpath(path):
            save.done.wait()

    def busy(self) -> bool:
        """Whether a file is being written."""
        save = self._latest
        return save is not None and not save.done.is_set()


background = _Background()
# Python ends the program's threads first, by waiting for them, and then calls this: an error that
# nobody has asked for is printed with its traceback.
atexit.register(background.wait)
