"""The import path of training states and of what reads them, which `minispore.train.resume` has."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
