"""Several processes that train together: how they find, and what they tell, one another.

`init` joins the processes that `mpiexec` has started, on MPI. Nothing of MPI is imported before.
"""

from minispore._left_out import refusing
from minispore.communication._world import (
    GlobalComm,
    get_group_size,
    get_local_rank,
    get_local_rank_size,
    get_process_group_ranks,
    get_rank,
    init,
    release,
)

__all__ = [
    "GlobalComm",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_process_group_ranks",
    "get_rank",
    "init",
    "release",
]

_GROUPS = "There is one group, of all processes; mpi4py has others."
_LEFT_OUT = {
    "comm_func": "Use mpi4py.MPI.COMM_WORLD for what is not a training's gradients.",
    "create_group": _GROUPS,
    "destroy_group": _GROUPS,
    "get_comm_name": _GROUPS,
    "get_group_rank_from_world_rank": _GROUPS,
    "get_world_rank_from_group_rank": _GROUPS,
}

# In a dictionary, since a definition would tell type checkers that there is every attribute.
globals()["__getattr__"] = refusing(__name__, _LEFT_OUT)
