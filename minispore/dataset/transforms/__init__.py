"""Transforms of any data: type conversion, one-hot encoding, composition and random choice."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
