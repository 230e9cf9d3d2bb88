"""Which checkpoints are saved and kept."""

import math
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import Tensor
from minispore import tensorpack as tp
from minispore.tensorpack import savers
from minispore.train import load_checkpoint
from tests.helpers.stub_models import Rows, make


def put(values: list[float | None]) -> tp.Callback:
    def log_value(cb: tp.Callback) -> None:
        value = values[cb.epoch_num - 1]
        if value is not None:
            cb.trainer.monitors.put_scalar("val/x", value)

    return tp.CallbackFactory(trigger=log_value, produces=["val/x"])


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@given(st.integers(1, 4), st.integers(0, 3))
def test_model_saver_keeps_the_newest(epochs: int, limit: int) -> None:
    with TemporaryDirectory() as directory:
        make().train(epochs, Rows(), [tp.ModelSaver(limit, checkpoint_dir=directory)])
        steps = [3 * epoch for epoch in range(1, epochs + 1)][-limit:]
        assert sorted(os.listdir(directory)) == sorted(f"model-{step}.ckpt" for step in steps)
        assert "weight" in load_checkpoint(os.path.join(directory, f"model-{steps[-1]}.ckpt"))


def test_model_saver_keeps_one_file_per_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 1000))
    monkeypatch.setattr(savers, "perf_counter", lambda: next(clock))
    make().train(6, Rows(), [tp.ModelSaver(1, 0.5, tmp_path)])
    # Half an hour is 1800 seconds; they are written at 1000, 2000, 3000, …
    assert files(tmp_path) == ["model-12.ckpt", "model-18.ckpt", "model-6.ckpt"]


def test_a_full_disk_is_logged_and_keeps_the_best(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(savers, "save_checkpoint", full)
    minimum = tp.MinSaver("loss")
    make().train(1, Rows(), [tp.ModelSaver(), minimum])
    assert not files(folder)
    assert caplog.text.count("No space left") == 2
    assert minimum.best is None


logged = st.none() | st.just(math.nan) | st.integers(-3, 3).map(float)


@given(
    st.lists(logged, min_size=1, max_size=5), st.booleans(), st.integers(1, 2), st.integers(1, 2)
)
@example([2.0, 1.0, 1.0], True, 1, 1)
@example([math.nan, 2.0, math.nan], False, 1, 1)
@example([0.0, None, 1.0], True, 1, 1)
@example([1.0, 3.0, 2.0, 4.0], False, 1, 2)
def test_the_model_with_the_best_value_is_saved_in_any_order(
    values: list[float | None], measures_first: bool, trainings: int, period: int
) -> None:
    """Of the epochs in which the saver is triggered."""
    due = [value if n % period == 0 else None for n, value in enumerate(values, 1)]
    numbers = [value for value in due if value is not None and not math.isnan(value)]
    with TemporaryDirectory() as directory:
        minimum = tp.MinSaver("val/x", checkpoint_dir=directory)
        maximum = tp.MaxSaver("val/x", "best.ckpt", checkpoint_dir=directory)
        for _ in range(trainings):
            callbacks = [put(values), *map(tp.Every(epochs=period), (minimum, maximum))]
            make().train(len(values), Rows(), callbacks if measures_first else callbacks[::-1])
        if not numbers:
            assert minimum.best is maximum.best is None
            assert not os.listdir(directory)
            return
        for saver, name, best in (
            (minimum, "min-val-x.ckpt", min(numbers)),
            (maximum, "best.ckpt", max(numbers)),
        ):
            assert saver.best == best
            saved = load_checkpoint(os.path.join(directory, name))
            step = saved["global_step"]
            assert isinstance(step, Tensor)
            assert step.asnumpy() == 3 * (due.index(best) + 1)
        restored = tp.MinSaver("val/x", checkpoint_dir=directory)
        restored.load_state_dict(minimum.state_dict())
        assert restored.best == minimum.best


def test_min_saver_checks_only_when_triggered(folder: Path) -> None:
    class Steps(tp.Callback):
        def produces(self) -> list[str]:
            return ["x"]

        def _trigger_step(self) -> None:
            self.trainer.monitors.put_scalar("x", [3, 1, 2][self.local_step])

    minimum = tp.MinSaver("x")
    make().train(1, Rows(), [Steps(), minimum])
    assert minimum.best == 2
