"""The module from which MindSpore's scripts import the names of `minispore.common.context`."""

from typing import TYPE_CHECKING

from minispore.common.context import *  # noqa: F403 (exactly the public names)
from minispore.common.context import __all__  # noqa: F401 (for another star import)
from minispore.utils.facade import facade

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, __dir__ = facade(__name__)
