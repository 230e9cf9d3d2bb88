"""The log messages and the default output folder of tensorpack's callbacks."""

import logging
import os
import shutil
from typing import Final, TypeAlias

from minispore.utils.checks import check_one_of

Path: TypeAlias = str | os.PathLike[str]

_log: Final = logging.getLogger("minispore.tensorpack")
_folder: dict[str, str] = {}


class _StdoutHandler(logging.Handler):
    """A handler that prints on the current `sys.stdout`, which may have been redirected."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), flush=True)


def info(message: str) -> None:
    """Log a message; it is printed unless the program has configured `logging`.

    Args:
        message: The text.

    Source: tensorpack's `logger.info`.
    """
    _log_message(logging.INFO, message)


def warn(message: str) -> None:
    """Log a warning about a problem that does not end the training.

    Args:
        message: The text.

    Source: tensorpack's `logger.warn`.
    """
    _log_message(logging.WARNING, message)


def error(message: str, cause: BaseException | None = None) -> None:
    """Log an error that does not end the training, with the traceback of its cause.

    Args:
        message: The text.
        cause: The exception whose traceback follows the text, if there is one.

    Source: tensorpack's `logger.error`.
    """
    _log_message(logging.ERROR, message, cause)


def _log_message(level: int, message: str, cause: BaseException | None = None) -> None:
    if not _log.hasHandlers():  # otherwise the program's own configuration applies
        _log.addHandler(_StdoutHandler())
        _log.setLevel(logging.INFO)
    _log.log(level, message, exc_info=cause)


def set_logger_dir(dirname: Path, action: str | None = None) -> None:
    """Create a folder and make it the default output folder of all callbacks.

    Args:
        dirname: The folder.
        action: What to do if the folder contains files other than hidden ones: "k" or None keeps
            them, "d" deletes the folder, "q" raises an error.

    Raises:
        OSError: With "q", if the folder contains files.
        ValueError: `action` is something else.

    Examples:
        >>> import os
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     set_logger_dir(folder)
        ...     print(get_logger_dir() == os.path.abspath(folder))
        True

    Source: tensorpack's `logger.set_logger_dir`.
    """
    check_one_of(action, (None, "k", "d", "q"), "action")
    path = os.path.abspath(dirname)
    os.makedirs(path, exist_ok=True)
    if action in {"d", "q"} and any(not name.startswith(".") for name in os.listdir(path)):
        if action == "q":
            raise OSError(f"For 'set_logger_dir', the folder '{path}' already contains files.")
        shutil.rmtree(path)
        os.makedirs(path)
    _folder["dir"] = path


def get_logger_dir() -> str | None:
    """Return the folder that `set_logger_dir` has set.

    Returns:
        The absolute path, or None.

    Source: tensorpack's `logger.get_logger_dir`.
    """
    return _folder.get("dir")


def folder_for(directory: Path | None, owner: object) -> str:
    """Return the output folder of a callback, and create it.

    Args:
        directory: The folder that the callback was constructed with; None for the default folder.
        owner: The callback, for the message.

    Returns:
        The absolute path.

    Raises:
        ValueError: There is neither.
    """
    path = get_logger_dir() if directory is None else os.path.abspath(directory)
    if path is None:
        name = type(owner).__name__
        raise ValueError(
            f"{name} has no output folder: pass one, or call logger.set_logger_dir first."
        )
    os.makedirs(path, exist_ok=True)
    return path
