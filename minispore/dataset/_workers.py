"""Worker processes, which compute the blocks of a `map` or a source ahead of the iterator."""

import os
import pickle
import signal
import sys
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from itertools import islice
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from minispore.dataset._node import Block, Node, Stateful, name_of, user_code_of
from minispore.dataset._pickling import pickled
from minispore.ops.seed import get_rng_state, set_rng_state
from minispore.utils.warn import warn_at_caller

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

T = TypeVar("T")
# The blocks of a task, and the exception that ended it; or why the parent process has to do it.
Result = tuple[list[Block], Exception | None] | str

# Never a fork of this process, whose threads may hold locks at that moment.
_START_METHOD: Final = "forkserver" if sys.platform == "linux" else "spawn"
_PACKAGE: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
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
        function: The method or class of the user's call, for messages.
    """

    def __init__(self, work: Callable[[T], Iterable[Block]], workers: int, function: str) -> None:
        self._work = work
        self._workers = workers
        self._function = function
        self._executor: ProcessPoolExecutor | None = None
        self._end: Callable[[], object] = tuple

    def run(self, tasks: Iterator[T]) -> Iterator[Iterable[Block]]:
        """Yield the blocks of each task; tasks are taken ahead, but never more than a few.

        An exception of `tasks` is raised where it would be without working ahead. If a task draws
        from a random stream of the program, its result is discarded, and it and the later ones are
        done in the parent process, one at a time, so that they draw the same numbers as there. And
        if `tasks` draws, so do no tasks after that run ahead. The parent process also does the
        tasks if the work cannot be sent to another one.
        """
        from concurrent.futures.process import BrokenProcessPool  # not for every import

        if self._executor is None:
            try:
                self._start()
            except Exception as error:  # a method of the user may raise anything
                warn_serial(self._function, _not_sent(error))
                yield from map(self._work, tasks)
                return
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
                if isinstance(result, str):
                    warn_serial(self._function, result)
                    yield self._work(task)
                    break
                yield _replay(*result)
            for task, future in pending:
                future.cancel()
                yield self._work(task)
            if failure is _DRAWN:
                warn_serial(self._function, f"code before it {_DRAWS}")
            elif failure is not None:
                raise failure
            yield from map(self._work, tasks)
        except BrokenProcessPool as error:
            raise RuntimeError(
                f"For '{self._function}', a worker process ended before its rows were computed: it "
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
        assert self._executor is not None
        with _program_is_not_imported():
            return self._executor.submit(_run_task, task)

    def _start(self) -> None:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context(_START_METHOD)
        # Imported once, and not in each worker.
        context.set_forkserver_preload(
            ["concurrent.futures.process", "minispore.dataset._operations"]
        )
        begin = pickled(self._work), get_rng_state(), dict(os.environ)
        self._executor = ProcessPoolExecutor(self._workers, context, _begin_worker, begin)
        self._end = weakref.finalize(self, _shut_down, self._executor)


def _shut_down(executor: "ProcessPoolExecutor") -> None:
    # If a program exits while an executor ends, CPython 3.11 prints an `OSError`. In the executor's
    # own thread a pool may be deleted as garbage, and that thread cannot wait for itself.
    executor.shutdown(wait=current_thread() is main_thread(), cancel_futures=True)


def _replay(blocks: list[Block], error: Exception | None) -> Iterator[Block]:
    yield from blocks
    if error is not None:
        raise error


def make_pool(
    work: Callable[[T], Iterable[Block]], workers: int, function: str, node: Node
) -> WorkerPool[T] | None:
    """Return a pool; None with a warning if the user's code has a state.

    That is advanced by each row, also where it is only read ahead.
    """
    for code in user_code_of(node):
        if isinstance(code, Stateful):
            warn_serial(function, f"'{name_of(code)}' has a state")
            return None
    return WorkerPool(work, workers, function)


def warn_serial(function: str, reason: str) -> None:
    """Warn that the Python code of a node runs in the parent process."""
    warn_at_caller(
        f"For '{function}', Python code runs in one process in spite of 'python_multiprocessing': "
        f"{reason}."
    )


@contextmanager
def _program_is_not_imported() -> Generator[None]:
    """Let new processes import the program only if they need it, since it might run once more.

    `multiprocessing` does not import the module `__main__` of a package.
    """
    main = sys.modules["__main__"]
    before = main.__spec__
    main.__spec__ = ModuleSpec("__main__", None)
    try:
        yield
    finally:
        main.__spec__ = before


def _not_sent(error: Exception) -> str:
    return f"it cannot be sent to another process: {error}"


def _random_state() -> bytes:
    """Return the state of the program's random streams, for comparison."""
    return pickle.dumps(get_rng_state())


# The code of a worker process: its work, and the state of its random streams before and after.


class _Worker(NamedTuple):
    work: Callable[..., Iterable[Block]] | str  # or why there is none
    random_state: Mapping[str, object]
    unchanged: bytes


_worker: list[_Worker] = []  # of this process; empty in the parent


def _begin_worker(
    work: bytes, random_state: Mapping[str, object], environment: Mapping[str, str]
) -> None:
    # An interrupt is for the parent, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    os.environ.update(environment)
    sent: Callable[..., Iterable[Block]] | str
    try:
        sent = pickle.loads(work)  # noqa: S301 (of the parent process)
    except Exception as error:
        sent = _not_sent(error)
    set_rng_state(random_state)
    _worker[:] = [_Worker(sent, random_state, _random_state())]


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_task(task: object) -> Result:
    work, random_state, unchanged = _worker[0]
    if isinstance(work, str):
        return work
    blocks: list[Block] = []
    error = None
    try:
        blocks.extend(work(task))
    except Exception as raised:
        # Where the user's code raised its exception, which is not sent along.
        frames = traceback.extract_tb((raised.__cause__ or raised).__traceback__)
        outside = [frame for frame in frames if not frame.filename.startswith(_PACKAGE)]
        lines = "".join(traceback.format_list(outside or frames))
        raised.add_note(f"In a worker process:\n{lines.rstrip()}")
        error = raised
    if _random_state() == unchanged:
        return blocks, error
    set_rng_state(random_state)
    return f"it {_DRAWS}"
