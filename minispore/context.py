"""The module from which MindSpore's scripts import the names of `minispore.common.context`."""

from minispore.common.context import *  # noqa: F403 (exactly the public names)
from minispore.common.context import __all__  # noqa: F401 (for another star import)
