"""Deferred tasks: executed in order, a few at a time, within one second.

Making images and histograms directly after each step takes twice as long, since the training has
filled the processor caches with its own code and data. So tasks are collected, and the program
executes a few of them in a row.

A background thread executes only tasks that are not followed by others in time. It belongs to an
executor of the standard library, which completes its work before the program ends. Leaving all
tasks to the thread takes longer, since a training uses all processors for its matrix products.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, RLock, get_ident
from time import monotonic
from typing import Final, TypeAlias

from minispore.utils.threads import make_executor

_Task: TypeAlias = Callable[[], list[str]]

# Tasks are executed when there are so many, when they hold so many bytes, or when another one is
# submitted after so many seconds; if none is submitted, the thread executes them after the delay.
_MAX_TASKS: Final = 32
_MAX_BYTES: Final = 2**24
_PAUSE: Final = 0.5
_MAX_DELAY: Final = 1.0


class DeferredWriter:
    """A queue of deferred tasks, each of which returns warnings."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._executor = make_executor("summary")
        self._queue: deque[tuple[float, _Task]] = deque()  # with the time of submission
        self._queued_bytes = 0
        self._started: list[_Task] = []
        self._outcomes: deque[list[str] | Exception] = deque()  # not yet returned to a caller
        self._watched = False  # whether the thread waits for the delay of the queue
        # Reentrant, since a signal handler may call these methods in a thread that holds a lock.
        self._queue_lock, self._work_lock = RLock(), RLock()
        self._closing = Event()

    def submit(self, task: _Task, size: int = 0) -> list[str]:
        """Defer `task`, which holds `size` bytes of memory until it is executed.

        Returns:
            The warnings of the tasks that were executed since the last call.

        Raises:
            Exception: One of these tasks raised it; the submitted task is deferred nevertheless.
            OSError: This is a forked process; the task is not accepted.
        """
        if self._is_forked():
            raise OSError("a forked process must make a SummaryRecord of its own")
        now = monotonic()
        with self._queue_lock:
            self._queue.append((now, task))
            self._queued_bytes += size
            full = len(self._queue) >= _MAX_TASKS or self._queued_bytes >= _MAX_BYTES
            due = full or now - self._queue[0][0] >= _PAUSE
            watched, self._watched = self._watched, True
        if not watched:
            self._executor.submit(partial(self._watch, get_ident()))
        return self.flush() if due else self._take_outcomes()

    def flush(self) -> list[str]:
        """Execute all tasks now; return and raise as `submit` does."""
        if self._is_forked():
            return []
        self._work()
        return self._take_outcomes()

    def close(self) -> list[str]:
        """Execute all tasks and end the thread; return and raise as `submit` does."""
        if self._is_forked():
            return []
        self._closing.set()
        try:
            return self.flush()
        finally:
            # The queue is empty, and the thread may be waiting for a lock that this one holds.
            self._executor.shutdown(wait=False)

    def _is_forked(self) -> bool:
        """Return whether this is a forked process: only its parent has the thread and the files."""
        return self._pid != os.getpid()

    def _watch(self, caller: int) -> None:
        """Execute the queue after its delay; at once if no thread can be started."""
        while True:
            with self._queue_lock:
                since = self._queue[0][0] if self._queue else 0.0
                delay = since + _MAX_DELAY - monotonic()
                if delay <= 0 or self._closing.is_set() or get_ident() == caller:
                    self._watched = False
                    break
            self._closing.wait(delay)
        self._work()

    def _work(self) -> None:
        """Execute the queue, after another thread that does so has finished.

        Tasks that KeyboardInterrupt interrupts are executed again, some of them twice.
        """
        with self._work_lock:
            with self._queue_lock:
                self._started += [task for _, task in self._queue]
                self._queue.clear()
                self._queued_bytes = 0
            try:
                self._outcomes.append(run_all(self._started))
            except Exception as error:
                self._outcomes.append(error)
            self._started = []

    def _take_outcomes(self) -> list[str]:
        outcomes = [self._outcomes.popleft() for _ in range(len(self._outcomes))]
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [text for texts in outcomes if isinstance(texts, list) for text in texts]


def run_all(tasks: Iterable[_Task]) -> list[str]:
    """Execute all tasks and return their warnings; raise the first error, which causes the rest."""
    warnings: list[str] = []
    errors: list[Exception] = []
    for task in tasks:
        try:
            warnings += task()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return warnings
