"""Saying of MindSpore's names that are left out why, and what to use instead."""

import sys
from collections.abc import Callable, Mapping


def refusing(
    module: str, reasons: Mapping[str, str], otherwise: str = ""
) -> Callable[[str], object]:
    """Return a `__getattr__` for a module that lacks some of MindSpore's names on purpose.

    Args:
        module: its name.
        reasons: the names, each with a sentence that says what to do instead.
        otherwise: a sentence for all other names.
    """

    def module_getattr(name: str) -> object:
        if name in reasons:
            # Of an AttributeError, `from module import name` would drop the message.
            raise ImportError(f"'{module}.{name}' is left out of minispore. {reasons[name]}")
        # With these two, Python's traceback suggests the name that was meant.
        raise AttributeError(
            f"module '{module}' has no attribute '{name}'{otherwise and f': {otherwise}'}",
            name=name,
            obj=sys.modules[module],
        )

    return module_getattr
