"""Download MNIST from several mirrors, with checksums and resumption.

The SHA-256 of the unpacked content identifies a file, since mirrors may compress it differently.
pooch (extra ``download``) transfers the bytes. This module resumes interrupted transfers, tries one
mirror after the other, and creates a file only when its content is complete and correct.
"""

import gzip
import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple, Protocol

from minispore.utils.atomic import atomic_write, regular
from minispore.utils.checks import check_number, check_type
from minispore.utils.progress import progress_bar

MNIST_MIRRORS: Final = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
"""Addresses of folders with MNIST's four files, gzipped, in the order in which they are tried."""


class Content(NamedTuple):
    """The expected content of an unpacked file."""

    size: int
    """The number of bytes."""
    sha256: str
    """The SHA-256 of the bytes, in hexadecimal."""


MNIST_FILES: Final[Mapping[str, Content]] = {
    "train-images-idx3-ubyte": Content(
        47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
    ),
    "train-labels-idx1-ubyte": Content(
        60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
    ),
    "t10k-images-idx3-ubyte": Content(
        7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
    ),
    "t10k-labels-idx1-ubyte": Content(
        10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
    ),
}
"""MNIST's four files and their contents."""

_CHUNK = 1 << 16
# The maximum number of bytes that gzip adds: a header, and a little for incompressible data.
_OVERHEAD = 1 << 16
_TRIES = 20  # for a mirror that interrupts transfers


def download_mnist(
    directory: str | os.PathLike[str],
    *,
    mirrors: Sequence[str] = MNIST_MIRRORS,
    progress: bool = True,
    timeout: float = 30.0,
) -> Path:
    """Download MNIST's four files and unpack them into a folder that `MnistDataset` reads.

    A file that exists with the correct content is not downloaded again. An interrupted download
    leaves a hidden ``.part`` file, which the next call continues.

    Args:
        directory: The folder, which is created if it is missing.
        mirrors: Addresses of folders with the gzipped files, tried in this order.
        progress: Whether to show a progress bar for each file on stderr.
        timeout: The number of seconds without a response after which the next mirror is tried.

    Returns:
        The folder.

    Raises:
        ImportError: If pooch is not installed (``pip install "minispore[download]"``).
        OSError: If the folder cannot be created, or a file in it cannot be written.
        RuntimeError: If all mirrors failed for a file; the message has the error of each.

    Examples:
        >>> folder = download_mnist("MNIST_Data")  # doctest: +SKIP
    """
    check_type(directory, (str, os.PathLike), "directory")
    check_number(timeout, "timeout", low=0)
    if isinstance(mirrors, str) or not mirrors:
        raise ValueError(
            "For 'download_mnist', the argument 'mirrors' must be a list of one or more addresses, "
            f"but got {mirrors!r}."
        )
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in MNIST_FILES.items():
        download_file(folder / name, content, mirrors, progress=progress, timeout=timeout)
    return folder


def download_file(
    path: Path, content: Content, mirrors: Sequence[str], *, progress: bool, timeout: float
) -> None:
    """Download and unpack one file, unless it exists already.

    Args:
        path: The path of the unpacked file. Mirrors have it under its name with ``.gz``.
        content: The expected content; a file with any other content is replaced.
        mirrors: Addresses of folders, tried in this order.
        progress: Whether to show a progress bar.
        timeout: The number of seconds to wait for a response.

    Raises:
        ImportError: If pooch is not installed.
        OSError: If the file cannot be written.
        RuntimeError: If all mirrors failed.
    """
    if path.is_file() and _has_content(path, content):
        return
    get = partial(_get, _import_pooch(), progress=progress, timeout=timeout)
    failures: list[str] = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{path.name}.gz"
        # Each address has its own partial file: the bytes of two mirrors may differ.
        short_hash = hashlib.sha256(url.encode()).hexdigest()[:8]
        part = path.with_name(f".{path.name}.{short_hash}.part")
        try:
            _fetch(partial(get, url), part, path, content)
        except _MirrorError as error:
            failures.append(f"{url}: {error}")
        else:
            return
    raise RuntimeError(
        f"For 'download_mnist', no mirror gave '{path.name}':\n  " + "\n  ".join(failures)
    )


class _MirrorError(Exception):
    """The download from one mirror failed."""


class _ChecksumMismatchError(_MirrorError):
    """The content from the mirror is not the expected one."""


def _fetch(get: "_Get", part: Path, path: Path, content: Content) -> None:
    """Download from one mirror, and resume an interrupted transfer."""
    limit = content.size + content.size // 1000 + _OVERHEAD
    while True:
        resumed = part.exists()
        try:
            _transfer(get, part, limit)
            _unpack(part, path, content)
        except _ChecksumMismatchError:
            part.unlink()
            if not resumed:
                raise
            # The mirror's file may have changed since the first transfer: restart.
        else:
            part.unlink()
            return


