"""Without threads, as in a browser, the same is done: the same numbers, files and errors."""

import threading
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import minispore as ms
from minispore import nn
from minispore._threads import executor, start
from minispore.dataset import NumpySlicesDataset
from minispore.train import (
    CheckpointConfig,
    History,
    Model,
    ModelCheckpoint,
    SummaryCollector,
    wait_for_saves,
)
from minispore.train.summary import _files


def no_thread(_: threading.Thread) -> NoReturn:
    raise RuntimeError("can't start new thread")


@pytest.fixture
def without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", no_thread)


def trained(folder: Path) -> tuple[dict[str, list[object]], list[object]]:
    """Train with whatever is done beside the program, and return the losses and weights."""
    ms.set_seed(1)
    x = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    data = NumpySlicesDataset((x, x[:, :1]), shuffle=True).batch(8)
    net = nn.SequentialCell(nn.Dense(4, 3), nn.ReLU(), nn.Dense(3, 1))
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    history = History()
    saves = CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=3, async_save=True)
    model.train(
        3,
        data,
        callbacks=[
            history,
            ModelCheckpoint("net", str(folder / "saved"), saves),
            SummaryCollector(str(folder / "summaries"), collect_freq=1),
        ],
    )
    ms.save_checkpoint(net, str(folder / "last.ckpt"), async_save=True)
    ms.load_checkpoint_async(str(folder / "last.ckpt"), net).result()
    return history.history, [each.asnumpy().tolist() for each in net.get_parameters()]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_training_leaves_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that minispore leaves to threads, in one run; the clock stands still, as it is noted."""
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    folder = tmp_path / "run"  # the files name one another with their whole paths
    numbers, files = trained(folder), contents(folder)
    assert {path.split("/")[0] for path in files} == {"last.ckpt", "saved", "summaries"}
    folder.rename(tmp_path / "with threads")
    monkeypatch.setattr(_files, "_given", set[str]())
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert trained(folder) == numbers
    assert contents(folder) == files


@pytest.mark.usefixtures("without_threads")
def test_the_error_of_a_save_comes_out_where_it_would(tmp_path: Path) -> None:
    ms.save_checkpoint(nn.Dense(2, 2), str(tmp_path / "nowhere" / "x.ckpt"), async_save=True)
    assert not ms.async_ckpt_thread_status()
    with pytest.raises(FileNotFoundError, match=r"x\.ckpt"):
        wait_for_saves()
    wait_for_saves()
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint_async(str(tmp_path / "y.ckpt")).result()


@pytest.mark.usefixtures("without_threads")
def test_an_executor_keeps_a_task_s_error() -> None:
    def fail() -> NoReturn:
        raise KeyError("x")

    one = executor("test")
    tasks = [one.submit(fail), one.submit(lambda: 3)]
    assert [task.done() for task in tasks] == [True, True]
    assert isinstance(tasks[0].exception(), KeyError)
    assert tasks[1].result() == 3
    one.shutdown()


def test_with_threads_the_program_goes_on() -> None:
    """Nothing above would notice if all were done at once, everywhere."""
    gate = threading.Event()
    thread = threading.Thread(target=gate.wait, args=[10])
    one = executor("test")
    task = one.submit(lambda: gate.wait(10))
    assert start(thread)
    assert not task.done()
    gate.set()
    thread.join()
    assert task.result()
    one.shutdown()
