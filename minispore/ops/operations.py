"""MindSpore's operations in the form of 1.x, which scripts import as P.

A primitive is made with its attributes and then called with tensors: `Softmax(0)(x)` is
`softmax(x, 0)`. Each is declared next to the function that it calls.
"""

from minispore.ops.functional import *  # noqa: F403
from minispore.ops.functional import _NAMES
from minispore.utils.unsupported import module_attributes as _module_attributes

# The names with a capital; the functions are in `minispore.ops`.
globals()["__all__"] = [name for name in _NAMES if name[0].isupper()]
globals()["__getattr__"], globals()["__dir__"] = _module_attributes(
    __name__,
    otherwise="there are those of MindSpore's operations in this form that older tutorials' "
    "networks need; look for a function in 'minispore.ops'",
)
