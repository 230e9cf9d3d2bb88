"""Paths of another kind than expected, or removed during a training."""

import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from minispore import train
from minispore.tensorpack import JSONLWriter, JSONWriter, MinSaver, ModelSaver, TFEventWriter
from tests.faults.disk_faults import contents
from tests.faults.kill_harness import check_files
from tests.faults.test_disks import LOGGERS, SAVERS, checkpoints, run_training


class Remove(train.Callback):
    """Remove a folder in the middle of a training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_train_step_begin(self, run_context: train.RunContext) -> None:
        if run_context.original_args().cur_step_num == 5:
            # Renamed first, since a thread may be creating a file in it.
            shutil.rmtree(self.folder.rename(self.folder.with_name("removed")))


@pytest.mark.parametrize("saver", SAVERS)
def test_removed_folder_is_recreated(tmp_path: Path, saver: str) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    callback = SAVERS[saver][0](folder)
    if saver == "BackupAndRestore":
        callback = train.BackupAndRestore(folder, delete_checkpoint=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_training([Remove(folder), callback])
    # An event file that existed is not created again, and each lost summary is a warning.
    assert all("a summary was lost" in str(warning.message) for warning in caught)
    lost = saver == "landscape" and not any(folder.glob("*events*"))
    assert bool(caught) == lost
    if saver != "OnRequestExit":
        assert check_files(folder) == (0, 0)
        files = {path.name for path in folder.rglob("*.ckpt")}
        last = {
            "ModelCheckpoint": "net-3_3.ckpt",
            "async": "net-3_3.ckpt",
            "BackupAndRestore": "backup.ckpt",
            "BestCheckpoint": "best-3_3.ckpt",
            "landscape": "SequentialCell_9_step.ckpt",
        }
        assert last[saver] in files


@pytest.mark.parametrize("logger", LOGGERS)
def test_removed_log_files_are_recreated_or_skipped(
    tmp_path: Path, logger: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "made"
    run_training([Remove(folder), LOGGERS[logger](folder)])
    stopped = f"{logger} stops writing" in caplog.text and str(folder) in caplog.text
    assert stopped != folder.exists()
    assert not stopped or not logger.endswith("Saver")
    if not stopped:
        train.load_checkpoint(max(folder.glob("*.ckpt")))


def test_folder_instead_of_file_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "net-2_2.ckpt"
    saver = checkpoints(tmp_path)
    taken.mkdir()
    with pytest.raises(IsADirectoryError, match=re.escape(str(taken))):
        run_training([saver])
    taken.rmdir()
    assert min(path.name for path in tmp_path.glob("*.ckpt")) == "net-1_1.ckpt"
    assert check_files(tmp_path) == (0, 0)


@pytest.mark.parametrize("file", ["stats.json", "stats.jsonl", "model-6.ckpt"])
def test_folder_instead_of_log_file_warns(
    tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / file).mkdir()
    run_training([JSONWriter(tmp_path), JSONLWriter(tmp_path), ModelSaver(checkpoint_dir=tmp_path)])
    assert len([line for line in caplog.text.splitlines() if str(tmp_path / file) in line]) == 1
    assert check_files(tmp_path) == (0, 0)


# Functions that take a folder.
MAKERS: dict[str, Callable[[Path], object]] = {
    "ModelCheckpoint": lambda folder: train.ModelCheckpoint("net", folder),
    "BestCheckpoint": lambda folder: train.BestCheckpoint(directory=folder),
    "BackupAndRestore": train.BackupAndRestore,
    "SummaryCollector": lambda folder: train.SummaryCollector(str(folder)),
    "ModelSaver": lambda folder: run_training([ModelSaver(checkpoint_dir=folder)]),
    "MinSaver": lambda folder: run_training([MinSaver("loss", checkpoint_dir=folder)]),
    "JSONWriter": lambda folder: run_training([JSONWriter(folder)]),
    "TFEventWriter": lambda folder: run_training([TFEventWriter(folder)]),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("below", [False, True])
def test_file_instead_of_folder_is_named_at_once(tmp_path: Path, maker: str, below: bool) -> None:
    taken = tmp_path / "taken"
    taken.write_text("existing", "utf-8")
    with pytest.raises(OSError, match=re.escape(str(taken))):
        MAKERS[maker](taken / "inner" if below else taken)
    assert contents(tmp_path) == {"taken": b"existing"}
