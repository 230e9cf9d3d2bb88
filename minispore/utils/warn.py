"""Warnings that point to the line of the user's program."""

import sys
import warnings


def warn_at_caller(message: str) -> None:
    """Issue a UserWarning at the innermost line outside of minispore that led to this call.

    Args:
        message: The text of the warning.

    Examples:
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_at_caller("The loss is NaN.")
        >>> str(caught[0].message)
        'The loss is NaN.'
    """
    # From Python 3.12 on, `skip_file_prefixes` of `warnings.warn` does this.
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and _is_internal_frame(frame.f_globals.get("__name__")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


def _is_internal_frame(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] == "minispore"
