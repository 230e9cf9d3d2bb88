"""Warnings at the line of the program, however many calls of the package lie between."""

import sys
import warnings


def warn(text: str) -> None:
    """Warn at the line outside of minispore that led here.

    From Python 3.12 on, `skip_file_prefixes` of `warnings.warn` does so.
    """
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "minispore"
