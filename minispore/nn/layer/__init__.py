"""The layers, in the modules where MindSpore has them."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
