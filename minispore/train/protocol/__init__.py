"""The callback protocol: the events of a run, the run context, callback managers, and state saving.

A callback, a callback that saves checkpoints, or another callback API needs no other module.

Its modules import `common`, `communication`, `engine`, `nn`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
