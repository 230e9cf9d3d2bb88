"""Training: `Model`, callbacks, metrics and checkpoints, with MindSpore's names.

Its modules import `_metrics`, `common`, `communication`, `dataset`, `engine`, `graph`, `nn`, `ops`
and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)

# Functions that are not exported here are called by those that a program calls.
_IS_FACADE = True
