"""Processes that are forked while a thread of their parent is at work: none of them hangs."""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor
from minispore.common import seed
from minispore.train import SummaryRecord, load_checkpoint, load_checkpoint_async, save_checkpoint
from minispore.train._files import loading, saving
from minispore.train.callback._kept_files import KeptFiles
from minispore.train.serialization import async_ckpt_thread_status, wait_for_saves
from minispore.train.summary import _behind, _files, read_events

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX's"),
    # From Python 3.12 on.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]
SECONDS = 20  # after which a child is killed


def status_of_child(work: Callable[[], object]) -> int:
    """Do some work in a forked process and return its status: 0 if nothing was raised."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        status = 1
        try:
            work()
            gc.collect()
            status = 0
        except BaseException as error:
            sys.__stderr__.write(f"in the child: {error!r}\n")  # type: ignore[union-attr]
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


class Gate:
    """Holds a thread until it is opened."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def before(self, function: Callable[..., object]) -> Callable[..., object]:
        """The function, which waits first."""

        def wait(*arguments: object) -> object:
            if threading.current_thread() is not threading.main_thread():
                self.reached.set()
                assert self.opened.wait(60)
            return function(*arguments)

        return wait


def values(fill: float) -> dict[str, Tensor]:
    return {"p": Tensor(np.full(3, fill, np.float32))}


def fill_of(path: Path) -> float:
    loaded = load_checkpoint(path)["p"]
    assert isinstance(loaded, Tensor)
    return float(loaded[0])


@pytest.mark.parametrize("behind", [False, True])
def test_a_child_saves_while_its_parent_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: bool
) -> None:
    gate = Gate()
    monkeypatch.setattr(saving, "write_file", gate.before(saving.write_file))
    save_checkpoint(values(1), tmp_path / "parent", async_save=True)
    assert gate.reached.wait(60)

    def save() -> None:
        assert not async_ckpt_thread_status()
        monkeypatch.undo()
        for name in ("child", "parent"):
            save_checkpoint(values(2), tmp_path / name, async_save=behind)
            wait_for_saves()
            assert fill_of(tmp_path / f"{name}.ckpt") == 2

    assert status_of_child(save) == 0
    assert async_ckpt_thread_status()
    gate.opened.set()
    wait_for_saves()
    assert fill_of(tmp_path / "child.ckpt") == 2
    assert fill_of(tmp_path / "parent.ckpt") == 1


def test_a_child_reads_what_its_parent_was_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(values(1), tmp_path / "x")
    gate = Gate()
    monkeypatch.setattr(loading, "_read", gate.before(loading._read))
    future = load_checkpoint_async(tmp_path / "x.ckpt")
    assert gate.reached.wait(60)
    assert status_of_child(future.result) == 0
    gate.opened.set()
    assert list(future.result()) == ["p"]


def test_a_child_leaves_its_parents_summaries_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is in the file once, and what the child adds to its parent's record is not."""
    gate = Gate()
    monkeypatch.setattr(_behind, "gathered", gate.before(_behind.gathered))
    with SummaryRecord(str(tmp_path)) as record:

        def add(step: int) -> None:
            record.add_value("scalar", "x", Tensor(float(step)))
            record.record(step)

        add(1)
        assert gate.reached.wait(60)  # the thread begins with what waits after a second

        def work() -> None:
            with pytest.warns(UserWarning, match="lost: a forked process must make a Summ"):
                add(3)
            with pytest.warns(UserWarning, match="lost: a forked process"):
                record.flush()
            record.close()

        add(2)
        assert status_of_child(work) == 0
        gate.opened.set()
    steps = [event.step for event in read_events(record.log_dir) if event.values]
    assert steps == [1, 2]


@pytest.mark.parametrize(
    ("lock", "use"),
    [
        (seed._lock, lambda: seed.generator("test")),
        (_files._lock, lambda: _files.Names("folder", "prefix", "")),
        (KeptFiles._lock, KeptFiles),
    ],
    ids=["seed", "names", "kept files"],
)
def test_no_lock_is_held_in_a_child(lock: threading.Lock, use: Callable[[], object]) -> None:
    held = threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            time.sleep(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    assert status_of_child(use) == 0
    thread.join()
