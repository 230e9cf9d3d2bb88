"""MindSpore's operations in the form of 1.x, which scripts import as P.

A primitive is made with its attributes and then called with tensors: `Softmax(0)(x)` is
`softmax(x, 0)`. Each is declared next to the function that it calls.
"""

from minispore.ops.functional import *  # noqa: F403
from minispore.ops.functional import _NAMES

# The names with a capital; the functions are in `minispore.ops`.
globals()["__all__"] = [name for name in _NAMES if name[0].isupper()]
