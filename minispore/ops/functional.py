"""The operations, as MindSpore's older scripts import them as F."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
