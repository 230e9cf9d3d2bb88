"""Work done behind the program's back, in its order, by one thread.

What has to be computed for a summary, pictures and histograms, takes longer than a training step
may wait. The thread is the executor's of the standard library, which finishes its work before the
program ends; more than a few tasks in waiting make the program wait, so memory is bounded.

Tasks are done a few at a time. One alone finds none of its code and tables in the processor's
caches, which the training has filled with its own, and takes twice as long as the next one; and
waking the thread takes the program as long as preparing a task.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Event, Lock, get_ident
from typing import Final, TypeAlias

from minispore._threads import Task, executor

_Work: TypeAlias = Callable[[], list[str]]

_MOST_WAITING: Final = 8
# Seconds for which a task waits for others.
_PAUSE: Final = 0.5


class Behind:
    """A thread and its tasks, each of which returns what there is to warn about."""

    def __init__(self) -> None:
        self._executor = executor("summary")
        self._waiting: list[_Work] = []
        self._lock = Lock()
        self._enough = Event()
        self._batches: deque[Task[list[str]]] = deque()  # begun, or waiting for enough tasks

    def do(self, task: _Work) -> list[str]:
        """Have `task` done.

        Returns:
            The warnings of tasks that have been done since the last call.

        Raises:
            Exception: One of these tasks raised it; the one that is handed over is done anyway.
        """
        if len(self._waiting) >= _MOST_WAITING:
            self._batches[-1].exception()  # waits until they are done
        with self._lock:
            self._waiting.append(task)
            number = len(self._waiting)
        if number == 1:
            self._enough.clear()
            self._batches.append(self._executor.submit(partial(self._batch, get_ident())))
        elif number == _MOST_WAITING:
            self._enough.set()
        return self._collect()

    def wait(self) -> list[str]:
        """Wait for all tasks; return and raise as `do`."""
        self._enough.set()
        if self._batches:
            self._batches[-1].exception()
        return self._collect()

    def end(self) -> list[str]:
        """Wait for all tasks and end the thread; return and raise as `do`."""
        try:
            return self.wait()
        finally:
            self._executor.shutdown()

    def _batch(self, caller: int) -> list[str]:
        """Wait for more tasks, unless there are no threads and the program is waiting; do them."""
        if get_ident() != caller:
            self._enough.wait(_PAUSE)
        with self._lock:
            tasks, self._waiting = self._waiting, []
        return _gathered(tasks)

    def _collect(self) -> list[str]:
        done: list[_Work] = []
        while self._batches and self._batches[0].done():
            done.append(self._batches.popleft().result)
        return _gathered(done)


def _gathered(works: list[_Work]) -> list[str]:
    """Do all and tell what they tell; the first error is raised: later ones follow from it."""
    warnings: list[str] = []
    errors: list[Exception] = []
    for work in works:
        try:
            warnings += work()
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return warnings
