"""The module that MindSpore's older scripts import as F: the functions of `minispore.ops`."""

from minispore.ops import *  # noqa: F403 (the same names, whatever they are)
from minispore.ops import __all__  # noqa: F401 (that another star takes them, too)
