"""Folders on disks where writing fails: limited file size, full disk, read-only folder."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import pytest

UNPRIVILEGED_UID = 65534


class Disk:
    """A folder, and a way to make writing to it fail.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def failing(self, *, at_once: bool = True) -> Generator[None, None, None]:
        """Return a context in which writing fails, at once or after a call of `fail`."""
        with redirect_stdout(StringIO()):  # pytest's own files could not grow
            try:
                if at_once:
                    self.fail()
                yield
            finally:
                self.recover()

    def fail(self) -> None:
        raise NotImplementedError

    def recover(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Remove the folder."""


class Limited(Disk):
    """The system limits the size of a file: a write fails in the middle."""

    def fail(self, limit: int = 100) -> None:
        resource = pytest.importorskip("resource")
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def recover(self) -> None:
        resource = pytest.importorskip("resource")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Full(Disk):
    """A disk of three megabytes in memory, filled to its last byte; mounting requires root."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        command = ["mount", "-t", "tmpfs", "-o", "size=3m", "minispore", str(folder)]
        if not shutil.which("mount") or subprocess.call(command, stderr=subprocess.DEVNULL):
            pytest.skip("no tmpfs can be mounted here")
        self._ballast = folder / "ballast"
        self._ballast.touch()

    def fail(self) -> None:
        with self._ballast.open("ab", buffering=0) as file:
            for size in (2**16, 2**12, 1):
                try:
                    while file.write(bytes(size)):
                        pass
                except OSError:
                    continue

    def recover(self) -> None:
        os.truncate(self._ballast, 0)

    def close(self) -> None:
        subprocess.run(["umount", str(self.folder)], check=True)


class ReadOnly(Disk):
    """A folder without write permission; root changes to an unprivileged user while it fails."""

    def __init__(self, folder: Path) -> None:
        # An unprivileged user cannot access the folders that pytest creates for root.
        super().__init__(Path(tempfile.mkdtemp(prefix="minispore-")) / "folder")
        self.folder.parent.chmod(0o755)
        self.folder.mkdir()

    def fail(self) -> None:
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError):  # a file that a thread saves is renamed
                path.chmod(0o555 if path.is_dir() else path.stat().st_mode | 0o444)
        self.folder.chmod(0o555)
        if os.getuid() == 0:
            os.seteuid(UNPRIVILEGED_UID)

    def recover(self) -> None:
        os.seteuid(os.getuid())
        for path in [self.folder, *self.folder.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)

    def close(self) -> None:
        shutil.rmtree(self.folder.parent)


KINDS: dict[str, type[Disk]] = {
    "limited": Limited,
    "full": Full,
    "read-only": ReadOnly,
}


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, hidden ones too, except for the ballast of a full disk."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "ballast"
    }
