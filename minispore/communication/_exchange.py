"""What the processes tell one another: sums of arrays, the first one's values, small agreements.

Every function here is a meeting: all processes must call it, in the same order.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from minispore.common.parallel import ParallelMode, get_auto_parallel_context
from minispore.communication._watch import end_unless_all_fail
from minispore.communication._world import get_rank, the_world

Array = npt.NDArray[np.generic]
T = TypeVar("T")

# Arrays travel together in buffers of about so many bytes. Each message is a wait for the slowest
# process; beyond a few megabytes there is nothing to be gained, and only more memory to be held.
# benchmarks/parallel.py compares.
BUFFER: Final = 1 << 22
# MPI has no type of half precision; and a sum is better in more.
_TRAVELS_AS: Final["dict[np.dtype[np.generic], np.dtype[np.generic]]"] = {
    np.dtype(np.float16): np.dtype(np.float32)
}


def is_data_parallel(owner: str) -> bool:
    """Whether this program trains together with others.

    Raises:
        RuntimeError: It was told to, and has not joined them.
    """
    if get_auto_parallel_context("parallel_mode") == ParallelMode.STAND_ALONE:
        return False
    the_world(owner)
    return True


def is_first() -> bool:
    """Whether this process is the one that writes and prints: the first, or the only one."""
    return get_rank() == 0


def sums(arrays: Sequence[Array], *, buffer: int = BUFFER) -> list[Array]:
    """The sum over the processes of each array, in new memory.

    Args:
        arrays: In each process as many, of the same shapes and types.
        buffer: How many bytes travel together; a larger array travels alone.
    """
    world = the_world("sums")
    found: dict[int, Array] = {}
    for kind, places in _buffers(arrays, buffer):
        flat = np.empty(sum(arrays[i].size for i in places), _TRAVELS_AS.get(kind, kind))
        end = 0
        for i in places:
            start, end = end, end + arrays[i].size
            flat[start:end].reshape(arrays[i].shape)[...] = arrays[i]
        with world.watch:
            world.everyone.Allreduce(world.mpi.IN_PLACE, flat, world.mpi.SUM)
        flat = flat.astype(kind, copy=False)
        end = 0
        for i in places:
            start, end = end, end + arrays[i].size
            found[i] = flat[start:end].reshape(arrays[i].shape)
    return [found[i] for i in range(len(arrays))]


def spread(arrays: Sequence[Array]) -> list[Array]:
    """The first process's values of each array, in new memory."""
    world = the_world("spread")
    values: list[Array] = []
    for array in arrays:
        flat = np.frombuffer(bytearray(np.ascontiguousarray(array).tobytes()), np.uint8)
        with world.watch:
            world.everyone.Bcast(flat, root=0)
        values.append(flat.view(array.dtype).reshape(array.shape))
    return values


def gathered(value: T) -> list[T]:
    """Everybody's value, in the order of the processes."""
    world = the_world("gathered")
    with world.watch:
        return cast("list[T]", world.everyone.allgather(value))


def of_the_first(value: T) -> T:
    """The first process's value."""
    world = the_world("of_the_first")
    with world.watch:
        return cast("T", world.everyone.bcast(value, root=0))


def highest(number: int) -> int:
    """The highest of everybody's numbers."""
    world = the_world("highest")
    numbers = np.array([number], np.int64)
    with world.watch:
        world.everyone.Allreduce(world.mpi.IN_PLACE, numbers, world.mpi.MAX)
    return int(numbers[0])


def fail_together(error: BaseException) -> None:
    """Return if all processes have failed; if only some have, tell the error and end them all."""
    world = the_world("fail_together")
    end_unless_all_fail(world.failing, world.rank, world.size, error)


def _buffers(
    arrays: Sequence[Array], most: int
) -> Iterator[tuple["np.dtype[np.generic]", list[int]]]:
    """Which arrays travel together: of one type, and neighbours among these."""
    kinds = dict.fromkeys(array.dtype for array in arrays)
    for kind in kinds:
        places: list[int] = []
        size = 0
        for i, array in enumerate(arrays):
            if array.dtype != kind:
                continue
            if places and size + array.nbytes > most:
                yield kind, places
                places, size = [], 0
            places.append(i)
            size += array.nbytes
        if places:
            yield kind, places
