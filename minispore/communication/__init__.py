"""Communication of the processes of a data-parallel training, by MPI.

`init` joins the processes that `mpiexec` has started. mpi4py is imported only then.
"""

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
