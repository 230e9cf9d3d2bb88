"""The files of the generated digits: complete or absent; other files are not overwritten."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from minispore.dataset import digits
from minispore.dataset.digits import _write
from minispore.dataset.idx import idx_bytes, read_idx, write_idx

P = ParamSpec("P")
R = TypeVar("R")
Images = npt.NDArray[np.uint8]
NAMES = {
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
}


@pytest.fixture(autouse=True)
def fast_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write images that are drawn in no time."""
    monkeypatch.setattr(_write, "generate", fast_generate)


def fast_generate(
    count: int, seed: int, usage: str, progress: object = None
) -> tuple[Images, Images]:
    rng = np.random.default_rng([seed, usage == "test"])
    return rng.integers(0, 256, (count, 28, 28), np.uint8), rng.integers(0, 10, count, np.uint8)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_files_contain_generated_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_write, "generate", digits.generate)
    folder = tmp_path / "a" / "b"
    assert digits.write(folder, train=260, test=20, seed=3) == folder
    for usage, prefix, count in (("train", "train", 260), ("test", "t10k", 20)):
        images, labels = digits.generate(count, 3, usage)
        np.testing.assert_array_equal(read_idx(folder / f"{prefix}-images-idx3-ubyte"), images)
        np.testing.assert_array_equal(read_idx(folder / f"{prefix}-labels-idx1-ubyte"), labels)
    assert set(content(folder)) == NAMES | {_write.MARKER}


def test_second_write_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digits.write(str(tmp_path), 30, 10)
    before = content(tmp_path)
    monkeypatch.setattr(_write, "generate", None)
    assert digits.write(tmp_path, train=30, test=10) == tmp_path
    assert content(tmp_path) == before


@pytest.mark.parametrize("other", [(31, 10, 0), (30, 11, 0), (30, 10, 1)])
def test_other_parameters_replace_the_files(tmp_path: Path, other: tuple[int, int, int]) -> None:
    digits.write(tmp_path / "x", 30, 10, 0)
    (tmp_path / "x" / "other.txt").write_text("kept", "utf-8")
    digits.write(tmp_path / "x", *other)
    digits.write(tmp_path / "y", *other)
    assert content(tmp_path / "x") == content(tmp_path / "y") | {"other.txt": b"kept"}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_missing_or_truncated_file_is_written_again(tmp_path: Path, name: str) -> None:
    digits.write(tmp_path, 30, 10)
    before = content(tmp_path)
    (tmp_path / name).unlink()
    digits.write(tmp_path, 30, 10)
    assert content(tmp_path) == before
    (tmp_path / name).write_bytes(before[name][:-1])
    digits.write(tmp_path, 30, 10)
    assert content(tmp_path) == before


@pytest.mark.parametrize("step", range(14))
def test_failure_at_any_step_leaves_no_complete_marker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    digits.write(tmp_path / "expected", 30, 10, 1)
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

    with monkeypatch.context() as patch:
        patch.setattr(_write, "idx_bytes", fail_after_the_last(idx_bytes))
        patch.setattr(Path, "unlink", fail_after_the_last(Path.unlink))
        patch.setattr(os, "replace", fail_after_the_last(os.replace))
        with pytest.raises(OSError, match="the disk is full"):
            digits.write(folder, 30, 10, 1)

    # New images never have old labels, and a second call writes all files.
    old, new = content(tmp_path / "expected"), content(folder)
    assert len({new[n] == old[n] for n in NAMES if n in new}) <= 1
    digits.write(folder, 30, 10, 1)
    assert content(folder) == old


@pytest.mark.parametrize("name", ["t10k-labels-idx1-ubyte", "train-images-idx3-ubyte.gz"])
def test_foreign_files_are_not_overwritten(tmp_path: Path, name: str) -> None:
    write_idx(tmp_path / name, np.arange(5, dtype=np.uint8))
    before = content(tmp_path)
    with pytest.raises(FileExistsError, match=name):
        digits.write(tmp_path, 30, 10)
    assert content(tmp_path) == before


def test_error_names_a_file_given_as_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("text", "utf-8")
    with pytest.raises(FileExistsError, match="taken"):
        digits.write(tmp_path / "taken", 30, 10)
    assert (tmp_path / "taken").read_text("utf-8") == "text"
