"""What is saved, when, and what is kept."""

import math
from pathlib import Path

import pytest

from minispore.tensorpack import (
    Callback,
    CallbackFactory,
    Every,
    MaxSaver,
    MinSaver,
    ModelSaver,
    savers,
)
from minispore.train import load_checkpoint

from ..train.standins import Rows, make


def put(values: list[float | None]) -> Callback:
    def each(cb: Callback) -> None:
        value = values[cb.epoch_num - 1]
        if value is not None:
            cb.trainer.monitors.put_scalar("val/x", value)

    return CallbackFactory(trigger=each, produces=["val/x"])


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_model_saver_keeps_the_newest(folder: Path) -> None:
    make().train(4, Rows(), [ModelSaver(max_to_keep=2)])
    assert files(folder) == ["model-12.ckpt", "model-9.ckpt"]
    assert "weight" in load_checkpoint(str(folder / "model-12.ckpt"))


def test_model_saver_keeps_one_every_so_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 1000))
    monkeypatch.setattr(savers, "perf_counter", lambda: next(clock))
    make().train(6, Rows(), [ModelSaver(1, 0.5, tmp_path)])
    # Half an hour is 1800 seconds; they are written at 1000, 2000, 3000, …
    assert files(tmp_path) == ["model-12.ckpt", "model-18.ckpt", "model-6.ckpt"]


def test_a_full_disk_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(savers, "save_checkpoint", full)
    minimum = MinSaver("loss")
    make().train(1, Rows(), [ModelSaver(), minimum])
    assert not files(folder)
    assert caplog.text.count("No space left") == 2
    assert minimum.best is None


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([3.0, 1.0, 2.0], 1.0, 3.0),
        ([math.nan, 2.0, math.nan], 2.0, 2.0),
        ([0.0, None, 1.0], 0.0, 1.0),
        ([None, None, None], None, None),
        ([math.nan] * 3, None, None),
    ],
)
def test_the_best_is_saved(
    values: list[float | None], low: float | None, high: float | None, folder: Path
) -> None:
    minimum, maximum = MinSaver("val/x"), MaxSaver("val/x")
    make().train(3, Rows(), [put(values), minimum, maximum])
    assert (minimum.best, maximum.best) == (low, high)
    assert files(folder) == ([] if low is None else ["max-val-x.ckpt", "min-val-x.ckpt"])
    again = MinSaver("val/x")
    again.load_state_dict(minimum.state_dict())
    assert again.best == low


@pytest.mark.parametrize("measures_first", [True, False])
def test_what_was_measured_is_saved_wherever_the_saver_stands(
    measures_first: bool, folder: Path
) -> None:
    callbacks = [put([2.0, 1.0, 1.0]), MinSaver("val/x", filename="best.ckpt")]
    make().train(3, Rows(), callbacks if measures_first else callbacks[::-1])
    assert load_checkpoint(str(folder / "best.ckpt"))["global_step"].asnumpy() == 6  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("measures_first", [True, False])
def test_what_was_measured_in_another_epoch_is_not_saved(
    measures_first: bool, folder: Path
) -> None:
    minimum = MinSaver("val/x")
    callbacks = [put([1.0, 3.0, 2.0, 4.0]), Every(epochs=2)(minimum)]
    make().train(4, Rows(), callbacks if measures_first else callbacks[::-1])
    assert minimum.best == 3.0


def test_in_between_it_waits_for_its_time(folder: Path) -> None:
    class Steps(Callback):
        def produces(self) -> list[str]:
            return ["x"]

        def _trigger_step(self) -> None:
            self.trainer.monitors.put_scalar("x", [3, 1, 2][self.local_step])

    minimum = MinSaver("x")
    make().train(1, Rows(), [Steps(), minimum])
    assert minimum.best == 2


def test_savers_want_a_folder() -> None:
    for saver in (ModelSaver(), MinSaver("loss")):
        with pytest.raises(ValueError, match=f"{type(saver).__name__}.*set_logger_dir"):
            make().train(1, Rows(), [saver])
