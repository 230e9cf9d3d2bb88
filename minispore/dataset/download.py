"""MNIST from the network: several mirrors, known contents, resumed after an interruption.

A file is what its unpacked content says: a mirror may have compressed it anew, so the SHA-256 of
the unpacked bytes decides, whatever came over the wire. The transfer itself is pooch's (extra
``download``); here is what surrounds it: where a broken transfer goes on, which mirror comes next,
and that a file appears under its name only when it is whole and right.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self

from minispore._atomic import regular, replacing
from minispore._checks import check_number, check_type

MNIST_MIRRORS: Final = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
"""Folders on the network that hold MNIST's four files, gzipped; tried in this order."""


class Content(NamedTuple):
    """What a file must hold, unpacked."""

    size: int
    """Bytes."""
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
"""MNIST's four files and what is in them."""

_CHUNK = 1 << 16
# What a gzip file may have beyond its content: a header, and a little for what cannot be packed.
_OVERHEAD = 1 << 16
_TRIES = 20  # for a mirror that breaks off again and again


def download_mnist(
    directory: str | os.PathLike[str],
    *,
    mirrors: Sequence[str] = MNIST_MIRRORS,
    progress: bool = True,
    timeout: float = 30.0,
) -> Path:
    """Download MNIST's four files and unpack them into a folder that `MnistDataset` reads.

    A file that is there with the right content is left alone. An interrupted download leaves a
    hidden ``.part`` file, with which the next call goes on.

    Args:
        directory: The folder; made if it is missing.
        mirrors: Addresses of folders with the gzipped files, tried one after the other.
        progress: Whether to show a progress bar for each file on stderr.
        timeout: Seconds without an answer after which a mirror counts as silent.

    Returns:
        The folder.

    Raises:
        ImportError: If pooch is not installed (``pip install "minispore[download]"``).
        OSError: If the folder cannot be made, or a file in it cannot be written.
        RuntimeError: If no mirror gave a file; the message holds each mirror's failure.

    Examples:
        >>> folder = download_mnist("MNIST_Data")  # doctest: +SKIP
    """
    check_type(directory, (str, os.PathLike), "directory", "download_mnist")
    check_number(timeout, "timeout", "download_mnist", low=0)
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
    """Download and unpack one file, unless it is there already.

    Args:
        path: Where the unpacked file goes. A mirror has it as its name with ``.gz``.
        content: What it must hold; a file that holds something else is replaced.
        mirrors: Addresses of folders, tried one after the other.
        progress: Whether to show a progress bar.
        timeout: Seconds.

    Raises:
        ImportError: If pooch is not installed.
        OSError: If the file cannot be written.
        RuntimeError: If no mirror gave the file.
    """
    if path.is_file() and _holds(path, content):
        return
    failures: list[str] = []
    for mirror in mirrors:
        url = f"{mirror.rstrip('/')}/{path.name}.gz"
        try:
            _fetch(url, path, content, progress=progress, timeout=timeout)
        except _MirrorError as error:
            failures.append(f"{url}: {error}")
        else:
            return
    raise RuntimeError(
        f"For 'download_mnist', no mirror gave '{path.name}':\n  " + "\n  ".join(failures)
    )


class _MirrorError(Exception):
    """The mirror did not give the file."""


class _WrongContentError(_MirrorError):
    """The mirror sent something else."""


def _fetch(url: str, path: Path, content: Content, *, progress: bool, timeout: float) -> None:
    """Download from one mirror, going on where an earlier try was cut off."""
    # Each address has a part of its own: what two mirrors send may differ in its bytes.
    part = path.with_name(f".{path.name}.{_short_hash(url)}.part")
    limit = content.size + content.size // 1000 + _OVERHEAD
    while True:
        resumed = part.exists()
        try:
            _transfer(url, part, limit, progress=progress, timeout=timeout)
            _unpack(part, path, content)
        except _WrongContentError:
            part.unlink()
            if not resumed:
                raise
            # The mirror's file may have changed since the part began: once more from the start.
        else:
            part.unlink()
            return


def _transfer(url: str, part: Path, limit: int, *, progress: bool, timeout: float) -> None:
    """Append to `part` what is missing of `url`; try again as long as each try changes something.

    A part that is of no use to the server (see `_get`) is emptied, and then filled from the start.

    Raises:
        _WrongContentError: The file has more than `limit` bytes; the transfer was ended there.
        _MirrorError: The mirror did not give it.
    """
    pooch = _import_pooch()
    for tries_left in reversed(range(_TRIES)):  # pragma: no branch (the last one ends it)
        file = _Part(part, limit)
        before = part.stat().st_size
        try:
            with file:
                _get(pooch, url, file, before, progress=progress, timeout=timeout)
            return
        except OSError as error:  # requests' errors are OSErrors
            if file.failure is not None:
                raise file.failure from error
            after = part.stat().st_size
            if not after:
                part.unlink()
            if after == before or not tries_left:
                raise _MirrorError(str(error)) from error


