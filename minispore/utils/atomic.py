"""Files that are replaced atomically, and opened only if they are regular files.

`atomic_write` replaces a file: after a kill, an exception or a full disk at any point, the file has
the old content or the new one, never a mixture. `append_line` adds to a file that grows. Files that
are read are opened with `opener=open_regular_file`. None of them opens a FIFO, which would block,
or a device, which would be overwritten.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

_PREFIX: Final = ".minispore-"
_SUFFIX: Final = ".tmp"
# Folders in which this process has searched for the temporary files of killed processes.
_swept_folders: Final[set[str]] = set()
# Opening a FIFO does not block, and a terminal does not become the controlling terminal.
_FLAGS: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_regular_file(path: str, flags: int) -> int:
    """Open a regular file and return its descriptor: an `opener` for the function `open`.

    Args:
        path: The file.
        flags: The flags of `os.open`.

    Returns:
        The file descriptor.

    Raises:
        OSError: `path` is neither a regular file nor a folder; for a folder `open` raises
            IsADirectoryError.

    Examples:
        >>> open(os.devnull, opener=open_regular_file)
        Traceback (most recent call last):
        OSError: [Errno 22] Not a regular file: '/dev/null'
    """
    descriptor = os.open(path, flags | _FLAGS, 0o666)
    try:
        _check_regular(os.fstat(descriptor), path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    # `open` itself raises IsADirectoryError for a folder.
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path))


@contextmanager
def atomic_write(
    path: str | os.PathLike[str], permissions: int | None = None
) -> Generator[BinaryIO, None, None]:
    r"""Open a binary file that replaces `path` when the `with` block ends without an exception.

    The bytes are written to a temporary file in the same folder and flushed to the disk; the file
    is then renamed, which is an atomic operation of the system. If a step before that fails, the
    temporary file is removed and `path` is unchanged. If `path` is a symbolic link, the file that
    it points to is replaced. A killed process leaves the temporary file `.minispore-….tmp`; the
    next process that writes into the folder removes it.

    Args:
        path: The file to create or replace. Its folder must exist.
        permissions: The new file's permission bits, such as 0o400; by default those that the
            system gives to new files. Not used on Windows.

    Yields:
        The binary file to write into.

    Raises:
        OSError: With `path` as its file name: FileNotFoundError (no such folder),
            IsADirectoryError, PermissionError, or OSError itself for a full disk or if `path`
            exists and is not a regular file.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "notes.txt")
        >>> with atomic_write(path) as file:
        ...     _ = file.write(b"complete\n")
        >>> os.listdir(folder.name)
        ['notes.txt']
        >>> folder.cleanup()
    """
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, "The file to write is a folder", os.fspath(path))
    with suppress(FileNotFoundError):
        _check_regular(os.stat(path), path)
    folder = os.path.dirname(target)
    remove_stale_temporaries(folder)
    temporary, file = _open_temporary(folder, os.fspath(path))
    try:
        with file:
            yield file
            file.flush()
            if permissions is not None and os.name != "nt" and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), permissions)
            os.fsync(file.fileno())
            if os.name == "nt":  # Windows cannot rename an open file
                file.close()
            os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in {None, temporary}:
            # The error of a failed write does not contain the file's name.
            reason = f"{error.strerror} (nothing was changed) while writing"
            raise OSError(error.errno, reason, os.fspath(path)) from error
        raise
    _sync_folder(folder)


def append_line(path: str | os.PathLike[str], line: bytes) -> None:
    r"""Append a line to a file, in one write.

    A killed process leaves at most an incomplete last line. If the disk is full, the line is
    removed, and an empty file with it.

    Args:
        path: The file, created if it does not exist.
        line: The line with its end.

    Raises:
        OSError: The line cannot be written, or `path` is not a regular file.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "log")
        ...     append_line(path, b"one\n")
        ...     append_line(path, b"two\n")
        ...     os.path.getsize(path)
        8
    """
    remaining = memoryview(line)
    with open(path, "ab", buffering=0, opener=open_regular_file) as file:
        before = file.tell()
        try:
            while remaining:
                remaining = remaining[file.write(remaining) :]
        except OSError as error:
            file.truncate(before)
            if not before:
                os.unlink(path)
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def _open_temporary(folder: str, path: str) -> tuple[str, BinaryIO]:
    """Create a file with an unused name, which is locked while it is open."""
    while True:
        temporary = os.path.join(folder, f"{_PREFIX}{os.urandom(6).hex()}{_SUFFIX}")
        try:
            file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
        except FileExistsError:
            continue
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # another process removed it before it was locked


def remove_stale_temporaries(folder: str) -> None:
    """Remove the temporary files that killed processes have left in a folder.

    A process does this once for each folder. `atomic_write` calls it.

    Args:
        folder: The path of the folder.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     open(os.path.join(folder, ".minispore-0.tmp"), "wb").close()
        ...     remove_stale_temporaries(folder)
        ...     os.listdir(folder)
        []
    """
    if folder in _swept_folders:
        return
    _swept_folders.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX):
                _remove_if_stale(entry.path)


def _remove_if_stale(temporary: str) -> None:
    """Remove a temporary file unless a process holds its lock, which a kill releases."""
    with suppress(OSError), open(temporary, "rb", opener=open_regular_file) as file:
        if _lock(file, wait=False):
            if os.name == "nt":  # Windows cannot remove an open file
                file.close()
            os.unlink(temporary)


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    """Lock a file until it is closed, and return whether that was possible."""
    if os.name == "nt":
        return True
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # another process has locked it, or there are no locks
        return False
    return True


def _sync_folder(folder: str) -> None:
    """Make the rename durable in case of a power failure, if the system can."""
    # Windows and some file systems cannot; the file is complete in any case.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
