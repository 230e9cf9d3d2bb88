"""How a callback's files are named: a folder, a prefix, and an ending that tells runs apart."""

import errno
import os
import re
from collections.abc import Mapping

from minispore._checks import check_type
from minispore.train._protocol.states import entry


def file_prefix(prefix: object, owner: str) -> str:
    """Return `prefix` if files' names can begin with it; ValueError otherwise."""
    if not isinstance(prefix, str) or "/" in prefix or os.sep in prefix:
        raise ValueError(
            f"For '{owner}', the argument 'prefix' must be a str without '/' (or a function that "
            f"returns one, where one is taken), but got {prefix!r}."
        )
    return prefix


def folder(directory: str | os.PathLike[str] | None, owner: str) -> str:
    """Return the folder's full path, made if it is not there; None is the current folder.

    Raises:
        TypeError: `directory` is no path.
        ValueError: It is empty.
        NotADirectoryError: It is a file.
    """
    if directory is None:
        return os.getcwd()
    check_type(directory, (str, os.PathLike), "directory", owner)
    if not os.fspath(directory):
        raise ValueError(f"For '{owner}', the argument 'directory' must not be empty.")
    path = os.path.abspath(directory)
    if os.path.exists(path) and not os.path.isdir(path):
        raise NotADirectoryError(errno.ENOTDIR, f"For '{owner}', 'directory' is a file", path)
    # Made at once: a folder that cannot be made is better known before training than after.
    os.makedirs(path, exist_ok=True)
    return path


def next_ending(directory: str, prefix: str) -> str:
    """Return the ending that tells this run's files from those that are there: "" or `_n`."""
    form = re.compile(re.escape(prefix) + r"(?:_(\d+))?-(?!.*_breakpoint\.).*\.(ckpt|safetensors)")
    found = [match for name in os.listdir(directory) if (match := form.fullmatch(name))]
    return f"_{max(int(match[1] or 0) for match in found) + 1}" if found else ""


def prefix_of_run(state: Mapping[str, object], prefix: str, owner: str) -> str:
    """Return the prefix, with its ending, under which a run to be gone on with has saved.

    Raises:
        ValueError: The state's "prefix" is not made of `prefix`.
    """
    saved = entry(state, "prefix", str, owner)
    if not re.fullmatch(re.escape(prefix) + r"(_\d+)?", saved):
        raise ValueError(f"For '{owner}', the state's 'prefix' {saved!r} is not {prefix!r}.")
    return saved
