"""Tensors, parameters, initializers, data types, the random seed and the context.

Its modules import `engine` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
