"""MindSpore's module of the random seed, which are defined in `minispore.ops.seed`."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
