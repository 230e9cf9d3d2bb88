"""Files that are not regular: a FIFO would block, and a device would be replaced."""

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from minispore._cli import main
from minispore.tensorpack import JSONLWriter, JSONWriter
from minispore.tensorpack.param import HyperFile
from minispore.train import OnRequestExit, RunContext
from minispore.utils.atomic import open_regular_file
from tests.faults.test_disks import WRITERS, run_training
from tests.fuzz.reader_contract import Reader
from tests.fuzz.reader_registry import READERS

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX only"),
    pytest.mark.timeout(60),  # opening a FIFO would block
]

Maker = Callable[[Path], object]
# The first is the system's message for sockets.
REFUSED = "(No such device or address|Not a regular file)"


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made, chdir(path.parent):
        made.bind(path.name)  # the length of the path is limited to about 100 characters


def link_to_fifo(path: Path) -> None:
    fifo = path.with_name("fifo")
    os.mkfifo(fifo)
    path.symlink_to(fifo)


MAKERS: dict[str, Maker] = {"fifo": os.mkfifo, "socket": make_socket, "link": link_to_fifo}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Iterator[Maker]:
    """Yield a function that creates an irregular file; check that the file is unchanged."""
    made: dict[Path, int] = {}

    def make(path: Path) -> None:
        MAKERS[request.param](path)
        made[path] = path.stat().st_mode

    yield make
    assert {path: path.stat().st_mode for path in made} == made


@pytest.mark.parametrize("reader", [reader for reader in READERS if reader.refuses], ids=str)
def test_readers_do_not_block_on_fifo(tmp_path: Path, make: Maker, reader: Reader) -> None:
    path = tmp_path / reader.file
    make(path)
    refused = (*reader.refuses, OSError, ValueError, RuntimeError)
    with pytest.raises(refused, match=re.escape(str(tmp_path))):
        reader.read(path)


@pytest.mark.parametrize("writer", WRITERS)
def test_writers_do_not_replace_fifo(tmp_path: Path, make: Maker, writer: str) -> None:
    write, name = WRITERS[writer]
    make(tmp_path / name)
    with pytest.raises(OSError, match=re.escape(str(tmp_path / name))):
        write(tmp_path, 1)


def test_trace_page_does_not_replace_fifo(
    tmp_path: Path, make: Maker, capsys: pytest.CaptureFixture[str]
) -> None:
    WRITERS["trace"][0](tmp_path, 1)
    out = tmp_path / "page.html"
    make(out)
    assert main(["trace", str(tmp_path / "trace.jsonl"), "-o", str(out)]) == 2
    assert f"Not a regular file: '{out}'" in capsys.readouterr().err


def test_exit_request_and_hyper_parameters_ignore_fifo(tmp_path: Path, make: Maker) -> None:
    make(tmp_path / "file")
    file = HyperFile(str(tmp_path / "file"))
    values, [wrong] = file.read()
    assert not values
    assert re.fullmatch(f"it cannot be read: {REFUSED}", wrong)
    context = RunContext({})
    OnRequestExit(False, config_file=tmp_path / "file", sig=()).on_train_step_end(context)
    assert not context.get_stop_requested()


@pytest.mark.parametrize("writer", [JSONWriter, JSONLWriter])
def test_rows_are_not_written_to_fifo(
    tmp_path: Path, make: Maker, writer: type[JSONWriter], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / writer.FILENAME
    make(path)
    run_training([writer(tmp_path)])
    assert re.search(f"{REFUSED}: '{path}'", caplog.text)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_APPEND])
def test_open_fifo_is_not_used(tmp_path: Path, flags: int) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    other = os.open(path, os.O_RDWR)
    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    with pytest.raises(OSError, match=f"Not a regular file: '{path}'"):
        open_regular_file(str(path), flags)
    assert before is None or set(os.listdir("/proc/self/fd")) == before
    os.close(other)
