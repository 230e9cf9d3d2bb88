"""Background threads, and the same work in the calling thread where threads cannot be started.

Python has no threads under WebAssembly, for example in a browser. The work that minispore does
elsewhere in a background thread is then done synchronously, with the same result.
"""

import os
from collections.abc import Callable
from threading import Lock, Thread
from typing import Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Task(Protocol[T_co]):
    """The methods of `concurrent.futures.Future` that minispore uses."""

    def done(self) -> bool:
        """Return whether the task has finished."""
        ...

    def result(self) -> T_co:
        """Wait for the task and return its result, or raise its exception."""
        ...

    def exception(self) -> BaseException | None:
        """Wait for the task and return its exception, if it raised one."""
        ...


class Executor(Protocol):
    """The methods of `concurrent.futures.Executor` that minispore uses."""

    def submit(self, task: Callable[[], T], /) -> Task[T]:
        """Schedule a task."""
        ...

    def shutdown(self, wait: bool = True) -> None:
        """Accept no more tasks, and wait for those that are running."""
        ...


def start_or_run(thread: Thread) -> bool:
    """Start a thread or, if threads cannot be started, run its target in the calling thread.

    Args:
        thread: A thread that has not been started.

    Returns:
        Whether the thread was started.

    Examples:
        >>> thread = Thread(target=print, args=["in a thread or here"])
        >>> if start_or_run(thread):
        ...     thread.join()
        in a thread or here
    """
    try:
        thread.start()
    except RuntimeError:  # Python has no narrower class for this error
        thread.run()
        return False
    return True


def make_executor(name: str) -> Executor:
    """Return an executor with one thread, or a `SynchronousExecutor` if threads cannot be started.

    Args:
        name: The prefix of the thread's name.

    Returns:
        The executor.

    Examples:
        >>> executor = make_executor("example")
        >>> executor.submit(lambda: 2 + 2).result()
        4
        >>> executor.shutdown()
    """
    from concurrent.futures import ThreadPoolExecutor

    # A ThreadPoolExecutor would raise the error too late: when it has already queued a task.
    probe = Thread()
    if not start_or_run(probe):
        return SynchronousExecutor()
    probe.join()
    return ThreadPoolExecutor(1, name)


def fork_safe_lock() -> Lock:
    """Return a lock that `os.fork` acquires first, so that it is not held in the child process.

    Returns:
        A lock that is not held.

    Examples:
        >>> with fork_safe_lock() as acquired:
        ...     acquired
        True
    """
    lock = Lock()
    if hasattr(os, "register_at_fork"):  # pragma: no branch (Windows)
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock


def after_fork_in_child(reset: Callable[[], None]) -> None:
    """Call `reset` in each forked child process, which has no other threads of its parent.

    Args:
        reset: A function without arguments; there is no way to remove it later.

    Examples:
        >>> cache = [1, 2]
        >>> after_fork_in_child(cache.clear)
    """
    if hasattr(os, "register_at_fork"):  # pragma: no branch (Windows)
        os.register_at_fork(after_in_child=reset)


class SynchronousExecutor:
    """An executor that runs each task when it is submitted, in the calling thread.

    Examples:
        >>> SynchronousExecutor().submit(lambda: 2 + 2).result()
        4
    """

    def submit(self, task: Callable[[], T], /) -> Task[T]:
        """Run a task, and return a future that is done."""
        from concurrent.futures import Future

        future: Future[T] = Future()
        try:
            future.set_result(task())
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing: every task is done."""
