"""Data pipelines: sources, operations on them, and iterators over rows or batches.

A pipeline is a tree of immutable nodes (`_node.py`). Rows flow through it in blocks of the size of
a batch, if there is one, so that transforms process batches that stay in cache.

Its modules import `common`, `engine`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
