"""Cells around a network: with its loss, for evaluation, and for a training step."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
