# The names of the module; each is imported when it is first used.

from minispore.communication._group import GlobalComm, get_group_size, get_rank
from minispore.communication._world import (
    get_local_rank,
    get_local_rank_size,
    get_process_group_ranks,
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
