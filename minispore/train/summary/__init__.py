"""Summaries: values of a training in event files, which TensorBoard and MindInsight show.

Its modules import `common`, `engine`, `nn`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
