"""The module from which MindSpore's scripts import the names of its compiler."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
