"""The captured steps of graph mode, whose package is loaded when they are first used."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
