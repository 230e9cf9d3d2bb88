"""Exact resume: an interrupted and resumed training leaves the same numbers, files and weights."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import nn, set_seed
from minispore import tensorpack as tp
from minispore.dataset import NumpySlicesDataset
from minispore.tensorpack import triggers
from minispore.tensorpack.protocol import Array
from minispore.tensorpack.triggers import ElapsedSeconds
from minispore.train import Callback, CheckpointConfig, Model, ModelCheckpoint, RunContext
from minispore.train.protocol.dataset import SupportsState
from minispore.train.resume import StatefulMixin, encode
from tests.helpers.stub_models import Rows, make
from tests.tensorpack.small_trainings import Clock

X = np.random.default_rng(0).standard_normal((22, 3)).astype(np.float32)
Y = (np.arange(22) % 3).astype(np.int32)
EPOCHS = 4


class Timed(StatefulMixin):
    _elapsed = ElapsedSeconds()


seconds = st.lists(st.integers(0, 99), min_size=1, max_size=4)


@given(st.lists(st.tuples(seconds, st.integers(0, 99)), min_size=1, max_size=3))
def test_elapsed_seconds_exclude_the_time_between_runs(runs: list[tuple[list[int], int]]) -> None:
    """Saving the state, also several times in a run, changes nothing."""
    clock, timed, elapsed = Clock(), Timed(), 0
    with clock.replaces_perf_counter(triggers):
        timed.reset_state()
        for passed, pause in runs:
            for duration in passed:
                clock.now += duration
                elapsed += duration
                assert timed.state_dict() == {"elapsed": elapsed}
            state = timed.state_dict()
            clock.now += pause
            timed = Timed()
            timed.load_state_dict(state)
        assert timed._elapsed == elapsed
        timed.reset_state()
        assert timed._elapsed == 0


class Kill(BaseException):
    """An exception that no callback catches, in place of a power failure."""


class Killer(Callback):
    def __init__(self, step: int | None) -> None:
        self.step = step

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == self.step:
            raise Kill


def callbacks(folder: Path, kill_at: int | None) -> tuple[tp.ScalarHistory, list[Callback]]:
    history, box = tp.ScalarHistory(), SimpleNamespace(x=1.0)
    data = NumpySlicesDataset({"x": X, "y": Y}, shuffle=False).batch(5)
    config = CheckpointConfig(
        save_checkpoint_steps=2, keep_checkpoint_max=3, append_info=["training_state"]
    )
    return history, [
        ModelCheckpoint("net", str(folder), config),
        tp.InferenceRunner(data, tp.ClassificationError(summary_name="error")),
        tp.PeriodicTrigger(tp.ModelSaver(2, checkpoint_dir=folder), every_k_steps=3),
        tp.MinSaver("error", checkpoint_dir=folder),
        tp.MovingAverageSummary(decay=0.8),
        tp.SimpleMovingAverage("loss", 3),
        tp.MergeAllSummaries(3),
        tp.Every(epochs=2)(tp.MaxSaver("loss/EMA", checkpoint_dir=folder)),
        tp.StatMonitorParamSetter("learning_rate", "error", lambda lr: lr / 2, 0.2, 2),
        tp.Every(steps=4)(tp.HyperParamSetterWithFunc("learning_rate", lambda e, lr: lr * 0.9)),
        tp.HyperParamSetterWithFunc(tp.ObjAttrParam(box, "x"), lambda e, x: 2 * x + e),
        tp.CallbackFactory(
            trigger=lambda cb: cb.trainer.monitors.put_scalar("x", box.x), produces=["x"]
        ),
        history,
        tp.ScalarPrinter(),
        tp.JSONWriter(folder),
        tp.JSONLWriter(folder),
        Killer(kill_at),
    ]


def train(
    folder: Path, kill_at: int | None = None, resume: Path | None = None
) -> tuple[tp.ScalarHistory, Array]:
    set_seed(2)
    net = nn.Dense(3, 3)
    model = Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.3, 0.9))
    history, listed = callbacks(folder, kill_at)
    model.train(EPOCHS, NumpySlicesDataset({"x": X, "y": Y}).batch(4), listed, resume=resume)
    return history, net.weight.asnumpy()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tp.ScalarHistory, Array]:
    folder = tmp_path_factory.mktemp("uninterrupted")
    return folder, *train(folder)


@pytest.mark.parametrize("kill_at", [3, 7, 18])  # of 24 steps, 6 an epoch
def test_resumed_training_leaves_the_same_files_and_weights(
    kill_at: int,
    uninterrupted: tuple[Path, tp.ScalarHistory, Array],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, history, weight = uninterrupted
    here = tmp_path_factory.mktemp("killed")
    with pytest.raises(Kill):
        train(here, kill_at)
    newest = max(here.glob("net-*.ckpt"), key=lambda path: path.stat().st_mtime_ns)
    resumed, resumed_weight = train(here, resume=newest)

    np.testing.assert_array_equal(resumed_weight, weight)
    assert resumed.state_dict() == history.state_dict()
    assert {path.name for path in here.iterdir()} == {path.name for path in folder.iterdir()}
    for name in ("stats.json", "stats.jsonl", "min-error.ckpt", "max-loss-EMA.ckpt"):
        assert (here / name).read_bytes() == (folder / name).read_bytes(), name


@pytest.mark.parametrize(
    "callback",
    [
        tp.Every(epochs=2)(tp.ScalarPrinter()),
        tp.Every(steps=2)(tp.ProgressBar()),
        tp.HyperParamSetterWithFunc("learning_rate", lambda e, v: v),
        tp.JSONLWriter(),
        tp.JSONWriter(),
        tp.MinSaver("loss"),
        tp.ModelSaver(),
        tp.MovingAverageSummary(),
        tp.ScalarHistory(),
        tp.ScalarPrinter(),
        tp.SendMonitorData(["true"], ["loss"]),
        tp.SimpleMovingAverage("loss", 2),
        tp.StatMonitorParamSetter("learning_rate", "loss", lambda v: v, 0.1, 2),
    ],
    ids=lambda callback: type(callback).__name__,
)
def test_invalid_states_raise_and_change_nothing(
    callback: Callback, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triggers, "perf_counter", lambda: 5.0)
    make().train(2, Rows(), [callback])
    assert isinstance(callback, SupportsState)
    before = encode(callback.state_dict(), "")
    for state in ({}, {key: object() for key in callback.state_dict()}):
        with pytest.raises(ValueError, match="state"):
            callback.load_state_dict(state)
        assert encode(callback.state_dict(), "") == before
    callback.load_state_dict(callback.state_dict())
    assert encode(callback.state_dict(), "") == before
