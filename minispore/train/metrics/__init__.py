"""The metrics that `Model.eval` computes, and their names."""

from minispore import _metrics
from minispore._metrics import *  # noqa: F403
from minispore.utils.unsupported import module_attributes

__all__: list[str] = []
__all__ += _metrics.__all__

# Assigned by name, since type checkers take a `__getattr__` for a definition of every attribute.
globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)
