"""The metrics of `minispore.train`, also found in `minispore.nn` as in older MindSpore versions."""

from minispore.utils.facade import facade

__getattr__, __dir__ = facade(__name__)
