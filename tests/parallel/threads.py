"""Processes that train together, played by threads: as many as a test likes, and at once."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from threading import Barrier, BrokenBarrierError, local
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore.communication import GlobalComm, _world

T = TypeVar("T")
# Seconds; threads that wait for longer do not do the same.
LIMIT = 5


class Crowd:
    """The communicator of as many threads, and the world that they are told."""

    mpi = SimpleNamespace(IN_PLACE=None, SUM=np.add, MAX=np.maximum, BYTE=None)
    watch: "nullcontext[None]" = nullcontext()

    def __init__(self, size: int) -> None:
        self.size = size
        self._here = local()
        self._barrier = Barrier(size, timeout=LIMIT)
        self._said: list[object] = [None] * size

    @property
    def everyone(self) -> "Crowd":
        return self

    @property
    def failing(self) -> "Crowd":
        return self

    @property
    def rank(self) -> int:
        return cast("int", getattr(self._here, "rank", 0))

    def Ibarrier(self) -> "Crowd":
        return self

    def Test(self) -> bool:
        return True

    def allgather(self, value: object) -> list[Any]:
        self._said[self.rank] = value
        self._barrier.wait()
        found = list(self._said)
        self._barrier.wait()
        return found

    def bcast(self, value: object, root: int) -> object:
        return self.allgather(value)[root]

    def Bcast(self, buffer: "tuple[npt.NDArray[np.generic], None]", root: int) -> None:
        values, _ = buffer
        values[...] = self.allgather(values.copy())[root]

    def Allreduce(self, _: None, values: "npt.NDArray[np.generic]", op: np.ufunc) -> None:
        found = self.allgather(values.copy())
        assert len({(each.shape, each.dtype) for each in found}) == 1
        values[...] = op.reduce(found)

    def enter(self, rank: int) -> None:
        """This thread is the process of that number."""
        self._here.rank = rank

    def leave(self) -> None:
        """Nobody shall wait for this one."""
        self._barrier.abort()


def play(size: int, program: Callable[[int], T]) -> list[T]:
    """What so many processes that train together return; what the first of them raises.

    Threads share the program's random streams, so the program must not draw from them.
    """
    crowd = Crowd(size)
    errors: list[BaseException] = []

    def part(rank: int) -> T | None:
        crowd.enter(rank)
        try:
            return program(rank)
        except BaseException as error:
            if not isinstance(error, BrokenBarrierError):
                errors.append(error)
            crowd.leave()
            return None

    with _together(crowd), ThreadPoolExecutor(size) as pool:
        found = list(pool.map(part, range(size)))
    if errors:
        raise errors[0]
    return cast("list[T]", found)


@contextmanager
def _together(crowd: Crowd) -> Generator[None, None, None]:
    _world._world.append(cast("_world.World", crowd))
    GlobalComm.INITED = True
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    try:
        yield
    finally:
        ms.reset_auto_parallel_context()
        GlobalComm.INITED = False
        _world._world.clear()
