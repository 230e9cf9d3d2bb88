"""Worker processes, which compute the blocks of a `map` or a source ahead of the iterator."""

import inspect
import os
import pickle
import signal
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from threading import Thread
from types import FunctionType
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import numpy as np

from minispore.common.seed import get_rng_state, set_rng_state
from minispore.dataset._node import Block, Node, Stateful, name_of, user_code_of
from minispore.utils.warn import warn_at_caller

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")
# The blocks of a task, and the exception that ended it; None if random numbers were drawn.
Result = tuple[list[Block], Exception | None] | None

# Tasks begun ahead of the iterator, for each worker: one to work on, and one that waits.
_TASKS_AHEAD: Final = 2
_DRAWS: Final = "draws random numbers, which depend on the order of calls"
# Instead of an exception of the tasks: they draw random numbers in the parent process.
_DRAWN: Final = RuntimeError()


class WorkerPool(Generic[T]):
    """The worker processes of one node and one iterator; they start with the first task.

    The parent process hands out the tasks in order, and takes the results in the same order, so the
    rows are those that `work` would yield in the parent. The processes end with `close`, when the
    pool is deleted, and when the parent dies.

    Args:
        work: Returns the blocks of a task, which must depend on the task only.
        workers: The number of processes.
        caller: The method or class of the user's call, for messages.
    """

    def __init__(self, work: Callable[[T], Iterable[Block]], workers: int, caller: str) -> None:
        self._work = work
        self._workers = workers
        self._caller = caller
        self._executor: ProcessPoolExecutor | None = None
        self._end: Callable[[], object] = tuple

    def run(self, tasks: Iterator[T]) -> Iterator[Iterable[Block]]:
        """Yield the blocks of each task; tasks are taken ahead, but never more than a few.

        An exception of `tasks` is raised where it would be without working ahead. If a task draws
        from a random stream of the program, its result is discarded, and it and the later ones are
        done in the parent process, one at a time, so that they draw the same numbers as there. And
        if `tasks` draws, so do no tasks after that run ahead.
        """
        from concurrent.futures.process import BrokenProcessPool  # not for every import

        pending: deque[tuple[T, Future[Result]]] = deque()
        failure: Exception | None = None
        try:
            while True:
                if failure is None:
                    failure = self._read_ahead(tasks, pending)
                if not pending:
                    break
                task, future = pending.popleft()
                result = future.result()
                if result is None:
                    warn_serial(self._caller, f"it {_DRAWS}")
                    yield self._work(task)
                    break
                yield _replay(*result)
            for task, future in pending:
                future.cancel()
                yield self._work(task)
            if failure is _DRAWN:
                warn_serial(self._caller, f"code before it {_DRAWS}")
            elif failure is not None:
                raise failure
            yield from map(self._work, tasks)
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"For '{self._caller}', a worker process ended before its rows were computed: it "
                "was killed, for instance for lack of memory, or it could not start."
            ) from error
        finally:
            for _, future in pending:
                future.cancel()

    def _read_ahead(
        self, tasks: Iterator[T], pending: "deque[tuple[T, Future[Result]]]"
    ) -> Exception | None:
        """Begin tasks; return why no more can be begun ahead, if that is so."""
        from concurrent.futures.process import BrokenProcessPool

        before = _random_state()
        try:
            for task in islice(tasks, _TASKS_AHEAD * self._workers - len(pending)):
                pending.append((task, self._submit(task)))
                if _random_state() != before:
                    return _DRAWN
        except BrokenProcessPool:
            raise
        except Exception as error:
            return error
        return None

    def close(self) -> None:
        """End the processes, after the tasks on which they work."""
        self._end()
        self._executor = None

    def _submit(self, task: T) -> "Future[Result]":
        if self._executor is None:
            self._executor = self._start()
            self._end = weakref.finalize(
                self, self._executor.shutdown, wait=False, cancel_futures=True
            )
        return self._executor.submit(_run_task, task)

    def _start(self) -> "ProcessPoolExecutor":
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context()
        if context.get_start_method() != "fork":
            try:
                pickle.dumps(self._work)
            except (AttributeError, TypeError, pickle.PicklingError) as error:
                raise RuntimeError(
                    f"For '{self._caller}', Python code for worker processes must be picklable, as "
                    "functions at the top of a module are, but lambdas and inner functions are "
                    f"not: {error}. Otherwise leave out 'python_multiprocessing'."
                ) from error
        return ProcessPoolExecutor(
            self._workers, context, _begin_worker, (self._work, get_rng_state())
        )


def _replay(blocks: list[Block], error: Exception | None) -> Iterator[Block]:
    yield from blocks
    if error is not None:
        raise error


def make_pool(
    work: Callable[[T], Iterable[Block]],
    workers: int,
    caller: str,
    node: Node,
    code: Iterable[object],
) -> WorkerPool[T] | None:
    """Return a pool; None with a warning if results would depend on where `code` runs.

    An object with a state is advanced by each row, also where it is only read ahead.
    """
    for each in user_code_of(node):
        if isinstance(each, Stateful):
            warn_serial(caller, f"'{name_of(each)}' has a state")
            return None
    for each in code:
        if _holds_generator(each):
            warn_serial(caller, f"'{name_of(each)}' {_DRAWS}")
            return None
    return WorkerPool(work, workers, caller)


def warn_serial(caller: str, reason: str) -> None:
    """Warn that the Python code of a node runs in the parent process."""
    warn_at_caller(
        f"For '{caller}', Python code runs in one process in spite of 'python_multiprocessing': "
        f"{reason}."
    )


def _holds_generator(code: object) -> bool:
    """Return whether a function or an object of the user refers to a random generator."""
    import random

    values: list[object] = []
    while isinstance(code, partial):
        values += [*code.args, *code.keywords.values()]
        code = code.func
    owner: object = getattr(code, "__self__", code)
    values += [owner, *getattr(owner, "__dict__", {}).values()]
    classes = inspect.getmro(owner if isinstance(owner, type) else type(owner))
    members = [member for each in classes for member in vars(each).values()]
    values += members
    for each in (code, *members):
        function: object = getattr(each, "__func__", each)
        if isinstance(function, FunctionType):
            scope = inspect.getclosurevars(function)
            values += [*scope.nonlocals.values(), *scope.globals.values()]
            values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    kinds = np.random.Generator, np.random.RandomState, random.Random
    return any(isinstance(value, kinds) for value in values)


def _random_state() -> bytes:
    """Return the state of the program's random streams, for comparison."""
    return pickle.dumps(get_rng_state())


# The code of a worker process: its work, and the state of its random streams before and after.


class _Worker(NamedTuple):
    work: Callable[..., Iterable[Block]]
    random_state: Mapping[str, object]
    unchanged: bytes


_worker: list[_Worker] = []  # of this process; empty in the parent


def _begin_worker(work: Callable[..., Iterable[Block]], random_state: Mapping[str, object]) -> None:
    # An interrupt is for the parent, which ends its workers. It may have handlers for both signals,
    # which a forked process inherits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    set_rng_state(random_state)
    _worker[:] = [_Worker(work, random_state, _random_state())]


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_task(task: object) -> Result:
    work, random_state, unchanged = _worker[0]
    blocks: list[Block] = []
    error = None
    try:
        blocks.extend(work(task))
    except Exception as raised:
        raised.add_note(f"In a worker process:\n{traceback.format_exc()}")
        error = raised
    if _random_state() == unchanged:
        return blocks, error
    set_rng_state(random_state)
    return None
