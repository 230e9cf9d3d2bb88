"""How the package opens files: it writes them completely or not at all, and only regular ones.

`replacing` writes a complete file: a kill, an exception or a full disk at any moment leaves the old
file (or none), never half of the new one. What is read, or grows line by line, is opened with
`regular`. Both refuse what is not a regular file: a FIFO would block, a device would be replaced.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

_BEGIN: Final = ".minispore-"
_END: Final = ".tmp"
# Folders that this process has looked through for what killed ones have left.
_swept: Final[set[str]] = set()
# Opening a FIFO returns at once, and a terminal does not become the process's own.
_FLAGS: Final[int] = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def regular(path: str, flags: int) -> int:
    """Open a regular file; OSError if `path` is anything else. To be `open`'s argument `opener`.

    Examples:
        >>> open(os.devnull, opener=regular)
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
    # `open` refuses a folder, with an error of its own.
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", os.fspath(path))


@contextmanager
def replacing(
    path: str | os.PathLike[str], permissions: int | None = None
) -> Generator[BinaryIO, None, None]:
    r"""Open a binary file that takes the place of `path` when the block ends without an exception.

    The bytes go to a temporary file in the same folder, are forced to the disk, and the file is
    then renamed, which the operating system does in one step. If anything fails before that,
    the temporary file is removed and `path` is what it was. A symbolic link is followed: the file
    that it points to is replaced. A kill leaves the temporary file, `.minispore-….tmp`, which the
    next process that writes into the folder removes.

    Args:
        path: The file to make or replace. Its folder must exist.
        permissions: The new file's permission bits, such as 0o400; by default what the system
            gives new files. Not used on Windows.

    Raises:
        OSError: With `path` as its file name: FileNotFoundError (no such folder),
            IsADirectoryError, PermissionError, or the plain class for a full disk and for a
            `path` that is neither new nor a regular file.

    Examples:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = os.path.join(folder.name, "notes.txt")
        >>> with replacing(path) as file:
        ...     _ = file.write(b"whole\n")
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
    sweep(folder)
    temporary, file = _open_in(folder, os.fspath(path))
    try:
        with file:
            yield file
            file.flush()
            if permissions is not None and os.name != "nt" and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), permissions)
            os.fsync(file.fileno())
            if os.name == "nt":  # which renames no open file
                file.close()
            os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in {None, temporary}:
            # A failing write does not know its file's name; the user must.
            reason = f"{error.strerror} (nothing was changed) while writing"
            raise OSError(error.errno, reason, os.fspath(path)) from error
        raise
    _sync_folder(folder)


def _open_in(folder: str, shown: str) -> tuple[str, BinaryIO]:
    """A new file with a name of its own, which is locked while it is open."""
    while True:
        temporary = os.path.join(folder, f"{_BEGIN}{os.urandom(6).hex()}{_END}")
        try:
            file = open(temporary, "xb")  # noqa: SIM115 (the caller closes it)
        except FileExistsError:
            continue
        except OSError as error:
            raise OSError(error.errno, error.strerror, shown) from None
        _lock(file, wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # somebody has swept it away before it was locked


def sweep(folder: str) -> None:
    """Remove the temporary files of killed processes, if this one has not done so before.

    `replacing` does it by itself.
    """
    if folder in _swept:
        return
    _swept.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_BEGIN) and entry.name.endswith(_END):
                _remove_left(entry.path)


def _remove_left(temporary: str) -> None:
    """Remove a temporary file if nobody is writing it: a kill unlocks what a process had open."""
    with suppress(OSError), open(temporary, "rb", opener=regular) as file:
        if _lock(file, wait=False):
            if os.name == "nt":  # which removes no open file, whoever has it open
                file.close()
            os.unlink(temporary)


def _lock(file: BinaryIO, *, wait: bool) -> bool:
    """Lock a file until it is closed; return whether that was possible."""
    if os.name == "nt":
        return True
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):  # it is locked, or there are no locks: then nothing is swept
        return False
    return True


def _sync_folder(folder: str) -> None:
    """Make the rename itself last through a power cut, where the system can do that."""
    # Some file systems (and Windows) cannot; the file is complete either way.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
