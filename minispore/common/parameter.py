"""MindSpore's module of parameters, which are defined in `minispore.ops.parameter`."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
