"""The group of processes: joining and leaving it, ranks and sizes."""

import os
from collections.abc import Callable
from ctypes import CDLL
from dataclasses import dataclass
from typing import Final

from minispore.common.parallel import clear_world_info, set_world_info
from minispore.communication._group import GlobalComm, check_group, check_joined, members
from minispore.communication._mpi import Communicator, Mpi, is_cuda_aware, load
from minispore.communication._watchdog import Departures, Watchdog, watch_exits

# MindSpore's names of communication libraries; MPI is used for each of them.
_BACKENDS: Final = ("mccl", "mpi", "nccl")
_TIMEOUT_SECONDS: Final = 1800.0


@dataclass(frozen=True)
class World:
    """The group of all processes, as this one sees it.

    Attributes:
        mpi: The module of mpi4py.
        comm: The communicator.
        error_comm: A second communicator, for processes that have failed.
        rank: The rank of this process.
        size: The number of processes.
        watchdog: A context manager for each wait for the other processes.
        departures: Which processes have left.
        forget_exits: Undoes that the end of this process is announced to the others.
    """

    mpi: Mpi
    comm: Communicator
    error_comm: Communicator
    rank: int
    size: int
    watchdog: Watchdog
    departures: Departures
    forget_exits: Callable[[], None]


_world: list[World] = []


def init(backend_name: str | None = None) -> None:
    """Join the processes that `mpiexec` has started. Call it once, at the start of the program.

    After this, an uncaught exception in one process aborts all of them. So does a wait for a
    process that has left the program, and one that is longer than 30 minutes, or than the number of
    seconds in the environment variable MINISPORE_MPI_TIMEOUT.

    Args:
        backend_name: None, "mpi", "mccl" or "nccl". MPI is used in each case.

    Raises:
        TypeError: `backend_name` is not a string.
        RuntimeError: There is no such backend, the program was not started by `mpiexec`, or mpi4py
            or MPI is not installed.
        ValueError: `set_auto_parallel_context` has set another number of processes,
            MINISPORE_MPI_TIMEOUT is not a positive number, or MINISPORE_MPI_CUDA is not 0 or 1.

    Examples:
        >>> init()  # doctest: +SKIP

    Source: MindSpore's `mindspore.communication.init`.
    """
    if not isinstance(backend_name, str | None):
        raise TypeError(
            "For 'init', the argument 'backend_name' must be a string, but got the type : "
            f"{type(backend_name)}"
        )
    if backend_name is not None and backend_name not in _BACKENDS:
        raise RuntimeError(
            "For 'init', the argument 'backend_name' must be one of 'mpi', 'mccl' and 'nccl', but "
            f"got 'backend_name' : {backend_name}"
        )
    if _world:
        return
    timeout = _timeout()
    mpi = load()
    cuda_aware = is_cuda_aware(CDLL(mpi.__file__))
    rank, size = mpi.COMM_WORLD.Get_rank(), mpi.COMM_WORLD.Get_size()
    set_world_info(rank, size)
    comm, error_comm = mpi.COMM_WORLD.Dup(), mpi.COMM_WORLD.Dup()
    departures = Departures(error_comm)
    is_threaded = mpi.Query_thread() == mpi.THREAD_MULTIPLE
    watchdog = Watchdog(rank, timeout, departures if is_threaded else None)
    forget_exits = watch_exits(error_comm, departures)
    _world.append(World(mpi, comm, error_comm, rank, size, watchdog, departures, forget_exits))
    members.append(_world[0])
    GlobalComm.INITED, GlobalComm.CUDA_AWARE = True, cuda_aware


def release() -> None:
    """Wait for the other processes and leave the group; nothing if `init` was not called.

    Examples:
        >>> from minispore.communication import get_group_size
        >>> release()
        >>> get_group_size()
        1

    Source: MindSpore's `mindspore.communication.release`.
    """
    if not _world:
        return
    world = _world[0]
    world.forget_exits()
    # The others may still work for long, so this wait has no limit.
    world.watchdog.stop()
    world.departures.leave("has called 'release'")
    world.comm.Free()
    world.error_comm.Free()
    clear_world_info()
    _world.clear()
    members.clear()
    GlobalComm.INITED = GlobalComm.CUDA_AWARE = False


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """Return the rank of this process among those on its machine: a collective operation.

    Args:
        group: The name of the group of all processes.

    Returns:
        An int from 0; 0 if `init` was not called.

    Raises:
        TypeError: `group` is not a string.
        ValueError: There is no such group.

    Examples:
        >>> get_local_rank()
        0

    Source: MindSpore's `mindspore.communication.get_local_rank`.
    """
    check_group(group)
    return _local_rank_and_size()[0]


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """Return the number of processes on this machine: a collective operation.

    Args:
        group: The name of the group of all processes.

    Returns:
        An int from 1; 1 if `init` was not called.

    Raises:
        TypeError: `group` is not a string.
        ValueError: There is no such group.

    Examples:
        >>> get_local_rank_size()
        1

    Source: MindSpore's `mindspore.communication.get_local_rank_size`.
    """
    check_group(group)
    return _local_rank_and_size()[1]


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """Return the ranks of all processes.

    Args:
        group: The name of the group of all processes.

    Returns:
        The ints from 0 to the number of processes - 1.

    Raises:
        TypeError: `group` is not a string.
        ValueError: There is no such group.
        RuntimeError: `init` was not called.

    Examples:
        >>> get_process_group_ranks()  # doctest: +SKIP
        [0, 1]

    Source: MindSpore's `mindspore.communication.get_process_group_ranks`.
    """
    check_group(group)
    return list(range(require_world().size))


def require_world() -> World:
    """Return the group of processes; RuntimeError if `init` was not called."""
    check_joined()
    return _world[0]


def _local_rank_and_size() -> tuple[int, int]:
    if not _world:
        return 0, 1
    world = _world[0]
    with world.watchdog:
        local = world.comm.Split_type(world.mpi.COMM_TYPE_SHARED)
    rank, size = local.Get_rank(), local.Get_size()
    local.Free()
    return rank, size


def _timeout() -> float:
    text = os.environ.get("MINISPORE_MPI_TIMEOUT", str(_TIMEOUT_SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(
            "For 'init', the environment variable MINISPORE_MPI_TIMEOUT must be a number of "
            f"seconds above 0, but got {text!r}."
        )
    return seconds
