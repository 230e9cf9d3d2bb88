"""Runs of the same script with the same seed write the same files, whatever the clock."""

import os
import signal
import sys
import time
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from minispore import nn, set_seed, train
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.train.protocol.dataset import SupportsState

X = np.random.default_rng(0).standard_normal((22, 3)).astype(np.float32)
Y = (np.arange(22) % 3).astype(np.int32)


class Terminate(train.Callback):
    """Send SIGTERM in the last epoch, so that OnRequestExit saves."""

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        if run_context.original_args().cur_step_num == 16:
            os.kill(os.getpid(), signal.SIGTERM)


def callbacks(folder: Path) -> list[train.Callback]:
    state = ["training_state"]
    infer = NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(5)
    return [
        train.LossMonitor(3),
        train.TimeMonitor(data_time=True),
        train.FlopsUtilizationCollector(4, 1e9),
        train.History(),
        train.EarlyStopping("loss", patience=9, restore_best_weights=True),
        train.ReduceLROnPlateau("accuracy", patience=2),
        train.BestCheckpoint("accuracy", top_k=2, directory=folder),
        train.ModelCheckpoint("plain", folder, train.CheckpointConfig(4)),
        train.ModelCheckpoint("state", folder, train.CheckpointConfig(5, append_info=state)),
        train.ModelCheckpoint(
            "safe", folder, train.CheckpointConfig(6, append_info=state, format="safetensors")
        ),
        train.BackupAndRestore(folder, delete_checkpoint=False),
        train.OnRequestExit(directory=folder),
        tp.InferenceRunner(infer, tp.ClassificationError(summary_name="error")),
        tp.ModelSaver(2, checkpoint_dir=folder),
        tp.Every(steps=4)(tp.ModelSaver(3, checkpoint_dir=folder / "often")),
        tp.MinSaver("error", checkpoint_dir=folder),
        tp.MaxSaver("loss/EMA", checkpoint_dir=folder),
        tp.MovingAverageSummary(),
        tp.SimpleMovingAverage("loss", 3),
        tp.MergeAllSummaries(4),
        tp.StatMonitorParamSetter("learning_rate", "error", lambda rate: rate / 2, 0.2, 2),
        tp.Every(epochs=2)(tp.HyperParamSetterWithFunc("learning_rate", lambda _, rate: rate / 2)),
        tp.EnableCallbackIf(train.LossMonitor(), tp.Every(steps=3)),
        tp.PeriodicCallback(tp.DumpTensors(["loss", "weight"]), every_k_steps=5),
        tp.ScalarHistory(),
        tp.ScalarPrinter(),
        tp.SendMonitorData(["true"], ["error", "loss"]),
        tp.JSONWriter(folder),
        tp.JSONLWriter(folder),
        Terminate(),
    ]


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, start: float, tick: float) -> None:
    """Train with a clock that advances by a tick at each reading."""
    folder.mkdir()
    readings = count()

    def now() -> float:
        return start + tick * next(readings)

    modules = [m for name, m in sys.modules.items() if name.startswith("minispore")]
    for module in (time, *modules):
        for name in {"monotonic", "perf_counter", "time"} & vars(module).keys():
            if callable(getattr(module, name)):
                monkeypatch.setattr(module, name, now)
    monkeypatch.setitem(tp.logger._folder, "dir", str(folder))
    set_seed(2)
    net = nn.Dense(3, 3)
    optimizer = nn.Momentum(net.trainable_params(), 0.3, 0.9)
    model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    data = NumpySlicesDataset({"x": X, "y": Y})
    model.fit(3, data.batch(4), data.batch(7), callbacks=callbacks(folder))


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_files_do_not_depend_on_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder, start, tick in zip(folders, (1000.0, 5.0), (0.001, 0.37), strict=True):
        run(folder, monkeypatch, start, tick)
    one, other = map(files, folders)
    kinds = ["best-", "plain-", "state-", "safe-", "backup.", "rank_0/", "model-", "often/", "min-"]
    kinds += ["max-", "DumpTensor-", "stats.json", "stats.jsonl"]
    assert [kind for kind in kinds if not any(name.startswith(kind) for name in one)] == []
    assert other.keys() == one.keys()
    assert [name for name in one if other[name] != one[name]] == []


def test_time_measurements_have_no_state() -> None:
    for callback in (train.TimeMonitor(), tp.ThroughputTracker(), tp.EstimatedTimeLeft()):
        assert not isinstance(callback, SupportsState)


@pytest.mark.parametrize("seconds", [None, 100.0])
def test_elapsed_seconds_are_saved_only_if_used(seconds: float | None) -> None:
    every = tp.Every(epochs=2, seconds=seconds)
    for callback in (every(tp.ModelSaver()), every(train.LossMonitor())):
        assert (callback.state_dict()["elapsed"] == 0.0) == (seconds is None)
