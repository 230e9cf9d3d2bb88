"""Progress: tqdm's bars, without the thread that tqdm starts and never ends, and their numbers."""

import os
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tqdm import tqdm


def progress_bar(**options: object) -> "tqdm[NoReturn]":
    """Return a bar of tqdm, by default shown only on a terminal or in a notebook.

    Args:
        **options: tqdm's arguments.

    Returns:
        An open bar, to be closed.
    """
    in_notebook = _runs_in_notebook()
    has_widgets = in_notebook and find_spec("ipywidgets") is not None
    terminal = sys.stderr is not None and sys.stderr.isatty()  # None without standard error
    base = import_module("tqdm.notebook" if has_widgets else "tqdm").tqdm
    without_thread = type("ProgressBar", (base,), {"monitor_interval": 0})
    # The thread redraws bars that adapt `miniters` to the speed of the updates: these do not.
    defaults: dict[str, object] = {"disable": not (terminal or in_notebook), "miniters": 1}
    if in_notebook and not has_widgets:
        # A bar of text; the notebook keeps all that is written, and shows standard error in red.
        defaults |= {"file": sys.stdout, "mininterval": 1.0}
    with suppress(OSError):  # it is no terminal
        # In a terminal without a size, as some runners of tests have, tqdm would show nothing.
        if not os.get_terminal_size(sys.__stderr__.fileno() if sys.__stderr__ else -1).columns:
            defaults |= {"ncols": 80, "nrows": 24}
    bar: tqdm[NoReturn] = without_thread(**defaults | options)
    return bar


def _runs_in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell: object = None if ipython is None else ipython.get_ipython()
    return shell is not None and type(shell).__name__ != "TerminalInteractiveShell"


def format_number(value: float, decimals: int = 4) -> str:
    """Return a number with fixed decimals, a small one with a power of ten.

    Args:
        value: The number.
        decimals: The number of decimals.

    Returns:
        The text.

    Examples:
        >>> format_number(0.25), format_number(0.0), format_number(9.1e-08)
        ('0.2500', '0.0000', '9.1000e-08')
    """
    is_small = 0.0 < abs(value) < 10.0 ** (1 - decimals)
    return f"{value:.{decimals}{'e' if is_small else 'f'}}"
