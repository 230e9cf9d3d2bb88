"""Tensors, parameters, and the operations on them under MindSpore's names, with gradients.

A module declares an operation: its `__all__` lists the function and the function's other names.

Its modules import `engine` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
