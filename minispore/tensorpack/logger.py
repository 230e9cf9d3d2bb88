"""Where a training's lines are shown and its files are kept."""

import logging
import os
from typing import Final, TypeAlias

Path: TypeAlias = str | os.PathLike[str]

_log: Final = logging.getLogger("minispore.tensorpack")
_folder: dict[str, str] = {}


class _Printed(logging.Handler):
    """Prints on whatever standard output now is."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), flush=True)


def info(message: str) -> None:
    """Tell something; it is printed unless the program has handlers of module `logging`."""
    _tell(logging.INFO, message)


def warn(message: str) -> None:
    """Tell of a problem that the training survives."""
    _tell(logging.WARNING, message)


def error(message: str, cause: BaseException) -> None:
    """Tell of an exception that the training survives, with its traceback."""
    _tell(logging.ERROR, message, cause)


def _tell(level: int, message: str, cause: BaseException | None = None) -> None:
    if not _log.hasHandlers():  # a program that has set up logging gets its own way
        _log.addHandler(_Printed())
        _log.setLevel(logging.INFO)
    _log.log(level, message, exc_info=cause)


def set_logger_dir(dirname: Path) -> None:
    """Keep the files of callbacks that are given no folder of their own in this one, made now."""
    _folder["dir"] = os.path.abspath(dirname)
    os.makedirs(dirname, exist_ok=True)


def get_logger_dir() -> str | None:
    """Return the folder set by `set_logger_dir`, None before."""
    return _folder.get("dir")


def folder_for(given: Path | None, owner: object) -> str:
    """Return the folder that a callback was given, made now, or the logger's.

    Raises:
        ValueError: There is neither.
    """
    path = get_logger_dir() if given is None else os.path.abspath(given)
    if path is None:
        name = type(owner).__name__
        raise ValueError(f"{name} has no folder: give it one, or call logger.set_logger_dir.")
    os.makedirs(path, exist_ok=True)
    return path
