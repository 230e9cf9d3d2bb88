"""MindSpore's log, which scripts import as `from mindspore import log as logger`.

It is Python's logger "minispore": warnings and errors go to the standard error, and the rest to
what a program sets up with the module `logging`.
"""

import logging
from typing import Final

_log: Final = logging.getLogger("minispore")

critical: Final = _log.critical
debug: Final = _log.debug
error: Final = _log.error
info: Final = _log.info
warning: Final = _log.warning

__all__ = ["critical", "debug", "error", "info", "warning"]
