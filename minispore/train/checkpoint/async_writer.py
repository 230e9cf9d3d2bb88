"""Write checkpoints asynchronously, one file at a time; an error is raised at the next save.

A save first waits for the one before it. So there is at most one set of copied arrays, files appear
in the order in which they were saved, and the error of a save is raised by the next one, by `wait`,
or when the program ends, which waits for the thread.
"""

import atexit
import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from minispore.utils.threads import after_fork_in_child, start_or_run

T = TypeVar("T")


class BackgroundCall(threading.Thread, Generic[T]):
    """A thread that calls a function once, and keeps what it returns or raises.

    Attributes:
        done: Set when the function has returned or raised an error. `join` would not do: in Python
            before 3.13, a Ctrl-C during one makes every later one return at once.
        value: What the function has returned.
        error: The error that it has raised.
    """

    value: T

    def __init__(self, name: str, function: Callable[[], T], *, daemon: bool = False) -> None:
        super().__init__(name=name, daemon=daemon)
        self.done: threading.Event = threading.Event()
        self.error: BaseException | None = None
        self._function: Callable[[], T] | None = function

    def run(self) -> None:
        """Call the function, and release it with the arrays that it holds."""
        assert self._function is not None
        try:
            self.value = self._function()
        except BaseException as error:
            self.error = error
        finally:
            self._function = None
            self.done.set()


class AsyncCheckpointWriter:
    """Writes files in a thread, one at a time, and keeps the error of the last one."""

    def __init__(self) -> None:
        self._reset()
        after_fork_in_child(self._reset)

    def _reset(self) -> None:
        """Forget the current file; a forked process leaves it to its parent."""
        self._lock = threading.Lock()
        self._latest: tuple[str, BackgroundCall[None]] | None = None

    def start(self, path: str, write: Callable[[], None]) -> None:
        """Call `write` in a thread, after waiting for the file before, whose error is raised."""
        call = BackgroundCall(f"saving {path}", write)
        while True:
            self.wait()
            with self._lock:
                if self._latest is None:
                    start_or_run(call)
                    self._latest = os.path.realpath(path), call
                    return

    def wait(self) -> None:
        """Wait until the file is written; raise its error, once."""
        latest = self._latest
        if latest is None:
            return
        path, call = latest
        call.done.wait()
        with self._lock:
            if self._latest is not latest:
                return  # another thread has waited too, and raises the error
            self._latest = None
        if call.error is not None:
            call.error.add_note(f"This happened while '{path}' was saved in the background.")
            raise call.error

    def wait_for(self, path: str) -> None:
        """Wait while the file at `path` is being written; `wait` raises its error."""
        latest = self._latest
        if latest is not None and latest[0] == os.path.realpath(path):
            latest[1].done.wait()

    def is_writing(self) -> bool:
        """Return whether a file is being written."""
        latest = self._latest
        return latest is not None and not latest[1].done.is_set()


background: AsyncCheckpointWriter = AsyncCheckpointWriter()
# Python waits for the program's threads before it calls this, which then prints an error that was
# not raised before.
atexit.register(background.wait)
