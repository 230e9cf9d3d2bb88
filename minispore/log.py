"""MindSpore's logging functions, imported as `from minispore import log as logger`.

They are methods of Python's logger "minispore". By default, warnings and errors are printed to the
standard error; a program configures the logger with the module `logging`.

Source: MindSpore's `mindspore.log`.
"""

import logging
from typing import Final

from minispore.utils.unsupported import module_attributes

_log: Final = logging.getLogger("minispore")

critical: Final = _log.critical
debug: Final = _log.debug
error: Final = _log.error
info: Final = _log.info
warning: Final = _log.warning

__all__ = ["critical", "debug", "error", "info", "warning"]

globals()["__getattr__"] = module_attributes(__name__)[0]
