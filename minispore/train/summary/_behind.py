"""Work that can wait: done in its order, a few tasks at a time, a second later at most.

What has to be computed for a summary, pictures and histograms, would take twice as long directly
after each step: the training has filled the processor's caches with its own code and numbers. So
tasks wait for others, and the program does a few of them in a row.

A thread does only those that find no others in time. It is the executor's of the standard library,
which finishes its work before the program ends. To leave all to the thread takes longer: a training
uses every processor, and the threads of its matrix products do not rest between two of them.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, RLock, get_ident
from time import monotonic
from typing import Final, TypeAlias

from minispore._threads import executor

_Work: TypeAlias = Callable[[], list[str]]

# Tasks wait for others until there are so many, or they hold so many bytes, or another one comes
# after so many seconds; where no other comes, the thread does them.
_ENOUGH: Final = 32
_MUCH: Final = 2**24
_PAUSE: Final = 0.5
_LATEST: Final = 1.0


class Behind:
    """Tasks that wait, each of which returns what there is to warn about."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._executor = executor("summary")
        self._waiting: deque[tuple[float, _Work]] = deque()  # with the time since when
        self._held = 0  # the bytes of those that wait
        self._begun: list[_Work] = []
        self._outcomes: deque[list[str] | Exception] = deque()  # that nobody has been told yet
        self._watched = False  # whether the thread has an eye on those that wait
        # A signal's handler may come here while its thread is here already.
        self._watching, self._working = RLock(), RLock()
        self._ended = Event()

    def do(self, task: _Work, size: int = 0) -> list[str]:
        """Have `task` done, which holds `size` bytes of memory until then.

        Returns:
            The warnings of tasks that have been done since the last call.

        Raises:
            Exception: One of these tasks raised it; the one that is handed over is done anyway.
            OSError: This is a forked process; nothing is done.
        """
        if self._is_forked():
            raise OSError("a forked process must make a SummaryRecord of its own")
        now = monotonic()
        with self._watching:
            self._waiting.append((now, task))
            self._held += size
            many = len(self._waiting) >= _ENOUGH or self._held >= _MUCH
            enough = many or now - self._waiting[0][0] >= _PAUSE
            watched, self._watched = self._watched, True
        if not watched:
            self._executor.submit(partial(self._watch, get_ident()))
        return self.wait() if enough else self._told()

    def wait(self) -> list[str]:
        """Have all tasks done now; return and raise as `do`."""
        if self._is_forked():
            return []
        self._work()
        return self._told()

    def end(self) -> list[str]:
        """Have all tasks done and end the thread; return and raise as `do`."""
        if self._is_forked():
            return []
        self._ended.set()
        try:
            return self.wait()
        finally:
            # Nothing is left for the thread, and it may be waiting for this one.
            self._executor.shutdown(wait=False)

    def _is_forked(self) -> bool:
        """Whether this is a forked process, whose parent has the thread and the files."""
        return self._pid != os.getpid()

    def _watch(self, caller: int) -> None:
        """Do what has waited long enough; at once if there are no threads."""
        while True:
            with self._watching:
                since = self._waiting[0][0] if self._waiting else 0.0
                left = since + _LATEST - monotonic()
                if left <= 0 or self._ended.is_set() or get_ident() == caller:
                    self._watched = False
                    break
            self._ended.wait(left)
        self._work()

    def _work(self) -> None:
        """Do all that is waiting, behind whoever is doing so.

        What Ctrl-C interrupts is done again: rather twice than not at all.
        """
        with self._working:
            with self._watching:
                self._begun += [task for _, task in self._waiting]
                self._waiting.clear()
                self._held = 0
            try:
                self._outcomes.append(gathered(self._begun))
            except Exception as error:
                self._outcomes.append(error)
            self._begun = []

    def _told(self) -> list[str]:
        outcomes = [self._outcomes.popleft() for _ in range(len(self._outcomes))]
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return [text for texts in outcomes if isinstance(texts, list) for text in texts]


def gathered(works: Iterable[_Work]) -> list[str]:
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
