"""BestCheckpoint: its files, those of other callbacks, and failing saves."""

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import nn, train
from minispore.train.callback import _best_checkpoint
from tests.helpers.callback_driver import epoch, run_context
from tests.helpers.stub_models import Rows, make


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".meta"))


def test_files_of_a_training_can_be_loaded(tmp_path: Path) -> None:
    model = make({"accuracy"})
    best = train.BestCheckpoint(top_k=2, directory=tmp_path / "made", format="safetensors")
    model.fit(4, Rows(10), Rows(10), callbacks=best)
    # The loss falls from epoch to epoch.
    assert names(tmp_path / "made") == ["best-3_3.safetensors", "best-4_3.safetensors"]
    assert best.best_ckpt_file_name == str(tmp_path / "made" / "best-4_3.safetensors")
    assert list(best.files.values()) == sorted(best.files.values())
    loaded = train.load_checkpoint(best.best_ckpt_file_name, format="safetensors")
    for parameter in model.train_network.get_parameters():
        np.testing.assert_array_equal(
            loaded[parameter.name].asnumpy().reshape(parameter.shape),  # type: ignore[union-attr]
            parameter.asnumpy(),
        )


EPOCHS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from([0.0, 0.5, 1.0])), max_size=5)


@given(
    runs=st.lists(EPOCHS, max_size=3),
    top_k=st.integers(1, 3),
    sign=st.sampled_from([1, -1]),
    moved=st.booleans(),
)
@example([[(1, 0.5), (2, 1.0), (1, 1.0)]], 1, -1, False)
@example([[(1, 0.5), (2, 0.9)], [(1, 0.7), (2, 0.1)]], 2, -1, True)
def test_best_files_of_all_runs_are_kept(
    runs: list[list[tuple[int, float]]], top_k: int, sign: int, moved: bool
) -> None:
    """A repeated epoch replaces its file; the folder of a state can be moved."""
    mode = "min" if sign == 1 else "max"
    ranked: dict[str, float] = {}
    with TemporaryDirectory() as root:
        folder, written = Path(root, "a"), list[str]()
        best = train.BestCheckpoint("value", mode, top_k, directory=folder)

        def save(network: nn.Cell, path: str, format: str) -> None:
            written.append(Path(path).name)
            train.save_checkpoint(network, path, format=format)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_best_checkpoint, "save_checkpoint", save)
            for run in runs:
                context = run_context()
                best.on_train_begin(context)
                indices = [
                    int(name[5 : name.index("-")]) if name[4] == "_" else 0
                    for name in names(folder)
                ]
                prefix = f"best_{max(indices) + 1}" if indices else "best"
                for number, value in run:
                    name = f"{prefix}-{number}_1.ckpt"
                    written.clear()
                    epoch(best, context, number, value)
                    worst = [sign * old for old in ranked.values()][-1:]
                    is_saved = len(ranked) < top_k or sign * value < worst[0]
                    assert written == [name] * is_saved
                    if is_saved:
                        others = [(key, old) for key, old in ranked.items() if key != name]
                        pairs = sorted([*others, (name, value)], key=lambda pair: sign * pair[1])
                        ranked = dict(pairs[:top_k])
                    assert names(folder) == sorted(ranked)
                    assert [(Path(k).name, v) for k, v in best.files.items()] == [*ranked.items()]
                if moved:
                    state = best.state_dict()
                    best.__exit__(None, None, None)
                    folder = folder.rename(Path(root, f"{folder.name}a"))
                    best = train.BestCheckpoint("value", mode, top_k, directory=folder)
                    best.load_state_dict(state)
        first = str(folder / next(iter(ranked))) if ranked else ""
        assert best.best_ckpt_file_name == first
        best.__exit__(None, None, None)


VALUES = st.sampled_from([0.0, 0.125, 1 / 3, 1e-7, 12345678.0, -2.5, np.inf, np.nan, None])


