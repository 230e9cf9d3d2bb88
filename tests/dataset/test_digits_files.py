"""The generated digits as files: whole or not there, found again, and nobody else's overwritten."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import pytest

from minispore.dataset import digits
from minispore.dataset._idx import idx_bytes, read_idx, write_idx
from minispore.dataset.digits import _write

P = ParamSpec("P")
R = TypeVar("R")
NAMES = {
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
}


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_the_files_hold_what_generate_draws(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert digits.write(folder, train=300, test=20, seed=3) == folder
    for usage, prefix, count in (("train", "train", 300), ("test", "t10k", 20)):
        images, labels = digits.generate(count, 3, usage)
        np.testing.assert_array_equal(read_idx(folder / f"{prefix}-images-idx3-ubyte"), images)
        np.testing.assert_array_equal(read_idx(folder / f"{prefix}-labels-idx1-ubyte"), labels)
    assert set(content(folder)) == NAMES | {_write.MARKER}


def test_a_second_call_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digits.write(str(tmp_path), 30, 10)
    before = content(tmp_path)
    monkeypatch.setattr(_write, "generate", None)
    assert digits.write(tmp_path, train=30, test=10) == tmp_path
    assert content(tmp_path) == before


@pytest.mark.parametrize("other", [(31, 10, 0), (30, 11, 0), (30, 10, 1)])
def test_other_parameters_replace_the_files(tmp_path: Path, other: tuple[int, int, int]) -> None:
    digits.write(tmp_path / "x", 30, 10, 0)
    (tmp_path / "x" / "mine.txt").write_text("kept", "utf-8")
    digits.write(tmp_path / "x", *other)
    digits.write(tmp_path / "y", *other)
    assert content(tmp_path / "x") == content(tmp_path / "y") | {"mine.txt": b"kept"}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_missing_or_cut_file_is_made_again(tmp_path: Path, name: str) -> None:
    digits.write(tmp_path, 30, 10)
    before = content(tmp_path)
    (tmp_path / name).unlink()
    digits.write(tmp_path, 30, 10)
    assert content(tmp_path) == before
    (tmp_path / name).write_bytes(before[name][:-1])
    digits.write(tmp_path, 30, 10)
    assert content(tmp_path) == before


@pytest.mark.parametrize("step", range(14))
def test_a_failure_at_any_step_leaves_no_folder_that_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    digits.write(tmp_path / "wanted", 30, 10, 1)
    folder = tmp_path / "x"
    digits.write(folder, 30, 10, 0)
    steps = iter(range(step))

    # Every write, removal and rename is a step.
    def fail_after_the_last(function: Callable[P, R]) -> Callable[P, R]:
        def stepped(*args: P.args, **kwargs: P.kwargs) -> R:
            if next(steps, None) is None:
                raise OSError("the disk is full")
            return function(*args, **kwargs)

        return stepped

    monkeypatch.setattr(_write, "idx_bytes", fail_after_the_last(idx_bytes))
    monkeypatch.setattr(Path, "unlink", fail_after_the_last(Path.unlink))
    monkeypatch.setattr(os, "replace", fail_after_the_last(os.replace))
    with pytest.raises(OSError, match="the disk is full"):
        digits.write(folder, 30, 10, 1)
    monkeypatch.undo()

    # Never new images beside old labels, and a second call puts everything right.
    old, new = content(tmp_path / "wanted"), content(folder)
    assert len({new[n] == old[n] for n in NAMES if n in new}) <= 1
    digits.write(folder, 30, 10, 1)
    assert content(folder) == old


@pytest.mark.parametrize("name", ["t10k-labels-idx1-ubyte", "train-images-idx3-ubyte.gz"])
def test_files_of_others_are_not_overwritten(tmp_path: Path, name: str) -> None:
    write_idx(tmp_path / name, np.arange(5, dtype=np.uint8))
    before = content(tmp_path)
    with pytest.raises(FileExistsError, match=name):
        digits.write(tmp_path, 30, 10)
    assert content(tmp_path) == before


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine", "utf-8")
    with pytest.raises(FileExistsError, match="taken"):
        digits.write(tmp_path / "taken", 30, 10)
    assert (tmp_path / "taken").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"train": 0}, ValueError, r"'train' must be in \[1, 2147483647\], but got 0"),
        ({"test": -3}, ValueError, r"'test' must be in \[1, 2147483647\], but got -3"),
        ({"seed": -1}, ValueError, "'seed' must be at least 0, but got -1"),
        ({"train": 2.5}, TypeError, "'train'"),
    ],
)
def test_bad_arguments(
    tmp_path: Path, options: dict[str, int], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        digits.write(tmp_path / "x", **options)
    assert not (tmp_path / "x").exists()


def test_the_directory_must_be_a_path() -> None:
    with pytest.raises(TypeError, match="'directory'"):
        digits.write(3)  # type: ignore[arg-type]
