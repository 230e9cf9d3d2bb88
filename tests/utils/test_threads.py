"""Work without threads, as in a browser, gives the same numbers, files and errors."""

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import nn, train
from minispore.dataset import NumpySlicesDataset
from minispore.train.summary import event_writer
from minispore.utils import threads


def no_thread(_: threading.Thread) -> NoReturn:
    raise RuntimeError("can't start new thread")


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)


def trained(folder: Path) -> tuple[dict[str, list[object]], list[object]]:
    """Train with all background work, and return the losses and weights."""
    ms.set_seed(1)
    x = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    data = NumpySlicesDataset((x, x[:, :1]), shuffle=True).batch(8)
    net = nn.SequentialCell(nn.Dense(4, 3), nn.ReLU(), nn.Dense(3, 1))
    model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    history = train.History()
    saves = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=3, async_save=True)
    model.train(
        3,
        data,
        callbacks=[
            history,
            train.ModelCheckpoint("net", str(folder / "saved"), saves),
            train.SummaryCollector(str(folder / "summaries"), collect_freq=1),
        ],
    )
    ms.save_checkpoint(net, str(folder / "last.ckpt"), async_save=True)
    ms.load_checkpoint_async(str(folder / "last.ckpt"), net).result()
    return history.history, [p.asnumpy().tolist() for p in net.get_parameters()]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_training_without_threads_gives_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All background work of minispore in one run, with a fixed clock, which files contain."""
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    folder = tmp_path / "run"  # the files name one another with their whole paths
    numbers, files = trained(folder), contents(folder)
    assert {path.split("/")[0] for path in files} == {"last.ckpt", "saved", "summaries"}
    folder.rename(tmp_path / "with threads")
    monkeypatch.setattr(event_writer, "_used_names", set[str]())
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert trained(folder) == numbers
    assert contents(folder) == files


@pytest.mark.usefixtures("without_threads")
def test_save_error_without_threads_is_raised_by_wait_for_saves(tmp_path: Path) -> None:
    ms.save_checkpoint(nn.Dense(2, 2), str(tmp_path / "nowhere" / "x.ckpt"), async_save=True)
    assert not ms.async_ckpt_thread_status()
    with pytest.raises(FileNotFoundError, match=r"x\.ckpt"):
        train.wait_for_saves()
    train.wait_for_saves()
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint_async(str(tmp_path / "y.ckpt")).result()


@pytest.mark.usefixtures("without_threads")
def test_executor_without_threads_is_synchronous() -> None:
    assert isinstance(threads.make_executor("test"), threads.SynchronousExecutor)


def test_start_or_run_runs_the_target_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = list[str]()

    def record() -> None:
        names.append(threading.current_thread().name)

    thread = threading.Thread(target=record, name="other")
    assert threads.start_or_run(thread)
    thread.join()
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert not threads.start_or_run(threading.Thread(target=record, name="other"))
    assert names == ["other", threading.current_thread().name]


@given(st.lists(st.integers(0, 9) | st.sampled_from([KeyError, SystemExit]), max_size=5))
def test_executors_run_the_tasks_in_order_with_equal_results(
    planned: list[int | type[BaseException]],
) -> None:
    """One by one: in a thread with the given name, or in the calling thread."""
    for executor, prefix in (
        (threads.make_executor("saves"), "saves"),
        (threads.SynchronousExecutor(), threading.current_thread().name),
    ):
        ran = list[tuple[int, str]]()

        def run(index: int, outcome: int | type[BaseException], ran: list[tuple[int, str]]) -> int:
            ran.append((index, threading.current_thread().name))
            if isinstance(outcome, int):
                return outcome
            raise outcome(index)

        tasks = [executor.submit(partial(run, i, plan, ran)) for i, plan in enumerate(planned)]
        for task, outcome in zip(tasks, planned, strict=True):
            if isinstance(outcome, int):
                assert (task.result(), task.exception()) == (outcome, None)
            else:
                assert type(task.exception()) is outcome
            assert task.done()
        executor.shutdown()
        assert [index for index, _ in ran] == list(range(len(planned)))
        assert all(name.startswith(prefix) for _, name in ran)


def test_executor_runs_one_task_at_a_time_in_the_background() -> None:
    """The tests above would pass if all work were synchronous."""
    gate, second = threading.Event(), threading.Event()
    executor = threads.make_executor("test")
    task = executor.submit(lambda: (gate.wait(10), second.is_set()))
    last = executor.submit(second.set)
    assert not task.done()
    assert not last.done()
    gate.set()
    assert task.result() == (True, False)
    last.result()
    assert second.is_set()
    executor.shutdown()


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="there is no fork")
def test_fork_safe_lock_is_acquired_before_a_fork_and_released_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks: dict[str, Callable[[], object]] = {}
    monkeypatch.setattr(os, "register_at_fork", lambda **given: hooks.update(given))
    lock = threads.fork_safe_lock()
    for after in ("after_in_parent", "after_in_child"):
        hooks["before"]()
        assert lock.locked()
        hooks[after]()
        assert not lock.locked()
    reset = list[int]()
    hooks.clear()
    threads.after_fork_in_child(lambda: reset.append(1))
    assert hooks.keys() == {"after_in_child"}
    hooks["after_in_child"]()
    assert reset == [1]
