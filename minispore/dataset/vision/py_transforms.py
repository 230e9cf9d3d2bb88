"""The image transforms, in the module in which MindSpore 1.x has those written in Python."""

from minispore.dataset.vision import *  # noqa: F403 (the same names, whatever they are)
from minispore.dataset.vision import __all__  # noqa: F401 (that another star takes them, too)
