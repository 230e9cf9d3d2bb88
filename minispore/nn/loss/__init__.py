"""The loss functions."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
