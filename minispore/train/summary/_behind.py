"""Work done behind the program's back, in its order, by one thread.

What has to be computed for a summary, pictures and histograms, takes longer than a training step
may wait. The thread is the executor's of the standard library, which finishes its work before the
program ends; more than a few tasks in waiting make the program wait, so memory is bounded.

Tasks are done a few at a time. One alone finds none of its code and tables in the processor's
caches, which the training has filled with its own, and takes twice as long as the next one.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Event, get_ident
from typing import Final

from minispore._threads import Task, executor

_MOST_WAITING: Final = 8
# Seconds for which a task waits for others.
_PAUSE: Final = 0.5


class Behind:
    """A thread and its tasks, each of which returns what there is to warn about."""

    def __init__(self) -> None:
        self._executor = executor("summary")
        self._waiting: deque[Task[list[str]]] = deque()
        self._together = 0  # tasks since the last pause
        self._enough = Event()

    def do(self, task: Callable[[], list[str]]) -> list[str]:
        """Have `task` done.

        Returns:
            The warnings of tasks that have been done since the last call.

        Raises:
            Exception: One of these tasks raised it; the one that is handed over is done anyway.
        """
        if not self._waiting or self._waiting[-1].done():
            self._together = 0
            self._enough.clear()
            self._executor.submit(partial(self._pause, get_ident()))
        self._waiting.append(self._executor.submit(task))
        self._together += 1
        if self._together == _MOST_WAITING:
            self._enough.set()
        return self._collect(_MOST_WAITING)

    def wait(self) -> list[str]:
        """Wait for all tasks; return and raise as `do`."""
        self._enough.set()
        return self._collect(0)

    def end(self) -> list[str]:
        """Wait for all tasks and end the thread; return and raise as `do`."""
        try:
            return self.wait()
        finally:
            self._executor.shutdown()

    def _pause(self, caller: int) -> None:
        """Wait for more tasks, unless there are no threads and the program is waiting for this."""
        if get_ident() != caller:
            self._enough.wait(_PAUSE)

    def _collect(self, most: int) -> list[str]:
        warnings: list[str] = []
        errors: list[BaseException] = []
        while self._waiting and (len(self._waiting) > most or self._waiting[0].done()):
            future = self._waiting.popleft()
            error = future.exception()
            if error is None:
                warnings += future.result()
            else:
                errors.append(error)
        if errors:
            # Later ones follow from the first as a rule.
            raise errors[0]
        return warnings