def _transfer(get: "_Get", part: Path, limit: int) -> None:
    """Append the missing bytes to `part`; retry as long as each attempt makes progress.

    If the server cannot resume (see `_get`), `part` is truncated first.

    Raises:
        _ChecksumMismatchError: The file has more than `limit` bytes.
        _MirrorError: The transfer failed.
    """
    for tries_left in reversed(range(_TRIES)):  # pragma: no branch (the last one raises)
        file = _PartialFile(part, limit)
        before = part.stat().st_size
        try:
            with closing(file):
                get(file, before)
            return
        except OSError as error:  # requests' errors are OSErrors
            if file.failure is not None:
                raise file.failure from error
            after = part.stat().st_size
            if not after:
                part.unlink()
            if after == before or not tries_left:
                raise _MirrorError(str(error)) from error


class _PartialFile:
    """A growing file, which distinguishes its own errors from those of the network.

    Attributes:
        failure: The error of the file, or None.

    Args:
        path: The file, which is created if it does not exist.
        limit: The maximum number of bytes.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.failure: OSError | None = None
        self._path = path
        self._limit = limit
        # Without a buffer, errors are raised by the write that causes them.
        self._file = open(path, "ab", buffering=0, opener=regular)  # noqa: SIM115 (see `close`)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        if os.fstat(self._file.fileno()).st_size + len(data) > self._limit:
            raise _ChecksumMismatchError(
                f"its file has more than {self._limit} bytes, the maximum for the expected content"
            )
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.failure = OSError(error.errno, error.strerror, os.fspath(self._path))
            raise

    def clear(self) -> None:
        """Truncate the file."""
        self._file.truncate(0)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


class _Response(Protocol):
    """The part of requests' response that is used here."""

    status_code: int
    headers: Mapping[str, str]

    def close(self) -> None: ...


# Requests the bytes from an offset on, and appends them to a file.
_Get = Callable[[_PartialFile, int], None]


def _get(
    pooch: ModuleType, url: str, file: _PartialFile, offset: int, *, progress: bool, timeout: float
) -> None:
    """Request the bytes of `url` from `offset` on, and append them to `file`."""

    def start(response: _Response, **_: object) -> None:
        # pooch does not close the connection after an error.
        connection.callback(response.close)
        # A server may ignore the range and send all bytes, or have none from there on.
        resumes = response.status_code == 206 and response.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {offset}-")
        if response.status_code in {200, 206, 416} and not resumes:
            file.clear()
        if response.status_code == 206 and not resumes:
            raise OSError("the server sent another range of the file than requested")

    # Otherwise a server may unpack gzip files.
    headers = {"Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    name = url.rpartition("/")[2]
    progress = progress and sys.stderr is not None
    # pooch tests the truth value of the bar, which needs a total.
    with (
        ExitStack() as connection,
        progress_bar(desc=name, total=1, unit="B", unit_scale=True, disable=not progress) as bar,
    ):
        downloader = pooch.HTTPDownloader(
            progressbar=bar if progress else False,
            chunk_size=_CHUNK,
            headers=headers,
            hooks={"response": start},
            timeout=timeout,
        )
        downloader(url, file, None)


def _import_pooch() -> ModuleType:
    try:
        return import_module("pooch")
    except ImportError as error:
        raise ImportError(
            "For 'download_mnist', the package 'pooch' is missing; "
            'install it with: pip install "minispore[download]"'
        ) from error


def _unpack(part: Path, path: Path, content: Content) -> None:
    """Unpack `part` to `path` if the result has the expected content; otherwise change nothing."""
    digest = hashlib.sha256()
    size = 0
    with open(part, "rb", opener=regular) as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        source = gzip.GzipFile(fileobj=raw) if packed else raw
        with atomic_write(path) as target:
            try:
                while size <= content.size and (chunk := source.read(_CHUNK)):
                    digest.update(chunk)
                    size += len(chunk)
                    target.write(chunk)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise _ChecksumMismatchError(f"its gzip data is damaged ({error})") from error
            if Content(size, digest.hexdigest()) != content:
                raise _ChecksumMismatchError(
                    f"its content is not the expected one (the SHA-256 of its first {size} bytes "
                    f"is {digest.hexdigest()}, expected are {content.size} bytes with "
                    f"{content.sha256})"
                )


def _has_content(path: Path, content: Content) -> bool:
    if path.stat().st_size != content.size:
        return False
    with open(path, "rb", opener=regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == content.sha256
