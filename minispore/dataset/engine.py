"""The datasets, in the module in which MindSpore defines them."""

from minispore.dataset import *  # noqa: F403 (the same names, whatever they are)
from minispore.dataset import __all__  # noqa: F401 (that another star takes them, too)
