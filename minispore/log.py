"""MindSpore's logging functions, imported as `from minispore import log as logger`.

They are methods of Python's logger "minispore". By default, warnings and errors are printed to the
standard error; a program configures the logger with the module `logging`.

Source: MindSpore's `mindspore.log`.
"""

import logging
from typing import Final

_log: Final = logging.getLogger("minispore")

critical: Final = _log.critical
debug: Final = _log.debug
error: Final = _log.error
info: Final = _log.info
warning: Final = _log.warning

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]


def get_level() -> str:
    """Return the level of the logger: "0" for DEBUG, "1" INFO, "2" WARNING, "3" ERROR, else "4".

    It is that of Python's logger; the environment variable GLOG_v has no effect.

    Returns:
        One digit.

    Examples:
        >>> get_level()
        '2'

    Source: MindSpore's `mindspore.get_level`.
    """
    return str(min(max(_log.getEffectiveLevel() // 10 - 1, 0), 4))


def get_log_config() -> dict[str, str]:
    """Return the configuration of the logger under MindSpore's names.

    Returns:
        The level, and that messages go to stderr.

    Examples:
        >>> get_log_config()
        {'GLOG_v': '2', 'GLOG_logtostderr': '1'}

    Source: MindSpore's `mindspore.get_log_config`.
    """
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
