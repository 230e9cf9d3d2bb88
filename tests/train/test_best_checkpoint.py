"""BestCheckpoint: its files in trainings, beside those of others, and when saving fails."""

import os
from pathlib import Path

import numpy as np
import pytest

from minispore.train import BestCheckpoint, CheckpointConfig, ModelCheckpoint, load_checkpoint
from minispore.train.callback import _best_checkpoint

from .deciding import epoch, run_context
from .standins import Rows, make


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".meta"))


def test_the_files_of_a_training_can_be_loaded(tmp_path: Path) -> None:
    model = make({"accuracy"})
    best = BestCheckpoint(top_k=2, directory=tmp_path / "made", format="safetensors")
    model.fit(4, Rows(10), Rows(10), callbacks=best)
    # The loss falls from epoch to epoch.
    assert names(tmp_path / "made") == ["best-3_3.safetensors", "best-4_3.safetensors"]
    assert best.best_ckpt_file_name == str(tmp_path / "made" / "best-4_3.safetensors")
    assert list(best.files.values()) == sorted(best.files.values())
    loaded = load_checkpoint(best.best_ckpt_file_name, format="safetensors")
    for parameter in model.train_network.get_parameters():
        np.testing.assert_array_equal(
            loaded[parameter.name].asnumpy().reshape(parameter.shape),  # type: ignore[union-attr]
            parameter.asnumpy(),
        )


def test_what_is_not_among_the_best_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    monkeypatch.setattr(
        _best_checkpoint, "save_checkpoint", lambda _, path, **__: written.append(path)
    )
    best, context = BestCheckpoint("value", "max", top_k=2, directory=tmp_path), run_context()
    for number, value in enumerate([1.0, 2.0, 0.5, 1.0, 3.0, 2.0], start=1):
        epoch(best, context, number, value)
    assert [Path(path).name for path in written] == [f"best-{i}_1.ckpt" for i in (1, 2, 5)]


def test_an_older_runs_files_stay(tmp_path: Path) -> None:
    best = BestCheckpoint(directory=tmp_path)
    assert best.best_ckpt_file_name == ""
    make({"accuracy"}).fit(2, Rows(8), Rows(8), callbacks=best)
    make({"accuracy"}).fit(2, Rows(8), Rows(8), callbacks=BestCheckpoint(directory=tmp_path))
    assert names(tmp_path) == ["best-2_2.ckpt", "best_1-2_2.ckpt"]


def test_the_same_callback_keeps_the_best_of_several_runs(tmp_path: Path) -> None:
    best = BestCheckpoint("value", "max", 2, directory=tmp_path)
    for values in ([0.5, 0.9], [0.7, 0.1]):
        context = run_context()
        best.on_train_begin(context)
        for number, value in enumerate(values, start=1):
            epoch(best, context, number, value)
        best.__exit__(None, None, None)
    assert list(best.files.values()) == [0.9, 0.7]
    assert names(tmp_path) == ["best-2_1.ckpt", "best_1-1_1.ckpt"]


def test_no_policy_removes_what_another_keeps(tmp_path: Path) -> None:
    newest = ModelCheckpoint("same", tmp_path, CheckpointConfig(2, keep_checkpoint_max=1))
    best = BestCheckpoint("value", "max", prefix="same", directory=tmp_path)
    context = run_context()
    for callback in (newest, best):
        callback.on_train_begin(context)
    for number, value in enumerate([0.1, 0.9, 0.2, 0.3], start=1):
        context.original_args().update(cur_epoch_num=number, cur_step_num=number)
        newest.on_train_step_end(context)
        epoch(best, context, number, value)
    assert names(tmp_path) == ["same-2_1.ckpt", "same-4_1.ckpt"]
    epoch(best, context, 5, 1.0)
    assert names(tmp_path) == ["same-4_1.ckpt", "same-5_1.ckpt"]


def test_files_of_others_are_never_removed(tmp_path: Path) -> None:
    (tmp_path / "best-7_1.ckpt.txt").write_text("mine", "utf-8")
    best, context = BestCheckpoint("value", directory=tmp_path), run_context()
    best.on_train_begin(context)
    for number in range(1, 6):
        epoch(best, context, number, float(number))
    Path(best.best_ckpt_file_name).unlink()  # whoever removed it by hand meant to
    epoch(best, context, 6, 6.0)
    assert names(tmp_path) == ["best-6_1.ckpt", "best-7_1.ckpt.txt"]


def test_if_saving_fails_the_best_so_far_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best, context = BestCheckpoint("value", directory=tmp_path), run_context()
    epoch(best, context, 1, 1.0)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr(os, "replace", full)
        with pytest.raises((OSError, RuntimeError)):
            epoch(best, context, 2, 2.0)
    assert names(tmp_path) == ["best-1_1.ckpt"]
    assert list(best.files.values()) == [1.0]


def test_a_folder_can_be_moved(tmp_path: Path) -> None:
    best = BestCheckpoint("value", directory=tmp_path / "a")
    epoch(best, run_context(), 1, 1.0)
    state = best.state_dict()
    (tmp_path / "a").rename(tmp_path / "b")
    other = BestCheckpoint("value", directory=tmp_path / "b")
    other.load_state_dict(state)
    epoch(other, run_context(), 2, 2.0)
    assert names(tmp_path / "b") == ["best-2_1.ckpt"]


def test_what_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    refused: list[tuple[type[Exception], str, dict[str, object]]] = [
        (ValueError, "top_k", {"top_k": 0}),
        (TypeError, "top_k", {"top_k": 1.5}),
        (ValueError, "mode", {"mode": "best"}),
        (TypeError, "monitor", {"monitor": None}),
        (ValueError, "format", {"format": "pickle"}),
        (ValueError, "prefix", {"prefix": "a/b"}),
        (NotADirectoryError, "directory", {"directory": tmp_path / "file"}),
    ]
    for error, name, options in refused:
        with pytest.raises(error, match=f"'{name}'"):
            BestCheckpoint(**options)  # type: ignore[arg-type]
    best = BestCheckpoint(directory=tmp_path)
    states: list[tuple[dict[str, object], str]] = [
        ({"prefix": "other", "values": {}}, "'prefix' 'other' is not 'best'"),
        ({"prefix": "best", "values": {"a": "x"}}, "values', the state's 'a'"),
        ({"prefix": "best"}, "no 'values'"),
    ]
    for state, told in states:
        with pytest.raises(ValueError, match=told):
            best.load_state_dict(state)
    assert best.files == {}
