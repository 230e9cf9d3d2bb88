"""Exact resume: the training state of a run, and reading the states of callbacks from it.

Its modules import `common`, `dataset`, `nn`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
