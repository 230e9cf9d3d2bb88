"""Where the images come from: a folder of the user's, or digits that are drawn once and kept."""

import os
from pathlib import Path

from minispore.dataset import digits


def data_folder(data: str) -> Path:
    """The folder with MNIST's four files that `--data` asks for.

    Raises:
        OSError: The digits cannot be written.
    """
    if data != "digits":
        return Path(data)
    folder = cache_folder() / "digits"
    print(f"Images: digits that minispore draws, once, into {folder}", flush=True)
    return digits.write(folder)


def cache_folder() -> Path:
    """Where minispore keeps what it can make again: MINISPORE_CACHE, or in the user's cache."""
    if own := os.environ.get("MINISPORE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "minispore"
