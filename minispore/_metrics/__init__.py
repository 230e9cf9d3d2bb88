"""Metrics, which measure the quality of predictions batch by batch.

Its modules import `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
