"""MindSpore's import path of the functions that save and load parameters."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
