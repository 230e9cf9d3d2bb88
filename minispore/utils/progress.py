"""tqdm's progress bars, without the thread that tqdm starts with its first bar and never ends."""

import sys
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
    in_notebook = "ipykernel" in sys.modules
    has_widgets = in_notebook and find_spec("ipywidgets") is not None
    terminal = sys.stderr is not None and sys.stderr.isatty()  # None without standard error
    base = import_module("tqdm.notebook" if has_widgets else "tqdm").tqdm
    without_thread = type("ProgressBar", (base,), {"monitor_interval": 0})
    # The thread redraws bars that adapt `miniters` to the speed of the updates: these do not.
    defaults: dict[str, object] = {"disable": not (terminal or in_notebook), "miniters": 1}
    if in_notebook and not has_widgets:
        # A bar of text; the notebook keeps all that is written, and shows standard error in red.
        defaults |= {"file": sys.stdout, "mininterval": 1.0}
    bar: tqdm[NoReturn] = without_thread(**defaults | options)
    return bar
