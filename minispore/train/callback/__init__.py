"""The callbacks of the package, one per module, and their base class.

Its modules import `common`, `communication`, `dataset`, `engine`, `nn`, `ops` and `utils`.
"""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
