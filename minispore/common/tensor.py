"""MindSpore's module of tensors, which are defined in `minispore.ops.tensors`."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
