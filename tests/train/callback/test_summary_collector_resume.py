"""SummaryCollector: a resumed run writes the summaries of an uninterrupted one."""

import json
from pathlib import Path

import numpy as np

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import CheckpointConfig, Model, ModelCheckpoint, SummaryCollector
from minispore.train.summary import Event, read_events

DATA = {
    "x": np.random.default_rng(0).random((40, 4), np.float32),
    "y": np.arange(40, dtype=np.int32) % 3,
}


def train(folder: Path, epochs: int, resume: str | None = None) -> str:
    """Train until an epoch; return the last checkpoint."""
    ms.set_seed(1)
    net = nn.Dense(4, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1))
    summary = SummaryCollector(
        str(folder),
        collect_freq=3,
        collect_specified_data={"collect_landscape": {"unit": "epoch"}},
    )
    config = CheckpointConfig(save_checkpoint_steps=10, append_info=["training_state"])
    checkpoint = ModelCheckpoint("net", str(folder / "saved"), config)
    data = NumpySlicesDataset(DATA, shuffle=True).batch(4)
    model.train(epochs, data, callbacks=[summary, checkpoint], resume=resume)
    return checkpoint.latest_ckpt_file_name


def events(folder: Path) -> list[Event]:
    paths = sorted(folder.glob("*.events.summary.*_MS"))
    return [event for path in paths for event in read_events(path) if event.values]


def test_resumed_run_continues_summaries(tmp_path: Path) -> None:
    complete, parted = tmp_path / "whole", tmp_path / "parted"
    train(complete, 4)
    train(parted, 4, train(parted, 2))
    expected = events(complete)
    assert [event.step for event in expected] == [1, *range(3, 41, 3)]
    for one, other in zip(expected, events(parted), strict=True):
        assert one.step == other.step
        for a, b in zip(one.values, other.values, strict=True):
            assert a.tag == b.tag
            assert repr(a.content) == repr(b.content)
    saved = json.loads((parted / "ckpt_dir" / "train_metadata.json").read_text("utf-8"))
    assert list(saved["model_params_file_map"]) == ["1", "2", "3", "4"]
