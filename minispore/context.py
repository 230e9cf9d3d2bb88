"""The module from which MindSpore's scripts import the names of `minispore.common.context`."""

from minispore.common.context import *  # noqa: F403 (the same names, whatever they are)
from minispore.common.context import __all__  # noqa: F401 (that another star takes them, too)
