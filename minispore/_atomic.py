"""Files that are there whole or not at all.

Everything that the package writes goes through `replacing`: a kill, an exception or a full disk at
any moment leaves the old file (or none), never half of the new one.
"""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO


@contextmanager
def replacing(
    path: str | os.PathLike[str], permissions: int | None = None
) -> Generator[BinaryIO, None, None]:
    r"""Open a binary file that takes the place of `path` when the block ends without an exception.

    The bytes go to a temporary file in the same folder, are forced to the disk, and the file is
    then renamed, which the operating system does in one step. If anything fails before that,
    the temporary file is removed and `path` is what it was. A symbolic link is followed: the file
    that it points to is replaced. After a kill the temporary file, `.….tmp`, may be left over.

    Args:
        path: The file to make or replace. Its folder must exist.
        permissions: The new file's permission bits, such as 0o400; by default what the system
            gives new files. Not used on Windows.

    Raises:
        OSError: With `path` as its file name: FileNotFoundError (no such folder),
            IsADirectoryError, PermissionError, or the plain class for a full disk.

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
    temporary, file = _open_beside(target, os.fspath(path))
    try:
        with file:
            yield file
            file.flush()
            if permissions is not None and os.name != "nt":
                os.fchmod(file.fileno(), permissions)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in {None, temporary}:
            # A failing write does not know its file's name; the user must.
            reason = f"{error.strerror} (nothing was changed) while writing"
            raise OSError(error.errno, reason, os.fspath(path)) from error
        raise
    _sync_folder(os.path.dirname(target))


def _open_beside(target: str, shown: str) -> tuple[str, BinaryIO]:
    """A new file with a name of its own in the folder of `target`."""
    folder = os.path.dirname(target)
    while True:
        temporary = os.path.join(folder, f".{os.urandom(6).hex()}.tmp")
        try:
            return temporary, open(temporary, "xb")
        except FileExistsError:
            continue
        except OSError as error:
            raise OSError(error.errno, error.strerror, shown) from None


def _sync_folder(folder: str) -> None:
    """Make the rename itself last through a power cut, where the system can do that."""
    # Some file systems (and Windows) cannot; the file is complete either way.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
