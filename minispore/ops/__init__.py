"""The public operations under MindSpore's names, and gradients."""

from minispore.ops import composite as composite
from minispore.ops import operations as operations
from minispore.ops.functional import *  # noqa: F403
from minispore.ops.functional import _NAMES
from minispore.utils.unsupported import module_attributes as _module_attributes

# In a dictionary: type checkers would take `__all__` for a list without names, and the definition
# of `__getattr__` for one of every name.
globals()["__all__"] = _NAMES
globals()["__getattr__"], globals()["__dir__"] = _module_attributes(
    __name__,
    otherwise="there are those of MindSpore's operations that the tutorials' networks need; "
    "'ops.apply_rule' makes one of your own",
)
