"""The processes that train together: joining and leaving them, and which one this is."""

import os
import sys
from ctypes import CDLL
from dataclasses import dataclass
from typing import Final

from minispore._checks import described
from minispore.common.parallel import know_world
from minispore.communication._mpi import Communicator, Mpi, load, takes_cuda
from minispore.communication._watch import Watch, end_all_on_uncaught

# MindSpore's names of the libraries that carry messages; here MPI carries them all.
_BACKENDS: Final = ("mccl", "mpi", "nccl")
_WORLDS: Final = ("hccl_world_group", "mccl_world_group", "nccl_world_group")
_LIMIT: Final = 1800.0


class GlobalComm:
    """What is known of the communication.

    Source: mindspore.communication.GlobalComm.

    Attributes:
        BACKEND: What carries the messages.
        WORLD_COMM_GROUP: The name of the group of all processes.
        INITED: Whether `init` was called.
        CUDA_AWARE: Whether MPI is given a GPU's arrays as they lie there; it is not MindSpore's.
            Otherwise they go by way of the host's memory.
    """

    BACKEND: str = "mpi"
    WORLD_COMM_GROUP: str = "mccl_world_group"
    INITED: bool = False
    CUDA_AWARE: bool = False


@dataclass(frozen=True)
class World:
    """The processes.

    Attributes:
        mpi: MPI.
        everyone: What they tell one another while all is well.
        failing: What they tell one another when something has failed.
        rank: The number of this one.
        size: How many there are.
        watch: To be held while waiting for the others.
    """

    mpi: Mpi
    everyone: Communicator
    failing: Communicator
    rank: int
    size: int
    watch: Watch


_world: list[World] = []


def init(backend_name: str | None = None) -> None:
    """Join the processes that `mpiexec` has started; to be called once, at the beginning.

    From then on an exception that nobody catches, in any process, ends all of them. So does a wait
    for the others that takes longer than half an hour, or than the seconds in the environment
    variable MINISPORE_MPI_TIMEOUT.

    Args:
        backend_name: None, "mpi", "mccl" or "nccl": messages travel by MPI in any case.

    Raises:
        TypeError: `backend_name` is no string.
        RuntimeError: There is no such backend; the program was not started by `mpiexec`; mpi4py or
            an MPI is missing.
        ValueError: `set_auto_parallel_context` was told another number of processes, or
            MINISPORE_MPI_TIMEOUT is no number above 0, or MINISPORE_MPI_CUDA neither 0 nor 1.
    """
    if backend_name is not None and not isinstance(backend_name, str):
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
    limit = _limit()
    mpi = load("init")
    cuda_aware = takes_cuda(CDLL(mpi.__file__))
    rank, size = mpi.COMM_WORLD.Get_rank(), mpi.COMM_WORLD.Get_size()
    know_world(rank, size)
    everyone, failing = mpi.COMM_WORLD.Dup(), mpi.COMM_WORLD.Dup()
    _world.append(World(mpi, everyone, failing, rank, size, Watch(rank, limit)))
    end_all_on_uncaught(failing, rank, size)
    GlobalComm.INITED, GlobalComm.CUDA_AWARE = True, cuda_aware


def release() -> None:
    """Wait for the other processes, and leave them: what follows is done by each for itself."""
    if not _world:
        return
    world = _world[0]
    with world.watch:
        world.everyone.Barrier()
    world.watch.end()
    world.everyone.Free()
    world.failing.Free()
    sys.excepthook = sys.__excepthook__
    know_world(None, None)
    _world.clear()
    GlobalComm.INITED = GlobalComm.CUDA_AWARE = False


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process, from 0; 0 without `init`.

    Raises:
        TypeError: `group` is no string.
        ValueError: There is no such group.
    """
    _check_group(group, "get_rank")
    return _world[0].rank if _world else 0


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """How many processes there are; 1 without `init`.

    Raises:
        TypeError: `group` is no string.
        ValueError: There is no such group.
    """
    _check_group(group, "get_group_size")
    return _world[0].size if _world else 1


def get_local_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """The number of this process among those on its machine; all processes must ask at once.

    Raises:
        TypeError: `group` is no string.
        ValueError: There is no such group.
    """
    _check_group(group, "get_local_rank")
    return _on_this_machine()[0]


def get_local_rank_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """How many of the processes are on this machine; all processes must ask at once.

    Raises:
        TypeError: `group` is no string.
        ValueError: There is no such group.
    """
    _check_group(group, "get_local_rank_size")
    return _on_this_machine()[1]


def get_process_group_ranks(group: str = GlobalComm.WORLD_COMM_GROUP) -> list[int]:
    """The numbers of the processes.

    Raises:
        TypeError: `group` is no string.
        ValueError: There is no such group.
        RuntimeError: `init` was not called.
    """
    _check_group(group, "get_process_group_ranks")
    return list(range(the_world("get_process_group_ranks").size))


def the_world(owner: str) -> World:
    """The processes; RuntimeError if they were not joined."""
    if not _world:
        raise RuntimeError(
            f"For '{owner}', the processes have not been joined: call "
            "'minispore.communication.init()' at the beginning of the program."
        )
    return _world[0]


def _on_this_machine() -> tuple[int, int]:
    if not _world:
        return 0, 1
    world = _world[0]
    with world.watch:
        here = world.everyone.Split_type(world.mpi.COMM_TYPE_SHARED)
    place = here.Get_rank(), here.Get_size()
    here.Free()
    return place


def _limit() -> float:
    text = os.environ.get("MINISPORE_MPI_TIMEOUT", str(_LIMIT))
    try:
        limit = float(text)
    except ValueError:
        limit = 0.0
    if not 0 < limit < float("inf"):
        raise ValueError(
            "For 'init', the environment variable MINISPORE_MPI_TIMEOUT must be a number of "
            f"seconds above 0, but got {text!r}."
        )
    return limit


def _check_group(group: object, owner: str) -> None:
    if not isinstance(group, str):
        raise TypeError(
            f"For '{owner}', the argument 'group' must be type of string, but got 'group' type : "
            f"{type(group)}."
        )
    if group not in _WORLDS:
        raise ValueError(
            f"For '{owner}', the argument 'group' must be '{GlobalComm.WORLD_COMM_GROUP}', the "
            f"group of all processes, but got {described(group)}."
        )
