"""The context, and MindSpore's import paths of tensors, parameters, initializers and the seed.

Its modules import `engine` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
