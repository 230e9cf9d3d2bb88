"""Tensors, parameters, and the operations on them under MindSpore's names, with gradients.

A module declares an operation: its `__all__` lists the function, the function's other names and its
1.x primitive.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
