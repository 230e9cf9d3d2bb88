"""The public operations under MindSpore's names, and gradients.

A module declares an operation: its `__all__` lists the function, the function's other names and its
1.x primitive.
"""

# An operation on values that are no tensors returns a tensor.
import minispore.ops.tensors as _tensor  # noqa: F401  # pyright: ignore[reportUnusedImport]
from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
