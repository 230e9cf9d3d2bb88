"""The transforms, in MindSpore's module of this name."""

from minispore.dataset.transforms import *  # noqa: F403 (the same names, whatever they are)
from minispore.dataset.transforms import __all__  # noqa: F401 (that another star takes them, too)
