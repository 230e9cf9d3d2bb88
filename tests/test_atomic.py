"""A file that is being replaced is the old one or the new one, whatever happens."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from minispore import _atomic
from minispore._atomic import replacing

OLD, NEW = b"old" * 1000, b"new" * 200_000

# Replaces the file over and over, and says when it begins.
WRITER = """
import sys
from minispore._atomic import replacing
print("ready", flush=True)
while True:
    for content in (b"old" * 1000, b"new" * 200_000):
        with replacing(sys.argv[1]) as file:
            for start in range(0, len(content), 1000):
                file.write(content[start : start + 1000])
"""


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_new_file_takes_the_old_ones_place(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (OLD, NEW):
        with replacing(path) as file:
            file.write(content)
        assert path.read_bytes() == content
    assert names(tmp_path) == ["file"]


def test_nothing_is_there_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with replacing(path) as file:
        file.write(NEW)
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == NEW


def write_and_raise(file: BinaryIO, error: type[BaseException]) -> NoReturn:
    file.write(NEW)
    raise error


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
def test_an_exception_leaves_the_old_file_alone(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with pytest.raises(error), replacing(path) as file:
        write_and_raise(file, error)
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["file"]


def full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_named_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "fsync", full)
    reason = r"No space left.*nothing was changed.*file"
    with pytest.raises(OSError, match=reason) as caught, replacing(path) as file:
        file.write(NEW)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["file"]


def test_a_disk_that_is_full_for_real(tmp_path: Path) -> None:
    """The same with a limit on the size of files, which the system enforces in the write."""
    resource = pytest.importorskip("resource")
    code = (
        "import resource, signal, sys\n"
        "from minispore._atomic import replacing\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    with replacing(sys.argv[1]) as file: file.write(b'x' * 9000)\n"
        "except OSError as error: print(error)\n"
        # For who measures this process.
        "resource.setrlimit(resource.RLIMIT_FSIZE, 2 * (resource.RLIM_INFINITY,))\n"
    )
    assert resource
    path = tmp_path / "file"
    path.write_bytes(OLD)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, encoding="utf-8", check=True
    )
    assert "nothing was changed" in done.stdout
    assert str(path) in done.stdout
    assert path.read_bytes() == OLD
    assert names(tmp_path) == ["file"]


def test_folders_that_are_wrong_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"), replacing(tmp_path / "nowhere" / "f"):
        pass
    with pytest.raises(IsADirectoryError, match="folder"), replacing(tmp_path):
        pass
    assert names(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(OLD)
    link.symlink_to(target)
    with replacing(link) as file:
        file.write(NEW)
    assert link.is_symlink()
    assert target.read_bytes() == NEW


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _ in range(2):  # the second time over a file that may not be written
        with replacing(path, 0o400) as file:
            file.write(NEW)
        assert path.stat().st_mode & 0o777 == 0o400


@pytest.mark.parametrize("kills", [24, pytest.param(150, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path, kills: int) -> None:
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


def test_what_a_killed_process_has_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".minispore-0.tmp", ".other.tmp", ".minispore-0.txt", "minispore-0.tmp"):
        (tmp_path / name).touch()
    with replacing(tmp_path / "file"):
        pass
    assert sorted(names(tmp_path)) == [".minispore-0.txt", ".other.tmp", "file", "minispore-0.tmp"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX's")
@pytest.mark.timeout(10)
def test_a_fifo_with_the_name_of_a_temporary_file_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".minispore-0.tmp")
    with replacing(tmp_path / "file"):
        pass
    assert sorted(names(tmp_path)) == [".minispore-0.tmp", "file"]


def test_what_another_process_is_writing_is_not_removed(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from minispore._atomic import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'mine')\n"
        "    print('writing', flush=True)\n"
        "    input()\n"
    )
    mine = tmp_path / "mine"
    with subprocess.Popen(
        [sys.executable, "-c", code, mine],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        with replacing(tmp_path / "file") as file:
            file.write(NEW)
        assert len(names(tmp_path)) == 2
        process.communicate("\n")
    assert process.returncode == 0
    assert sorted(names(tmp_path)) == ["file", "mine"]


def test_without_locks_and_permissions_the_file_is_whole_and_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under WebAssembly, where Python has neither."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(os, "fchmod", raising=False)
    (tmp_path / ".minispore-0.tmp").touch()  # somebody may be writing it
    with replacing(tmp_path / "file", 0o400) as file:
        file.write(NEW)
    assert (tmp_path / "file").read_bytes() == NEW
    assert sorted(names(tmp_path)) == [".minispore-0.tmp", "file"]


def test_a_folder_is_looked_through_once(tmp_path: Path) -> None:
    with replacing(tmp_path / "file"):
        pass
    left = tmp_path / ".minispore-0.tmp"
    left.touch()
    with replacing(tmp_path / "file"):
        pass
    assert left.exists()


def test_many_processes_that_sweep_and_write_lose_nothing(tmp_path: Path) -> None:
    """Each new process looks for what is left while the others have just made their files."""
    code = (
        "import sys\n"
        "from minispore import _atomic\n"
        "for turn in range(200):\n"
        "    _atomic._swept.clear()\n"
        "    with _atomic.replacing(f'{sys.argv[1]}/{sys.argv[2]}') as file:\n"
        "        file.write(b'%d' % turn)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path, str(number)]) for number in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        str(number): b"199" for number in range(4)
    }


def test_two_writers_that_draw_the_same_name_have_a_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter([b"first.", b"first.", b"second"])
    monkeypatch.setattr(os, "urandom", lambda _: next(drawn))
    with replacing(tmp_path / "a") as one, replacing(tmp_path / "b") as other:
        one.write(OLD)
        other.write(NEW)
    assert (tmp_path / "a").read_bytes() == OLD
    assert (tmp_path / "b").read_bytes() == NEW


def test_a_file_that_is_swept_away_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another process, between the two lines that make it and lock it."""
    lock, swept = _atomic._lock, list[str]()

    def sweep_and_lock(file: BinaryIO, *, wait: bool) -> bool:
        if not swept:
            swept.append(file.name)
            os.unlink(file.name)
        return lock(file, wait=wait)

    monkeypatch.setattr(_atomic, "_lock", sweep_and_lock)
    with replacing(tmp_path / "file") as file:
        file.write(NEW)
    assert swept
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == NEW
