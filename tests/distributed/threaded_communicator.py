"""Simulated processes of a data-parallel training, each in a thread."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from threading import Barrier, BrokenBarrierError, local
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore.communication import GlobalComm, _group, _world

T = TypeVar("T")
# Seconds; a longer wait means that the threads do not call the same collectives.
LIMIT = 5


class ThreadedCommunicator:
    """The communicator and the group of several threads."""

    mpi = SimpleNamespace(IN_PLACE=None, SUM=np.add, MAX=np.maximum, BYTE=None)
    watchdog: "nullcontext[None]" = nullcontext()

    def __init__(self, size: int) -> None:
        self.size = size
        self._here = local()
        self._barrier = Barrier(size, timeout=LIMIT)
        self._values: list[object] = [None] * size

    @property
    def comm(self) -> "ThreadedCommunicator":
        return self

    @property
    def error_comm(self) -> "ThreadedCommunicator":
        return self

    @property
    def rank(self) -> int:
        rank: int = getattr(self._here, "rank", 0)
        return rank

    def Ibarrier(self) -> "ThreadedCommunicator":
        return self

    def Test(self) -> bool:
        return True

    def allgather(self, value: object) -> list[Any]:
        self._values[self.rank] = value
        self._barrier.wait()
        values = list(self._values)
        self._barrier.wait()
        return values

    def bcast(self, value: object, root: int) -> object:
        return self.allgather(value)[root]

    def Bcast(self, buffer: "tuple[npt.NDArray[np.generic], None]", root: int) -> None:
        values, _ = buffer
        values[...] = self.allgather(values.copy())[root]

    def Allreduce(self, _: None, values: "npt.NDArray[np.generic]", op: np.ufunc) -> None:
        gathered = self.allgather(values.copy())
        assert len({(array.shape, array.dtype) for array in gathered}) == 1
        values[...] = op.reduce(gathered)

    def enter(self, rank: int) -> None:
        self._here.rank = rank

    def leave(self) -> None:
        """Let waits for this thread raise BrokenBarrierError."""
        self._barrier.abort()


def run_in_threads(size: int, program: Callable[[int], T]) -> list[T]:
    """Return the results of simulated processes, or raise the first exception.

    Threads share the program's random streams, so the program must not draw from them.
    """
    communicator = ThreadedCommunicator(size)
    errors: list[BaseException] = []

    def run_rank(rank: int) -> T | None:
        communicator.enter(rank)
        try:
            return program(rank)
        except BaseException as error:
            if not isinstance(error, BrokenBarrierError):
                errors.append(error)
            communicator.leave()
            return None

    with _joined_world(communicator), ThreadPoolExecutor(size) as pool:
        results = list(pool.map(run_rank, range(size)))
    if errors:
        raise errors[0]
    return cast("list[T]", results)


@contextmanager
def _joined_world(communicator: ThreadedCommunicator) -> Generator[None, None, None]:
    _world._world.append(cast("_world.World", communicator))
    _group.members.append(communicator)
    GlobalComm.INITED = True
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    try:
        yield
    finally:
        ms.reset_auto_parallel_context()
        GlobalComm.INITED = False
        _world._world.clear()
        _group.members.clear()
