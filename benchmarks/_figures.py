"""Figures of measurements."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any


@contextmanager
def svg_figure(path: Path, width: float, height: float) -> Generator[Any]:
    """Yield a figure, of a size in inches, and write it."""
    # Equal measurements give an equal file.
    import_module("matplotlib").rcParams["svg.hashsalt"] = "minispore"
    figure = import_module("matplotlib.figure").Figure((width, height), layout="constrained")
    yield figure
    figure.savefig(path, metadata={"Date": None})