@given(
    st.lists(VALUES, max_size=5),
    st.sampled_from([1, 9]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([("value", "value"), ("Top-1 / 5", "Top-1___5"), ("ä.b", "ä.b")]),
    st.sampled_from(["ckpt", "safetensors"]),
)
@example([0.5, 1 / 3, 2 / 3], 9, True, True, ("value", "value"), "ckpt")
def test_names_have_the_value_and_the_last_epoch_is_saved(
    sequence: list[float | None],
    top_k: int,
    in_name: bool,
    last: bool,
    metric: tuple[str, str],
    ending: str,
) -> None:
    with TemporaryDirectory() as name:
        folder, context = Path(name), run_context()
        best = train.BestCheckpoint(
            metric[0], "max", top_k, "m", folder, ending, value_in_name=in_name, save_last=last
        )
        best.on_train_begin(context)
        numbers: dict[int, float] = {}
        for number, value in enumerate(sequence, start=1):
            epoch(best, context, number, value, metric[0])
            if value is not None and not np.isnan(value):
                numbers[number] = value
            kept = sorted(numbers, key=lambda n: -numbers[n])[:top_k]
            expected = [
                f"m-{n}_1" + f"-{metric[1]}={numbers[n]:.6g}" * in_name + f".{ending}" for n in kept
            ]
            assert [Path(path).name for path in best.files] == expected
            assert names(folder) == sorted([*expected, *[f"m-last.{ending}"] * last])
            if last:
                loaded = train.load_checkpoint(folder / f"m-last.{ending}", format=ending)
                assert loaded["weight"].asnumpy().item() == number  # type: ignore[union-attr]
        other = train.BestCheckpoint(metric[0], "max", 1, "m", folder, ending)
        other.on_train_begin(context)
        epoch(other, context, 1, 0.5, metric[0])
        # The files of an earlier run, also that of its last epoch, have another prefix.
        prefix = "m_1" if numbers or (last and sequence) else "m"
        assert [Path(path).name for path in other.files] == [f"{prefix}-1_1.{ending}"]
        for callback in (best, other):
            callback.__exit__(None, None, None)


@given(st.sets(st.integers(1, 3)))
def test_removed_files_are_left_out_with_a_warning(removed: set[int]) -> None:
    with TemporaryDirectory() as folder:
        best, context = train.BestCheckpoint("value", "max", 3, directory=folder), run_context()
        for number in (1, 2, 3):
            epoch(best, context, number, float(number))
        state = best.state_dict()
        paths = [path for path in best.files if int(path[-8]) in removed]
        for path in paths:
            Path(path).unlink()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            best.load_state_dict(state)
        assert best.files.keys().isdisjoint(paths)
        assert len(best.files) == 3 - len(removed)
        message = (
            "For 'BestCheckpoint', these files no longer exist, so new ones are not compared with "
            f"them: {', '.join(paths)}."
        )
        assert [str(warning.message) for warning in caught] == [message] * bool(paths)
        best.__exit__(None, None, None)


def test_file_retained_by_another_policy_is_kept(tmp_path: Path) -> None:
    newest = train.ModelCheckpoint(
        "same", tmp_path, train.CheckpointConfig(2, keep_checkpoint_max=1)
    )
    best = train.BestCheckpoint("value", "max", prefix="same", directory=tmp_path)
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


def test_foreign_files_are_never_removed(tmp_path: Path) -> None:
    (tmp_path / "best-7_1.ckpt.txt").write_text("mine", "utf-8")
    best, context = train.BestCheckpoint("value", "max", directory=tmp_path), run_context()
    best.on_train_begin(context)
    for number in range(1, 6):
        epoch(best, context, number, float(number))
    Path(best.best_ckpt_file_name).unlink()  # removed by the user
    epoch(best, context, 6, 6.0)
    assert names(tmp_path) == ["best-6_1.ckpt", "best-7_1.ckpt.txt"]


def test_failed_save_keeps_previous_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    best, context = train.BestCheckpoint("value", "max", directory=tmp_path), run_context()
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
