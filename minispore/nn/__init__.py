"""Cells, layers, losses, optimizers, learning-rate schedules, and training steps.

Its modules import `engine`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
