"""MindSpore's module of data types, which are defined in `minispore.engine.dtypes`."""

from typing import TYPE_CHECKING, Final

from minispore.engine import dtypes
from minispore.engine.dtypes import *  # noqa: F403 (exactly the names of MindSpore's module)
from minispore.engine.dtypes import __all__  # noqa: F401 (for another star import)
from minispore.utils.facade import facade

if not TYPE_CHECKING:  # type checkers take it for a definition of every name
    __getattr__, __dir__ = facade(__name__)

# MindSpore's names that hide Python's, which a star import leaves alone.
bool: Final = dtypes.bool_
float: Final = dtypes.float32
int: Final = dtypes.int32
