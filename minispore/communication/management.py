"""The module from which MindSpore's scripts import the names of `minispore.communication`."""

from minispore.communication import *  # noqa: F403 (exactly the public names)
from minispore.communication import __all__  # noqa: F401 (for another star import)
