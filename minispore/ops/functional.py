"""The operations, each declared once, and gradients; MindSpore's older scripts import this as F.

A module of `minispore.ops` declares an operation: its `__all__` lists the function, the function's
other names and its 1.x primitive.
"""

from inspect import unwrap as _unwrap

from minispore.common.tensor import Tensor as _Tensor
from minispore.engine.dispatch import apply_rule as apply_rule  # noqa: PLC0414
from minispore.ops.arithmetic import *  # noqa: F403
from minispore.ops.assignment import *  # noqa: F403
from minispore.ops.comparison import *  # noqa: F403
from minispore.ops.composition import *  # noqa: F403
from minispore.ops.convolution import *  # noqa: F403
from minispore.ops.creation import *  # noqa: F403
from minispore.ops.elementwise import *  # noqa: F403
from minispore.ops.gradient_clipping import *  # noqa: F403
from minispore.ops.gradients import *  # noqa: F403
from minispore.ops.indexing import *  # noqa: F403
from minispore.ops.interpolation import *  # noqa: F403
from minispore.ops.linalg import *  # noqa: F403
from minispore.ops.losses import *  # noqa: F403
from minispore.ops.manipulation import *  # noqa: F403
from minispore.ops.normalization import *  # noqa: F403
from minispore.ops.pooling import *  # noqa: F403
from minispore.ops.properties import *  # noqa: F403
from minispore.ops.random import *  # noqa: F403
from minispore.ops.reduction import *  # noqa: F403
from minispore.ops.summary import *  # noqa: F403

# A list of names that are not written here is one that type checkers take for empty: hence a
# dictionary.
_NAMES = sorted(name for name in globals() if not name.startswith("_"))
globals()["__all__"] = _NAMES

# The operations are below Tensor, which annotates them: tools evaluate the annotations.
for _name in _NAMES:
    getattr(_unwrap(globals()[_name]), "__globals__", {}).setdefault("Tensor", _Tensor)
