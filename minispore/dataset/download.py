"""Download MNIST from several mirrors, with checksums.

The SHA-256 of the unpacked content identifies a file, since mirrors may compress it differently.
pooch (extra ``download``) transfers the bytes, verifies the content, and creates a file only when
its content is complete and correct.
"""

import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from gzip import BadGzipFile, GzipFile
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from minispore.utils.atomic import atomic_write, open_regular_file
from minispore.utils.checks import check_number, check_type, value_error
from minispore.utils.progress import progress_bar

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

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


def download_mnist(
    directory: str | os.PathLike[str],
    *,
    mirrors: Sequence[str] = MNIST_MIRRORS,
    progress: bool = True,
    timeout: float = 30.0,
) -> Path:
    """Download MNIST's four files and unpack them into a folder that `MnistDataset` reads.

    A file that exists with the correct content is not downloaded again. An interrupted download
    leaves nothing, and the next call starts it again. pooch's logger names each address.

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
        raise value_error(mirrors, "mirrors", "be a list of one or more addresses")
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
    try:
        retrieve = import_module("pooch").retrieve
        network_error = import_module("requests").RequestException
    except ImportError as error:
        raise ImportError(
            "For 'download_mnist', the package 'pooch' is missing; "
            'install it with: pip install "minispore[download]"'
        ) from error
    if path.exists():  # a pipe, from which pooch would read, is refused
        open(path, "rb", opener=open_regular_file).close()
    download = partial(_download, size=content.size, progress=progress, timeout=timeout)
    failures: list[str] = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{path.name}.gz"
        try:
            retrieve(url, content.sha256, path.name, path.parent.resolve(), downloader=download)
        except (network_error, ValueError) as error:
            failures.append(f"{url}: {error}")
        else:
            return
    raise RuntimeError(
        f"For 'download_mnist', no mirror gave '{path.name}':\n  " + "\n  ".join(failures)
    )


def _download(
    url: str, path: str, _pooch: object, /, *, size: int, progress: bool, timeout: float
) -> None:
    """Write the unpacked content of `url` to `path`."""
    packed = _Packed(size + size // 1000 + _OVERHEAD)
    shown = progress and sys.stderr is not None
    # pooch tests the truth value of the bar, which needs a total.
    bar = progress_bar(
        desc=url.rpartition("/")[2], total=1, unit="B", unit_scale=True, disable=not shown
    )
    with bar:
        import_module("pooch").HTTPDownloader(
            progressbar=bar if shown else False,
            chunk_size=_CHUNK,
            headers={"Accept-Encoding": "identity"},  # Otherwise a server may unpack gzip files.
            timeout=timeout,
        )(url, packed, None)
    content = _unpack(packed, size)
    # Only its owner can read a file that pooch has created.
    with atomic_write(path) as file:
        file.write(content)


class _Packed(BytesIO):
    """The bytes of a transfer, of which there are at most `limit`."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def write(self, data: "ReadableBuffer", /) -> int:
        written = super().write(data)
        if self.tell() > self._limit:
            raise ValueError(
                f"its file has more than {self._limit} bytes, the maximum for the expected content"
            )
        return written


def _unpack(packed: BytesIO, size: int) -> bytes:
    """Return the content of a file that may be gzipped, or its first bytes if it is too long.

    Raises:
        ValueError: The gzip data are damaged.
    """
    is_gzip = packed.getvalue().startswith(b"\x1f\x8b")
    packed.seek(0)
    try:
        return (GzipFile(fileobj=packed) if is_gzip else packed).read(size + 1)
    except (BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"its gzip data is damaged ({error})") from error
