"""What the processes tell one another: sums of arrays, the first one's values, small agreements.

Every function here is a meeting: all processes must call it, in the same order.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Final, TypeVar, cast
from zlib import crc32

import numpy as np

from minispore._array import Array, as_buffer, device_namespace, is_host, to_host
from minispore.common.parallel import ParallelMode, get_auto_parallel_context
from minispore.communication._watch import end_unless_all_fail
from minispore.communication._world import GlobalComm, World, get_rank, the_world

T = TypeVar("T")

# Arrays travel together in buffers of about so many bytes. Each message is a wait for the slowest
# process; beyond a few megabytes there is nothing to be gained, and only more memory to be held.
# benchmarks/parallel.py compares.
BUFFER: Final = 1 << 22
# MPI has no type of half precision; and a sum is better in more.
_TRAVELS_AS: Final["dict[np.dtype[np.generic], np.dtype[np.generic]]"] = {
    np.dtype(np.float16): np.dtype(np.float32)
}

# How many differences an error shows, and how many characters of what differs.
_SHOWN: Final = 5
_LONGEST: Final = 200

# Who is called in this process alone, and so must not begin a meeting.
_lone: "ContextVar[str | None]" = ContextVar("lone", default=None)


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


@contextmanager
def by_itself(who: str) -> Generator[None, None, None]:
    """While something is called that the others do not call: it is refused what all do together."""
    token = _lone.set(who)
    try:
        yield
    finally:
        _lone.reset(token)


def travels_as(array: Array) -> "np.dtype[np.generic]":
    """The type in which arrays of this one's are summed."""
    kind = cast("np.dtype[np.generic]", array.dtype)
    return _TRAVELS_AS.get(kind, kind)


def at_hand(arrays: Sequence[Array]) -> list[Array]:
    """The arrays where MPI can take them from: as they are, or all of them on the host."""
    if not GlobalComm.INITED or (GlobalComm.CUDA_AWARE and not any(map(is_host, arrays))):
        return list(arrays)
    return [cast("Array", to_host(array)) for array in arrays]


def sums(arrays: Sequence[Array], weight: float = 1.0, *, buffer: int = BUFFER) -> list[Array]:
    """The sum over the processes of each array, in new memory, of the type in which it travels.

    Args:
        arrays: In each process as many, of the same shapes and types; `at_hand`.
        weight: What this process's arrays are multiplied by.
        buffer: How many bytes travel together; a larger array travels alone.
    """
    world = _meeting("sums")
    found: dict[int, Array] = {}
    sizes = [prod(array.shape) for array in arrays]
    for kind, places in _buffers([travels_as(array) for array in arrays], sizes, buffer):
        library = device_namespace(arrays[places[0]])
        flat = library.empty((sum(sizes[i] for i in places),), kind)
        end = 0
        for i in places:
            start, end = end, end + sizes[i]
            found[i] = library.reshape(flat[start:end], arrays[i].shape)
            library.assign(found[i], (...,), arrays[i])
        if weight != 1:
            library.multiply(flat, weight, out=flat)
        message = as_buffer(flat)
        with world.watch:
            world.everyone.Allreduce(world.mpi.IN_PLACE, message, world.mpi.SUM)
    return [found[i] for i in range(len(arrays))]


def spread(arrays: Sequence[Array]) -> list[Array]:
    """The first process's values of each array, in new memory."""
    world = _meeting("spread")
    found: list[Array] = []
    for given in arrays:
        (array,) = at_hand([given])
        library = device_namespace(array)
        values = library.empty(array.shape, array.dtype)
        library.copyto(values, array)
        message = [as_buffer(values), world.mpi.BYTE]
        with world.watch:
            world.everyone.Bcast(message, root=0)
        found.append(values)
    return found


def gathered(value: T) -> list[T]:
    """Everybody's value, in the order of the processes."""
    world = _meeting("gathered")
    with world.watch:
        return cast("list[T]", world.everyone.allgather(value))


def of_the_first(value: T) -> T:
    """The first process's value."""
    world = _meeting("of_the_first")
    with world.watch:
        return cast("T", world.everyone.bcast(value, root=0))


def highest(number: int) -> int:
    """The highest of everybody's numbers."""
    world = _meeting("highest")
    numbers = np.array([number], np.int64)
    with world.watch:
        world.everyone.Allreduce(world.mpi.IN_PLACE, numbers, world.mpi.MAX)
    return int(numbers[0])


def check_alike(owner: str, described: Mapping[str, str]) -> None:
    """Compare descriptions of settings, by name, with those of the other processes.

    Raises:
        ValueError: In all processes, and it names what differs and where.
    """
    if len(set(gathered(crc32(repr(described).encode())))) == 1:
        return
    everybody = gathered(described)
    found: list[str] = []
    for name in dict.fromkeys(name for each in everybody for name in each):
        ranks: dict[str, list[int]] = {}
        for rank, each in enumerate(everybody):
            ranks.setdefault(each.get(name, "nothing"), []).append(rank)
        if len(ranks) > 1:
            texts = [f"{text:.{_LONGEST}} in {processes(of)}" for text, of in ranks.items()]
            found.append(f"'{name}' is {' and '.join(texts)}")
    raise ValueError(
        f"For '{owner}', settings must be the same in all processes, but {shortened(found, '; ')}."
    )


def described_setting(value: object) -> str:
    """Describe a setting: by its class unless it is a number, a text or a row of them."""
    if isinstance(value, np.ndarray | np.generic):
        return repr(cast("object", value.tolist()))
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(described_setting, cast('Sequence[object]', value)))}]"
    plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if plain else type(value).__qualname__


def processes(ranks: Sequence[int]) -> str:
    """Name processes in an error."""
    return f"process{'es' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def shortened(texts: Sequence[str], separator: str) -> str:
    """Join the first of these texts, and say how many more there are."""
    rest = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return separator.join(texts[:_SHOWN]) + rest


def fail_together(error: BaseException) -> None:
    """Return if all processes have failed; if only some have, tell the error and end them all."""
    world = the_world("fail_together")
    end_unless_all_fail(world.failing, world.rank, world.size, error)


def _meeting(owner: str) -> World:
    who = _lone.get()
    if who is not None:
        raise RuntimeError(
            f"{who} is called in one process only, since its 'chief_only' is True, but it begins "
            "what all processes do together, such as Model.eval. The others would never come: set "
            "its 'chief_only' to False."
        )
    return the_world(owner)


def _buffers(
    kinds: "Sequence[np.dtype[np.generic]]", sizes: Sequence[int], most: int
) -> Iterator[tuple["np.dtype[np.generic]", list[int]]]:
    """Which arrays travel together: as one type, and neighbours among these."""
    for kind in dict.fromkeys(kinds):
        places: list[int] = []
        size = 0
        for i, length in enumerate(sizes):
            if kinds[i] != kind:
                continue
            added = length * kind.itemsize
            if places and size + added > most:
                yield kind, places
                places, size = [], 0
            places.append(i)
            size += added
        yield kind, places
