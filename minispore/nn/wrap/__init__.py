"""Cells around a network: with its loss, for evaluation, and for a training step.

Its modules import `common`, `communication`, `engine`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
