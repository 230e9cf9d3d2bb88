"""The rank of this process, and the number of processes: known without MPI, if there is one."""

from typing import Final, Protocol

from minispore.common.parallel import ParallelMode, get_auto_parallel_context
from minispore.utils.checks import caller, type_error

_WORLDS: Final = ("hccl_world_group", "mccl_world_group", "nccl_world_group")


class GlobalComm:
    """The state of the communication.

    Attributes:
        BACKEND: The communication library, "mpi".
        WORLD_COMM_GROUP: The name of the group of all processes.
        INITED: Whether `init` was called.
        CUDA_AWARE: Whether MPI accesses GPU memory directly. Otherwise arrays are copied to the
            host first. MindSpore does not have this attribute.

    Examples:
        >>> GlobalComm.BACKEND, GlobalComm.INITED
        ('mpi', False)

    Source: MindSpore's `mindspore.communication.GlobalComm`.
    """

    BACKEND: str = "mpi"
    WORLD_COMM_GROUP: str = "mccl_world_group"
    INITED: bool = False
    CUDA_AWARE: bool = False


class Member(Protocol):
    """This process as a member of the group."""

    @property
    def rank(self) -> int:
        """Its rank."""
        ...

    @property
    def size(self) -> int:
        """The number of processes."""
        ...


# This process, after `init`.
members: list[Member] = []


def get_rank(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """Return the rank of this process.

    Args:
        group: The name of the group of all processes.

    Returns:
        An int from 0; 0 if `init` was not called.

    Raises:
        TypeError: `group` is not a string.
        ValueError: There is no such group.

    Examples:
        >>> get_rank()
        0

    Source: MindSpore's `mindspore.communication.get_rank`.
    """
    check_group(group)
    return members[0].rank if members else 0


def get_group_size(group: str = GlobalComm.WORLD_COMM_GROUP) -> int:
    """Return the number of processes.

    Args:
        group: The name of the group of all processes.

    Returns:
        An int from 1; 1 if `init` was not called.

    Raises:
        TypeError: `group` is not a string.
        ValueError: There is no such group.

    Examples:
        >>> get_group_size()
        1

    Source: MindSpore's `mindspore.communication.get_group_size`.
    """
    check_group(group)
    return members[0].size if members else 1


def is_data_parallel() -> bool:
    """Return whether the parallel mode is data parallel.

    Raises:
        RuntimeError: It is, and `init` was not called.
    """
    if get_auto_parallel_context("parallel_mode") == ParallelMode.STAND_ALONE:
        return False
    check_joined()
    return True


def check_joined() -> None:
    """Raise RuntimeError if `init` was not called."""
    if not members:
        raise RuntimeError(
            f"For '{caller()}', the processes have not been joined: call "
            "'minispore.communication.init()' at the start of the program."
        )


def check_group(group: object) -> None:
    """Raise an error unless it is the name of the group of all processes."""
    if not isinstance(group, str):
        raise TypeError(
            f"For '{caller()}', the argument 'group' must be type of string, but got 'group' "
            f"type : {type(group)}."
        )
    if group not in _WORLDS:
        must = f"be '{GlobalComm.WORLD_COMM_GROUP}', the group of all processes"
        raise type_error(group, "group", must, ValueError)
