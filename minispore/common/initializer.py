"""MindSpore's module of initializers, which are defined in `minispore.ops.initializer`."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
