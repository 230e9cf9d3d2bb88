# The names of the module; each is imported when it is first used.

from minispore.ops.seed import get_rng_state as get_rng_state
from minispore.ops.seed import get_seed as get_seed
from minispore.ops.seed import set_rng_state as set_rng_state
from minispore.ops.seed import set_seed as set_seed
