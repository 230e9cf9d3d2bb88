"""Paths that are not what they should be, or that vanish while a training goes on."""

import os
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from minispore.tensorpack import JSONLWriter, JSONWriter, MinSaver, ModelSaver, TFEventWriter
from minispore.train import (
    BackupAndRestore,
    BestCheckpoint,
    Callback,
    ModelCheckpoint,
    OnRequestExit,
    RunContext,
    SummaryCollector,
    load_checkpoint,
)

from .disks import contents
from .killing import look_at
from .test_disks import SAVERS, TELLERS, checkpoints, train


class Remove(Callback):
    """Remove a folder in the middle of a training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == 5:
            # At once, though a thread may just be making a file in it.
            shutil.rmtree(self.folder.rename(self.folder.with_name("removed")))


@pytest.mark.parametrize("saver", SAVERS)
def test_a_folder_that_vanishes_is_made_again(tmp_path: Path, saver: str) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    callback = SAVERS[saver][0](folder)
    if saver == "BackupAndRestore":
        callback = BackupAndRestore(folder, delete_checkpoint=False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        train([Remove(folder), callback])
    # An event file is not made again if it was there, and each summary that is lost is told of.
    assert all("a summary was lost" in str(each.message) for each in told)
    lost = saver == "landscape" and not any(folder.glob("*events*"))
    assert bool(told) == lost
    if saver != "OnRequestExit":
        assert look_at(folder) == (0, 0)
        files = {path.name for path in folder.rglob("*.ckpt")}
        last = {
            "ModelCheckpoint": "net-3_3.ckpt",
            "in the background": "net-3_3.ckpt",
            "BackupAndRestore": "backup.ckpt",
            "BestCheckpoint": "best-3_3.ckpt",
            "landscape": "SequentialCell_9_step.ckpt",
        }
        assert last[saver] in files


@pytest.mark.parametrize("teller", TELLERS)
def test_files_that_only_tell_are_made_again_or_missed(
    tmp_path: Path, teller: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "made"
    train([Remove(folder), TELLERS[teller](folder)])
    told = f"{teller} writes no more" in caplog.text and str(folder) in caplog.text
    assert told != folder.exists()
    assert not told or not teller.endswith("Saver")
    if not told:
        load_checkpoint(max(folder.glob("*.ckpt")))


def test_a_folder_that_is_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "net-2_2.ckpt"
    saver = checkpoints(tmp_path)
    taken.mkdir()
    with pytest.raises(IsADirectoryError, match=re.escape(str(taken))):
        train([saver])
    taken.rmdir()
    assert min(path.name for path in tmp_path.glob("*.ckpt")) == "net-1_1.ckpt"
    assert look_at(tmp_path) == (0, 0)


@pytest.mark.parametrize("file", ["stats.json", "stats.jsonl", "model-6.ckpt"])
def test_a_folder_in_the_place_of_what_only_tells_is_told_of(
    tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / file).mkdir()
    train([JSONWriter(tmp_path), JSONLWriter(tmp_path), ModelSaver(checkpoint_dir=tmp_path)])
    assert len([line for line in caplog.text.splitlines() if str(tmp_path / file) in line]) == 1
    assert look_at(tmp_path) == (0, 0)


# What is made with a folder's name.
MAKERS: dict[str, Callable[[Path], object]] = {
    "ModelCheckpoint": lambda folder: ModelCheckpoint("net", folder),
    "BestCheckpoint": lambda folder: BestCheckpoint(directory=folder),
    "BackupAndRestore": BackupAndRestore,
    "SummaryCollector": lambda folder: SummaryCollector(str(folder)),
    "ModelSaver": lambda folder: train([ModelSaver(checkpoint_dir=folder)]),
    "MinSaver": lambda folder: train([MinSaver("loss", checkpoint_dir=folder)]),
    "JSONWriter": lambda folder: train([JSONWriter(folder)]),
    "TFEventWriter": lambda folder: train([TFEventWriter(folder)]),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("below", [False, True])
def test_a_file_that_is_in_the_place_of_a_folder_is_named_at_once(
    tmp_path: Path, maker: str, below: bool
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine", "utf-8")
    with pytest.raises(OSError, match=re.escape(str(taken))):
        MAKERS[maker](taken / "inner" if below else taken)
    assert contents(tmp_path) == {"taken": b"mine"}


def test_a_request_that_cannot_be_saved_leaves_the_handlers_alone(tmp_path: Path) -> None:
    (tmp_path / "rank_0").write_text("mine", "utf-8")
    with pytest.raises(OSError, match="rank_0"):
        train([Stop(), OnRequestExit(directory=tmp_path)])


class Stop(Callback):
    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == 2:
            os.kill(os.getpid(), 15)
