"""Atomic writes: the file is the old or the new one after every failure."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NoReturn
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.utils import atomic
from minispore.utils.atomic import atomic_write, open_regular_file

OLD, NEW = b"old" * 1000, b"new" * 200_000

# Replaces the file over and over, and says when it begins.
WRITER = """
import sys
from minispore.utils.atomic import atomic_write
print("ready", flush=True)
while True:
    for content in (b"old" * 1000, b"new" * 200_000):
        with atomic_write(sys.argv[1]) as file:
            for start in range(0, len(content), 1000):
                file.write(content[start : start + 1000])
"""


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@given(st.lists(st.lists(st.binary(max_size=5)), min_size=1, max_size=3), st.booleans())
def test_atomic_write_replaces_the_old_file(files: list[list[bytes]], linked: bool) -> None:
    """Each time completely, at the end of the block; a symbolic link is followed."""
    with TemporaryDirectory() as temporary:
        path = target = Path(temporary, "file")
        if linked:
            path = Path(temporary, "link")
            path.symlink_to(target)
        before = None
        for pieces in files:
            with atomic_write(path) as file:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                assert (target.read_bytes() if target.exists() else None) == before
            before = b"".join(pieces)
            assert target.read_bytes() == before
            assert path.is_symlink() == linked
        assert sorted(names(Path(temporary))) == sorted({"file", path.name})


@given(
    st.sampled_from(["fsync", "replace", "fchmod", "flush"]),
    st.sampled_from(
        [
            OSError(errno.ENOSPC, "full"),
            OSError(errno.EIO, "broken"),
            KeyError(),
            KeyboardInterrupt(),
        ]
    ),
    st.booleans(),
)
def test_failure_of_any_step_leaves_the_old_file(
    step: str, error: BaseException, existed: bool
) -> None:
    """An error of the system is one of the file, and says so."""

    def fail(*_: object) -> NoReturn:
        raise error

    with TemporaryDirectory() as temporary:
        path = Path(temporary, "file")
        if existed:
            path.write_bytes(OLD)
        before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        with (
            patch.object(os, step, fail) if hasattr(os, step) else nullcontext(),
            pytest.raises(type(error)) as caught,
            atomic_write(path, 0o600) as file,
        ):
            file.write(NEW)
            if step == "flush":
                fail()
        if isinstance(error, OSError) and isinstance(caught.value, OSError):
            assert (caught.value.errno, caught.value.filename) == (error.errno, str(path))
            assert f"{error.strerror} (nothing was changed)" in str(caught.value)
        assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


def test_error_about_another_file_is_unchanged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "file"):
        (tmp_path / "other").read_bytes()
    assert caught.value.filename == str(tmp_path / "other")
    assert names(tmp_path) == []


def test_file_is_on_the_disk_before_it_is_renamed_and_its_folder_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[str]()
    synchronize, rename = os.fsync, os.replace

    def fsync(descriptor: int) -> None:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        size = os.fstat(descriptor).st_size
        calls.append("folder" if is_folder else f"{size} bytes")
        synchronize(descriptor)

    def replace(source: str, target: str) -> None:
        calls.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    with atomic_write(tmp_path / "file") as file:
        file.write(b"123")
    assert calls == ["3 bytes", "rename", "folder"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it needs /proc")
@pytest.mark.parametrize("path", [os.devnull, "missing"])
def test_refused_file_leaves_no_open_descriptor(path: str) -> None:
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(OSError, match=rf"^\[Errno \d+\] No[t a-z]+: '{path}'$"):
            open_regular_file(path, os.O_RDONLY)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_file_that_is_opened_for_writing_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with open(tmp_path / "checked", "wb", opener=open_regular_file):
        pass
    usual, checked = ((tmp_path / name).stat().st_mode for name in ("usual", "checked"))
    assert checked == usual


def test_invalid_folder_error_names_it(tmp_path: Path) -> None:
    with (
        pytest.raises(FileNotFoundError, match="nowhere"),
        atomic_write(tmp_path / "nowhere" / "f"),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="folder"), atomic_write(tmp_path):
        pass
    assert names(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@given(st.lists(st.integers(0, 0o777), min_size=1, max_size=3))
def test_permissions_of_new_and_replaced_files(modes: list[int]) -> None:
    with TemporaryDirectory() as temporary:
        path = Path(temporary, "file")
        for mode in modes:  # also over a file that may not be written
            with atomic_write(path, mode):
                pass
            assert path.stat().st_mode & 0o777 == mode


@pytest.mark.full
@pytest.mark.parametrize("kills", [24, pytest.param(150, marks=pytest.mark.slow)])
def test_atomic_write_survives_kill_at_any_point(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    for index in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(0.0037 * (index % 10))
            process.send_signal(signal.SIGKILL)
        assert path.read_bytes() in {OLD, NEW}
    # Each kill may have left a file under a hidden name, and the next process has removed it.
    assert len(names(tmp_path)) <= 2


def test_only_stale_temporary_files_are_removed(tmp_path: Path) -> None:
    for name in (".minispore-0.tmp", ".other.tmp", ".minispore-0.txt", "minispore-0.tmp"):
        (tmp_path / name).touch()
    with atomic_write(tmp_path / "file"):
        pass
    remaining = [".minispore-0.txt", ".other.tmp", "file", "minispore-0.tmp"]
    assert sorted(names(tmp_path)) == remaining
    # A folder is searched once per process.
    (tmp_path / ".minispore-0.tmp").touch()
    with atomic_write(tmp_path / "file"):
        pass
    assert sorted(names(tmp_path)) == [".minispore-0.tmp", *remaining]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX's")
@pytest.mark.timeout(10)
def test_fifo_named_like_a_temporary_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".minispore-0.tmp")
    with atomic_write(tmp_path / "file"):
        pass
    assert sorted(names(tmp_path)) == [".minispore-0.tmp", "file"]


def test_temporary_file_that_is_written_is_kept(tmp_path: Path) -> None:
    """As by a process that searches for stale files: this one forgets that it has done so."""
    with atomic_write(tmp_path / "mine") as mine:
        mine.write(OLD)
        atomic._swept_folders.clear()
        with atomic_write(tmp_path / "file") as file:
            file.write(NEW)
        assert len(names(tmp_path)) == 2
    assert sorted(names(tmp_path)) == ["file", "mine"]
    assert (tmp_path / "mine").read_bytes() == OLD


def test_atomic_write_without_locks_and_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under WebAssembly."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(os, "fchmod", raising=False)
    (tmp_path / ".minispore-0.tmp").touch()  # another process may be writing it
    with atomic_write(tmp_path / "file", 0o400) as file:
        file.write(NEW)
    assert (tmp_path / "file").read_bytes() == NEW
    assert sorted(names(tmp_path)) == [".minispore-0.tmp", "file"]


@pytest.mark.full
def test_concurrent_writers_lose_no_file(tmp_path: Path) -> None:
    """Each process searches for stale files while the others have just created theirs."""
    code = (
        "import sys\n"
        "from minispore.utils import atomic\n"
        "for turn in range(200):\n"
        "    atomic._swept_folders.clear()\n"
        "    with atomic.atomic_write(f'{sys.argv[1]}/{sys.argv[2]}') as file:\n"
        "        file.write(b'%d' % turn)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path, str(number)]) for number in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        str(number): b"199" for number in range(4)
    }


def test_temporary_name_collision_is_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([b"first.", b"first.", b"second"])
    monkeypatch.setattr(os, "urandom", lambda _: next(drawn))
    with atomic_write(tmp_path / "a") as one, atomic_write(tmp_path / "b") as other:
        one.write(OLD)
        other.write(NEW)
    assert (tmp_path / "a").read_bytes() == OLD
    assert (tmp_path / "b").read_bytes() == NEW


def test_temporary_removed_before_locking_is_recreated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may remove it between its creation and its locking."""
    lock, swept = atomic._lock, list[str]()

    def sweep_and_lock(file: BinaryIO, *, wait: bool) -> bool:
        if not swept:
            swept.append(file.name)
            os.unlink(file.name)
        return lock(file, wait=wait)

    monkeypatch.setattr(atomic, "_lock", sweep_and_lock)
    with atomic_write(tmp_path / "file") as file:
        file.write(NEW)
    assert swept
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == NEW
