"""MindSpore's import path of the callbacks of data sets."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
