"""A resumed run writes the summaries of an uninterrupted one, also for TensorBoard."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import minispore as ms
from minispore import nn, ops
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import MergeAllSummaries, TFEventWriter
from minispore.train import (
    Callback,
    CheckpointConfig,
    Model,
    ModelCheckpoint,
    RunContext,
    SummaryCollector,
)
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


class Killed(BaseException):
    """The end of the process, at which files are as they are."""


class Kill(Callback):
    """End the run at a step, or in the evaluation after it."""

    def __init__(self, step: int, evaluated: bool) -> None:
        self._step, self._evaluated = step, evaluated

    def _end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        if params.cur_step_num == self._step:
            raise Killed

    def on_train_step_end(self, run_context: RunContext) -> None:
        """End the run at the step."""
        if not self._evaluated:
            self._end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """End the run when the results of the evaluation have been written."""
        if self._evaluated:
            self._end(run_context)


class Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(4, 3)
        self.picture = ops.ImageSummary()

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        self.picture("picture", x.reshape(4, 1, 2, 2))
        return self.layer(x)


def fit(
    folder: str, writer: str, every: int, freq: int, kill: tuple[int, bool] = (0, False)
) -> None:
    """Fit until a kill, from the last checkpoint in the folder if there is one."""
    ms.set_seed(1)
    net = Network()
    model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), {"accuracy"})
    config = CheckpointConfig(every, keep_checkpoint_max=1, append_info=["training_state"])
    writers: dict[str, list[Callback]] = {
        "SummaryCollector": [SummaryCollector(folder, freq)],
        "TFEventWriter": [MergeAllSummaries(freq), TFEventWriter(folder)],
        "split files": [MergeAllSummaries(freq), TFEventWriter(folder, split_files=True)],
    }
    saver = ModelCheckpoint("net", f"{folder}/saved", config)
    saved = next(map(str, Path(folder, "saved").glob("*.ckpt")), None)
    data = NumpySlicesDataset({name: x[:12] for name, x in DATA.items()}).batch(4)
    model.fit(3, data, data, callbacks=[*writers[writer], saver, Kill(*kill)], resume=saved)


def shown(folder: str) -> tuple[list[tuple[str, int, str]], int]:
    """Return the values and the number of graphs that TensorBoard shows, with its rule."""
    values, graphs, starts = list[tuple[str, int, str]](), 0, 0
    for path in sorted(Path(folder).glob("*tfevents*")):
        for event in read_events(path):
            graphs += event.graph is not None
            starts += event.restart
            if event.restart and starts > 1:
                values = [value for value in values if value[1] < event.step]
            values += [(value.tag, event.step, repr(value.content)) for value in event.values]
    return sorted(values), graphs


@given(
    writer=st.sampled_from(["SummaryCollector", "TFEventWriter", "split files"]),
    kills=st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=2),
    every=st.integers(1, 5),
    freq=st.integers(1, 4),
)
@example("SummaryCollector", [(5, False)], 3, 1)
@example("SummaryCollector", [(3, True)], 3, 2)
@example("TFEventWriter", [(3, True), (6, True)], 3, 1)
@example("TFEventWriter", [(5, False), (9, True)], 2, 4)
def test_tensorboard_shows_each_step_once(
    writer: str, kills: list[tuple[int, bool]], every: int, freq: int
) -> None:
    """What was written after the state that the run is resumed from is not shown twice."""
    with TemporaryDirectory() as whole, TemporaryDirectory() as parted:
        fit(whole, writer, every, freq)
        expected, graphs = shown(whole)
        assert graphs == 1
        assert len({value[:2] for value in expected}) == len(expected) > 5
        for kill in kills:
            with suppress(Killed):
                fit(parted, writer, every, freq, kill)
            assume([*Path(parted, "saved").glob("*.ckpt")])  # else the next run is another one
        fit(parted, writer, every, freq)
        assert shown(parted) == (expected, graphs)


@pytest.mark.parametrize("writer", ["SummaryCollector", "TFEventWriter"])
@pytest.mark.parametrize("accumulator", ["event_accumulator", "plugin_event_accumulator"])
def test_tensorboard_itself_shows_each_step_once(
    writer: str, accumulator: str, tmp_path: Path
) -> None:
    module = pytest.importorskip(f"tensorboard.backend.event_processing.{accumulator}")
    with pytest.raises(Killed):
        fit(str(tmp_path), writer, 3, 1, (5, False))
    fit(str(tmp_path), writer, 3, 1)
    read = module.EventAccumulator(str(tmp_path)).Reload()
    steps = (read.Scalars if hasattr(read, "Scalars") else read.Tensors)(
        "loss/auto" if writer == "SummaryCollector" else "loss"
    )
    assert [event.step for event in steps] == [*range(1, 10)]
