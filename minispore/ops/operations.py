"""MindSpore's operations in the form of 1.x, which scripts import as P.

A primitive is made with its attributes and then called with tensors: `Softmax(0)(x)` is
`softmax(x, 0)`.
"""

from minispore.utils.facade import facade, public_names

__getattr__, __dir__ = facade(__name__)
# The names with a capital; the functions are in `minispore.ops`.
__all__ = [name for name in public_names(__name__) if name[0].isupper()]  # pyright: ignore[reportUnsupportedDunderAll]