class _Part:
    """The beginning of a file, which grows; it tells its own failures from the network's.

    Attributes:
        failure: What went wrong with the file.

    Args:
        path: The file, made if it is not there.
        limit: How many bytes it may have.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.failure: OSError | None = None
        self._path = path
        self._limit = limit
        # Without a buffer: what fails does so when it is written.
        self._file = open(path, "ab", buffering=0, opener=regular)  # noqa: SIM115 (see `__exit__`)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, data: bytes) -> None:
        """Add the bytes at the end."""
        if os.fstat(self._file.fileno()).st_size + len(data) > self._limit:
            raise _WrongContentError(
                f"its file has more than {self._limit} bytes, the most that the known content takes"
            )
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.failure = OSError(error.errno, error.strerror, os.fspath(self._path))
            raise

    def clear(self) -> None:
        """Begin anew."""
        self._file.truncate(0)

    def flush(self) -> None:
        """Nothing waits."""


class _Response(Protocol):
    """What is asked of requests' response."""

    status_code: int
    headers: Mapping[str, str]

    def close(self) -> None: ...


class _Downloader(Protocol):
    """pooch's downloader, which has no types of its own."""

    def __call__(self, url: str, output_file: _Part, pooch: None) -> None: ...


class _Pooch(Protocol):
    """The part of pooch that is used here."""

    def HTTPDownloader(  # noqa: N802
        self,
        progressbar: object,
        chunk_size: int,
        headers: Mapping[str, str],
        hooks: Mapping[str, object],
        timeout: float,
    ) -> _Downloader: ...


def _get(
    pooch: _Pooch, url: str, file: _Part, offset: int, *, progress: bool, timeout: float
) -> None:
    """One request for the bytes of `url` from `offset` on, written to the end of `file`."""

    def start(response: _Response, **_: object) -> None:
        # pooch leaves the connection open where an error ends the transfer.
        connection.callback(response.close)
        # A server may ignore the wish and send all, or have nothing from there on.
        resumes = response.status_code == 206 and response.headers.get(
            "Content-Range", ""
        ).startswith(f"bytes {offset}-")
        if response.status_code in {200, 206, 416} and not resumes:
            file.clear()
        if response.status_code == 206 and not resumes:
            raise OSError("the server sent another part of the file than was asked for")

    from tqdm import tqdm

    # gzip files must come as they are; a server may otherwise unpack them on the way.
    headers = {"Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    name = url.rpartition("/")[2]
    # pooch asks for the bar's truth value, which has none before its total is known.
    with (
        ExitStack() as connection,
        tqdm(desc=name, total=1, unit="B", unit_scale=True, disable=not progress) as bar,
    ):
        downloader: _Downloader = pooch.HTTPDownloader(
            progressbar=bar if progress else False,
            chunk_size=_CHUNK,
            headers=headers,
            hooks={"response": start},
            timeout=timeout,
        )
        downloader(url, file, None)


def _import_pooch() -> _Pooch:
    from importlib import import_module
    from typing import cast

    try:
        return cast("_Pooch", import_module("pooch"))
    except ImportError as error:
        raise ImportError(
            "For 'download_mnist', the package 'pooch' is missing; "
            'install it with: pip install "minispore[download]"'
        ) from error


def _unpack(part: Path, path: Path, content: Content) -> None:
    """Unpack `part` to `path` if the result is `content`; otherwise change nothing."""
    import gzip
    import hashlib
    import zlib

    digest = hashlib.sha256()
    size = 0
    with open(part, "rb", opener=regular) as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        source = gzip.GzipFile(fileobj=raw) if packed else raw
        with replacing(path) as target:
            try:
                while size <= content.size and (chunk := source.read(_CHUNK)):
                    digest.update(chunk)
                    size += len(chunk)
                    target.write(chunk)
            except (gzip.BadGzipFile, EOFError, zlib.error) as error:
                raise _WrongContentError(f"its gzip data is damaged ({error})") from error
            if Content(size, digest.hexdigest()) != content:
                raise _WrongContentError(
                    f"its content is not the known one (the SHA-256 of its first {size} bytes is "
                    f"{digest.hexdigest()}, expected are {content.size} bytes with "
                    f"{content.sha256})"
                )


def _holds(path: Path, content: Content) -> bool:
    import hashlib

    if path.stat().st_size != content.size:
        return False
    with open(path, "rb", opener=regular) as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == content.sha256


def _short_hash(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:8]
