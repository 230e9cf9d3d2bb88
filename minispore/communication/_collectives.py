"""Collective operations over MPI: all-reduce, broadcast and gather.

All processes must call them in the same order.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from typing import Final, TypeVar, cast
from zlib import crc32

import numpy as np

from minispore.communication import _watchdog
from minispore.communication._group import GlobalComm
from minispore.communication._world import World, require_world
from minispore.engine.array import NUMPY_TYPES, Array, as_buffer, device_namespace, is_host, to_host
from minispore.utils.checks import caller, is_sequence

T = TypeVar("T")

# Arrays are sent in buckets of about this size, since each message waits for the slowest process.
# Larger buckets need more memory and are not faster (benchmarks/parallel.py).
BUCKET_BYTES: Final = 1 << 22
# The number of differences in an error, and the number of characters of a value.
_MAX_DIFFERENCES: Final = 5
_MAX_CHARACTERS: Final = 200

# The name of the callback that runs in this process only, and must not call a collective.
_local_callback: ContextVar[str | None] = ContextVar("local_callback", default=None)


@contextmanager
def forbid_collectives(callback: str) -> Generator[None, None, None]:
    """Let collectives raise an error in the block, while `callback` runs in this process only."""
    token = _local_callback.set(callback)
    try:
        yield
    finally:
        _local_callback.reset(token)


def wire_dtype(array: Array) -> "np.dtype[np.generic]":
    """Return the type in which arrays of this type are sent and summed."""
    kind = cast("np.dtype[np.generic]", array.dtype)
    # MPI has no half-precision type, and sums should have a higher precision.
    return np.dtype(np.float32) if kind == np.float16 else kind


def to_mpi_buffers(arrays: Sequence[Array]) -> list[Array]:
    """Return the arrays in memory that MPI accesses: as they are, or all of them on the host."""
    if not GlobalComm.INITED or (GlobalComm.CUDA_AWARE and not any(map(is_host, arrays))):
        return list(arrays)
    return [to_host(array) for array in arrays]


def all_reduce_sum(
    arrays: Sequence[Array], weight: float = 1.0, *, bucket_bytes: int = BUCKET_BYTES
) -> list[Array]:
    """Return the sum of each array over the processes, in new memory and the wire type.

    Args:
        arrays: The arrays, from `to_mpi_buffers`; of the same shapes and types in each process.
        weight: The factor of this process's arrays.
        bucket_bytes: The number of bytes in a bucket; a larger array is sent separately.
    """
    world = _require_collective()
    sums: dict[int, Array] = {}
    sizes = [prod(array.shape) for array in arrays]
    for dtype, bucket in _buckets([wire_dtype(array) for array in arrays], sizes, bucket_bytes):
        xp = device_namespace(arrays[bucket[0]])
        flat = xp.empty((sum(sizes[i] for i in bucket),), dtype)
        end = 0
        for i in bucket:
            start, end = end, end + sizes[i]
            sums[i] = xp.reshape(flat[start:end], arrays[i].shape)
            xp.assign(sums[i], (...,), arrays[i])
        if weight != 1:
            xp.multiply(flat, weight, out=flat)
        message = as_buffer(flat)
        with world.watchdog:
            world.comm.Allreduce(world.mpi.IN_PLACE, message, world.mpi.SUM)
    return [sums[i] for i in range(len(arrays))]


def broadcast(arrays: Sequence[Array]) -> list[Array]:
    """Return the values of each array in process 0, in new memory."""
    world = _require_collective()
    received: list[Array] = []
    for source in arrays:
        (array,) = to_mpi_buffers([source])
        xp = device_namespace(array)
        values = xp.empty(array.shape, array.dtype)
        xp.copyto(values, array)
        message = [as_buffer(values), world.mpi.BYTE]
        with world.watchdog:
            world.comm.Bcast(message, root=0)
        received.append(values)
    return received


def all_gather_object(value: T) -> list[T]:
    """Return the values of all processes in the order of their ranks."""
    world = _require_collective()
    with world.watchdog:
        gathered: list[T] = world.comm.allgather(value)
    return gathered


def broadcast_object(value: T) -> T:
    """Return the value of process 0."""
    world = _require_collective()
    with world.watchdog:
        received: T = world.comm.bcast(value, root=0)
    return received


def all_reduce_max(number: int) -> int:
    """Return the largest of the numbers of all processes."""
    world = _require_collective()
    numbers = np.array([number], np.int64)
    with world.watchdog:
        world.comm.Allreduce(world.mpi.IN_PLACE, numbers, world.mpi.MAX)
    return int(numbers[0])


def check_alike(function: str, described: Mapping[str, str]) -> None:
    """Check that the descriptions of settings, by name, are the same in all processes.

    Raises:
        ValueError: In all processes; it names the settings that differ, and the processes.
    """
    if len(set(all_gather_object(crc32(repr(described).encode())))) == 1:
        return
    gathered = all_gather_object(described)
    differences: list[str] = []
    for name in dict.fromkeys(name for settings in gathered for name in settings):
        ranks: dict[str, list[int]] = {}
        for rank, settings in enumerate(gathered):
            ranks.setdefault(settings.get(name, "nothing"), []).append(rank)
        if len(ranks) > 1:
            texts = [f"{text:.{_MAX_CHARACTERS}} in {processes(of)}" for text, of in ranks.items()]
            differences.append(f"'{name}' is {' and '.join(texts)}")
    raise ValueError(
        f"For '{function}', settings must be the same in all processes, but "
        f"{shortened(differences, '; ')}."
    )


def described_setting(value: object) -> str:
    """Return the repr of a number, a string or a sequence of them; the class of other values."""
    if isinstance(value, NUMPY_TYPES):
        return repr(np.asarray(value).tolist())
    if is_sequence(value):
        return f"[{', '.join(map(described_setting, value))}]"
    plain = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if plain else type(value).__qualname__


def processes(ranks: Sequence[int]) -> str:
    """Return the names of processes in an error."""
    return f"process{'es' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


def shortened(texts: Sequence[str], separator: str) -> str:
    """Join the first texts, and append the number of the others."""
    others = len(texts) - _MAX_DIFFERENCES
    return separator.join(texts[:_MAX_DIFFERENCES]) + (f" and {others} more" if others > 0 else "")


def abort_unless_all_failed(error: BaseException) -> None:
    """Return if all processes have failed; otherwise report the error and abort all."""
    world = require_world()
    _watchdog.abort_unless_all_failed(world.error_comm, error)


def _require_collective() -> World:
    callback = _local_callback.get()
    if callback is not None:
        raise RuntimeError(
            f"{callback} is called in one process only, since its 'chief_only' is True, but it "
            f"calls a collective operation in '{caller()}'. The other processes would not take "
            "part, and the call would deadlock: set its 'chief_only' to False."
        )
    return require_world()


def _buckets(
    dtypes: "Sequence[np.dtype[np.generic]]", sizes: Sequence[int], max_bytes: int
) -> Iterator[tuple["np.dtype[np.generic]", list[int]]]:
    """Yield the types and the indices of arrays that are sent in one message."""
    for dtype in dict.fromkeys(dtypes):
        bucket: list[int] = []
        total = 0
        for i in (i for i, other in enumerate(dtypes) if other == dtype):
            added = sizes[i] * dtype.itemsize
            if bucket and total + added > max_bytes:
                yield dtype, bucket
                bucket, total = [], 0
            bucket.append(i)
            total += added
        yield dtype, bucket
