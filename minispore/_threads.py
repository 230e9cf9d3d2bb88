"""Work beside the program; where there is nothing beside it, the work is done at once.

Under WebAssembly, as in a browser, Python has threads that cannot be started. What minispore would
leave to a thread, it then does itself before it goes on, with the same result.
"""

import os
from collections.abc import Callable
from threading import Lock, Thread
from typing import Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Task(Protocol[T_co]):
    """What is asked of a future of the standard library."""

    def done(self) -> bool: ...
    def result(self) -> T_co: ...
    def exception(self) -> BaseException | None: ...


class Executor(Protocol):
    """What is asked of an executor of the standard library."""

    def submit(self, task: Callable[[], T], /) -> Task[T]: ...
    def shutdown(self, wait: bool = True) -> None: ...


def start(thread: Thread) -> bool:
    """Start a thread; where none can be started, do its work.

    Returns:
        Whether it was started.

    Examples:
        >>> thread = Thread(target=print, args=["beside, or at once"])
        >>> if start(thread):
        ...     thread.join()
        beside, or at once
    """
    try:
        thread.start()
    except RuntimeError:  # Python has no narrower error for it
        thread.run()
        return False
    return True


def executor(name: str) -> Executor:
    """An executor with one thread; where none can be started, one that does each task at once.

    Examples:
        >>> one = executor("example")
        >>> one.submit(lambda: 2 + 2).result()
        4
        >>> one.shutdown()
    """
    from concurrent.futures import ThreadPoolExecutor

    # The standard library's would tell it too late: it keeps the task that it has not begun.
    attempt = Thread(target=_nothing)
    if not start(attempt):
        return _AtOnce()
    attempt.join()
    return ThreadPoolExecutor(1, name)


def fork_safe_lock() -> Lock:
    """Return a lock for which a fork waits, so that no other thread holds it in the new process."""
    lock = Lock()
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock


def after_fork_in_child(reset: Callable[[], None]) -> None:
    """Call `reset` in each forked process: it has none of this one's other threads."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=reset)


def _nothing() -> None:
    """What a thread does that is started to see whether one can be."""


class _AtOnce:
    """An executor without threads."""

    def submit(self, task: Callable[[], T], /) -> Task[T]:
        """Do a task."""
        from concurrent.futures import Future

        future: Future[T] = Future()
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True) -> None:
        """Nothing is left to be done."""
