"""Processes that are forked while a thread of the parent is running: none of them hangs."""

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
from minispore.ops import seed
from minispore.train import SummaryRecord, load_checkpoint, load_checkpoint_async, save_checkpoint
from minispore.train.checkpoint import loading, saving
from minispore.train.checkpoint.retention import RetainedFiles
from minispore.train.serialization import async_ckpt_thread_status, wait_for_saves
from minispore.train.summary import deferred_writer, event_writer, read_events

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only"),
    # From Python 3.12 on.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded"),
]
SECONDS = 20  # after which a child is killed


def status_of_child(task: Callable[[], object]) -> int:
    """Call a function in a forked process and return its status: 0 if nothing was raised."""
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        status = 1
        try:
            task()
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
def test_forked_child_saves_during_parents_save(
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


def test_forked_child_completes_parents_load(
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


def test_forked_child_does_not_write_parents_summaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has each summary of the parent once, and none of the child."""
    gate = Gate()
    monkeypatch.setattr(deferred_writer, "run_all", gate.before(deferred_writer.run_all))
    with SummaryRecord(str(tmp_path)) as record:

        def add(step: int) -> None:
            record.add_value("scalar", "x", Tensor(float(step)))
            record.record(step)

        add(1)
        assert gate.reached.wait(60)  # the thread writes after a second

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
        (event_writer._lock, lambda: event_writer.EventFileNames("folder", "prefix", "")),
        (RetainedFiles._lock, RetainedFiles),
    ],
    ids=["seed", "names", "kept files"],
)
def test_forked_child_holds_no_lock(lock: threading.Lock, use: Callable[[], object]) -> None:
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
