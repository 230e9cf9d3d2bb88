"""The operations, each declared once, and gradients; MindSpore's older scripts import this as F.

A module of `minispore._functional`, or of `minispore.ops` if it creates tensors, declares an
operation: its `__all__` lists the function, the function's other names and its 1.x primitive.
"""

from minispore._functional.arithmetic import *  # noqa: F403
from minispore._functional.comparison import *  # noqa: F403
from minispore._functional.convolution import *  # noqa: F403
from minispore._functional.elementwise import *  # noqa: F403
from minispore._functional.indexing import *  # noqa: F403
from minispore._functional.interpolation import *  # noqa: F403
from minispore._functional.linalg import *  # noqa: F403
from minispore._functional.losses import *  # noqa: F403
from minispore._functional.normalization import *  # noqa: F403
from minispore._functional.pooling import *  # noqa: F403
from minispore._functional.reduction import *  # noqa: F403
from minispore._functional.shape import *  # noqa: F403
from minispore.engine.dispatch import apply_rule as apply_rule  # noqa: PLC0414
from minispore.ops._assign import *  # noqa: F403
from minispore.ops._composition import *  # noqa: F403
from minispore.ops._creation import *  # noqa: F403
from minispore.ops._gradient_clipping import *  # noqa: F403
from minispore.ops._properties import *  # noqa: F403
from minispore.ops._random import *  # noqa: F403
from minispore.ops.gradients import *  # noqa: F403
from minispore.ops.summary import *  # noqa: F403

# A list of names that are not written here is one that type checkers take for empty: hence a
# dictionary.
_NAMES = sorted(name for name in globals() if not name.startswith("_"))
globals()["__all__"] = _NAMES
globals()["__dir__"] = lambda: _NAMES
