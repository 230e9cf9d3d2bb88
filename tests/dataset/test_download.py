"""Downloads from servers on this machine, most of which fail in some way."""

import gzip
import hashlib
import re
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.dataset import download
from minispore.dataset.download import Content, download_file, download_mnist
from tests.faults.disk_faults import Disk, Limited, ReadOnly

pytest.importorskip("pooch")

PLAIN = bytes(range(256)) * 4000
PACKED = gzip.compress(hashlib.shake_256(b"digits").digest(300_000), mtime=0)  # hard to compress
UNPACKED = gzip.decompress(PACKED)


def content_of(data: bytes) -> Content:
    return Content(len(data), hashlib.sha256(data).hexdigest())


class Server:
    """A web server on loopback that records the requests.

    Attributes:
        files: The content of each path.
        announces: Whether it sends the length.
        sent: The number of bytes of files that were sent.
        cuts: The numbers of bytes after which the next responses are interrupted.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.announces = True
        self.sent = 0
        self.cuts: list[int] = []
        self.requests: list[str] = []
        self.address = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append(handler.path)
        data = self.files.get(handler.path)
        if data is None:
            handler.send_error(404)
            return
        handler.send_response(200)
        if self.announces:
            handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        body = data[: self.cuts.pop(0)] if self.cuts else data
        with suppress(ConnectionError):  # the client has closed it
            for first in range(0, len(body), 100_000):
                handler.wfile.write(body[first : first + 100_000])
                self.sent += 100_000


@contextmanager
def serving() -> Generator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        server.address = f"http://127.0.0.1:{http.server_address[1]}"
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[[bytes | None], Server]]:
    """Start a server with the given file.gz."""
    with ExitStack() as stack:

        def start(data: bytes | None) -> Server:
            server = stack.enter_context(serving())
            if data is not None:
                server.files["/file.gz"] = data
            return server

        yield start


def fetch(folder: Path, *mirrors: Server, content: Content = content_of(UNPACKED)) -> bytes:  # noqa: B008
    path = folder / "file"
    addresses = [server.address for server in mirrors]
    download_file(path, content, addresses, progress=False, timeout=10)
    return path.read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


Start = Callable[[bytes | None], Server]


# MNIST's files begin with two zeros, and so not as gzip's do.
contents = st.binary(max_size=99).filter(lambda data: not data.startswith(b"\x1f\x8b"))


@given(data=contents, level=st.none() | st.integers(0, 9))
def test_file_is_downloaded_whatever_its_compression(data: bytes, level: int | None) -> None:
    with TemporaryDirectory() as folder, serving() as server:
        server.files["/file.gz"] = data if level is None else gzip.compress(data, level)
        assert fetch(Path(folder), server, content=content_of(data)) == data
        assert names(Path(folder)) == ["file"]
        assert server.requests == ["/file.gz"]


def test_existing_correct_file_is_not_downloaded(tmp_path: Path, serve: Start) -> None:
    server = serve(PACKED)
    (tmp_path / "file").write_bytes(UNPACKED)
    before = (tmp_path / "file").stat().st_mtime_ns
    assert fetch(tmp_path, server) == UNPACKED
    assert (tmp_path / "file").stat().st_mtime_ns == before
    assert server.requests == []


@pytest.mark.parametrize("wrong", [b"", UNPACKED[:-1], UNPACKED[:-1] + b"?"])
def test_file_with_wrong_content_is_replaced(tmp_path: Path, serve: Start, wrong: bytes) -> None:
    (tmp_path / "file").write_bytes(wrong)
    assert fetch(tmp_path, serve(PACKED)) == UNPACKED


@pytest.mark.parametrize("announces", [True, False])
def test_transfer_of_too_large_file_is_aborted(
    tmp_path: Path, serve: Start, announces: bool
) -> None:
    bad, good = serve(bytes(50_000_000)), serve(PACKED)
    bad.announces = announces
    assert fetch(tmp_path, bad, good) == UNPACKED
    assert names(tmp_path) == ["file"]
    assert 0 < bad.sent < 25_000_000  # includes the bytes in the buffers of the sockets
    limit = len(UNPACKED) + len(UNPACKED) // 1000 + 2**16
    with pytest.raises(RuntimeError, match=f"its file has more than {limit} bytes"):
        (tmp_path / "file").unlink()
        fetch(tmp_path, bad)
    assert names(tmp_path) == []


@given(st.integers(0, len(PACKED) - 1))
def test_interrupted_download_leaves_nothing_and_starts_again(cut: int) -> None:
    with TemporaryDirectory() as folder, serving() as server:
        server.files["/file.gz"] = PACKED
        server.cuts = [cut]
        with pytest.raises(RuntimeError, match="no mirror gave 'file'"):
            fetch(Path(folder), server)
        assert names(Path(folder)) == []
        assert fetch(Path(folder), server) == UNPACKED


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_file_has_the_permissions_of_a_new_file(tmp_path: Path, serve: Start) -> None:
    (tmp_path / "new").touch()
    fetch(tmp_path, serve(PACKED))
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "new").stat().st_mode


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (None, "404"),
        (b"<html>Please log in</html>", "does not match the known hash"),
        (gzip.compress(b"another file", mtime=0), "does not match the known hash"),
        (gzip.compress(UNPACKED + b"!", mtime=0), "does not match the known hash"),
        (PACKED[:-9], "its gzip data is damaged"),
        (PACKED[:1000] + b"\0" * 1000 + PACKED[2000:], "its gzip data is damaged"),
    ],
    ids=("missing", "no gzip", "another file", "another length", "cut", "changed"),
)
def test_next_mirror_is_tried_after_a_failure(
    tmp_path: Path, serve: Start, sent: bytes | None, message: str
) -> None:
    bad, good = serve(sent), serve(PACKED)
    with pytest.raises(RuntimeError, match=message):
        fetch(tmp_path, bad)
    assert names(tmp_path) == []
    assert fetch(tmp_path, bad, good) == UNPACKED
    assert names(tmp_path) == ["file"]


def test_wrong_file_is_kept_until_replacement_is_complete(tmp_path: Path, serve: Start) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(RuntimeError, match="no mirror"):
        fetch(tmp_path, serve(b"new"))
    assert (tmp_path / "file").read_bytes() == b"old"


def test_error_lists_failure_of_each_mirror(tmp_path: Path, serve: Start) -> None:
    absent, wrong, empty = serve(None), serve(b"nonsense"), serve(PACKED)
    empty.cuts = [0]
    with serving() as stopped:
        pass
    with pytest.raises(RuntimeError) as error:
        fetch(tmp_path, absent, wrong, empty, stopped)
    lines = str(error.value).splitlines()
    assert lines[0] == "For 'download_mnist', no mirror gave 'file':"
    assert len(lines) == 5
    for line, server in zip(lines[1:], (absent, wrong, empty, stopped), strict=True):
        assert line.startswith(f"  {server.address}/file.gz: ")


def test_progress_bar_ends_at_total(
    tmp_path: Path, serve: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file"
    download_file(path, content_of(UNPACKED), [serve(PACKED).address], progress=True, timeout=10)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"file\.gz: 100%", err)


def test_progress_bar_is_hidden_without_standard_error(
    tmp_path: Path, serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    path = tmp_path / "file"
    download_file(path, content_of(UNPACKED), [serve(PACKED).address], progress=True, timeout=10)
    assert path.read_bytes() == UNPACKED


def test_four_files_in_a_new_folder(
    tmp_path: Path, serve: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: name.encode() * 100 for name in download.MNIST_FILES}
    contents = {name: content_of(data) for name, data in files.items()}
    monkeypatch.setattr(download, "MNIST_FILES", contents)
    server = serve(None)
    server.files = {f"/mnist/{name}.gz": gzip.compress(data) for name, data in files.items()}
    mirrors = [f"{server.address}/mnist/"]
    folder = tmp_path / "a" / "b"
    assert download_mnist(folder, mirrors=mirrors, progress=False) == folder
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == files
    assert len(server.requests) == 4
    download_mnist(str(folder), mirrors=mirrors, progress=False)
    assert len(server.requests) == 4


@pytest.mark.full
@pytest.mark.mnist
def test_download_of_real_mnist(tmp_path: Path, serve: Start, mnist: Path) -> None:
    server = serve(None)
    for name in download.MNIST_FILES:
        packed, plain = mnist / f"{name}.gz", mnist / name
        server.files[f"/{name}.gz"] = (packed if packed.exists() else plain).read_bytes()
    download_mnist(tmp_path, mirrors=[server.address], progress=False)
    assert set(names(tmp_path)) == set(download.MNIST_FILES)


def test_missing_pooch_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=re.escape('pip install "minispore[download]"')):
        download_mnist(tmp_path, progress=False)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"directory": 3}, "'directory'"),
        ({"timeout": -1}, "'timeout'"),
        ({"mirrors": []}, "'mirrors' must be a list"),
        ({"mirrors": ()}, "'mirrors' must be a list"),
        ({"mirrors": "https://a.example"}, "'mirrors' must be a list"),
    ],
)
def test_bad_arguments_are_refused(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    call: Any = download_mnist
    with pytest.raises((TypeError, ValueError), match=message):
        call(**{"directory": tmp_path, **arguments})


@pytest.mark.skipif(sys.platform == "win32", reason="the faults are simulated on POSIX only")
@pytest.mark.parametrize("kind", [Limited, ReadOnly])
def test_disk_error_is_not_blamed_on_mirror(serve: Start, tmp_path: Path, kind: type[Disk]) -> None:
    first, second = serve(PACKED), serve(PACKED)
    disk = kind(tmp_path)
    with disk.failing(), pytest.raises(OSError, match=re.escape(str(disk.folder))):
        fetch(disk.folder, first, second)
    assert not second.requests
    assert names(disk.folder) == []
    # When the disk works again, the download starts again.
    assert fetch(disk.folder, first) == UNPACKED
    disk.close()
