"""The metrics that `Model.eval` computes, and their names.

Its modules import `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
