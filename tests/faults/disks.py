"""Disks on which nothing can be written any more: for real, and for a moment only."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from io import StringIO
from pathlib import Path

import pytest

NOBODY = 65534


class Disk:
    """A folder, and a way to make writing to it fail.

    Attributes:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def failing(self, *, at_once: bool = True) -> Generator[None, None, None]:
        """Until the end of this files can be made to fail."""
        with redirect_stdout(StringIO()):  # pytest's own files could not grow either
            try:
                if at_once:
                    self.fail()
                yield
            finally:
                self.recover()

    def fail(self) -> None:
        """From now on nothing can be written."""
        raise NotImplementedError

    def recover(self) -> None:
        """There is room again."""
        raise NotImplementedError

    def close(self) -> None:
        """Take the folder away."""


class Limited(Disk):
    """The system lets no file grow beyond so many bytes: what begins well ends in the middle."""

    def fail(self, most: int = 100) -> None:
        resource = pytest.importorskip("resource")
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    def recover(self) -> None:
        resource = pytest.importorskip("resource")
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Full(Disk):
    """A disk of a few megabytes in memory, which is filled to its last byte; root may mount it."""

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
    """A folder in which the user may not write; root becomes nobody for as long."""

    def __init__(self, folder: Path) -> None:
        # Nobody cannot reach the folders that pytest makes for root.
        super().__init__(Path(tempfile.mkdtemp(prefix="minispore-")) / "folder")
        self.folder.parent.chmod(0o755)
        self.folder.mkdir()

    def fail(self) -> None:
        for path in self.folder.rglob("*"):
            with suppress(FileNotFoundError):  # one that is saved in the background gets its name
                path.chmod(0o555 if path.is_dir() else path.stat().st_mode | 0o444)
        self.folder.chmod(0o555)
        if os.getuid() == 0:
            os.seteuid(NOBODY)

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
    """All files below a folder, hidden ones too, but for a full disk's ballast."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "ballast"
    }
