"""The callbacks of the package, one per module, and their base class."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
