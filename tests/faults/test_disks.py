"""Failing disks: one error that names the file; the existing files stay complete."""

import os
import re
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn, set_seed, train
from minispore._cli import main
from minispore.common import Parameter
from minispore.dataset import NumpySlicesDataset
from minispore.dataset.digits import write as write_digits
from minispore.dataset.idx import write_idx
from minispore.tensorpack import JSONLWriter, JSONWriter, MinSaver, ModelSaver, TFEventWriter
from minispore.testing import record_events
from tests.faults.disk_faults import Disk, Limited, ReadOnly, contents
from tests.faults.kill_harness import check_files
from tests.faults.training_script import newest


def parameters(fill: float) -> list[Parameter]:
    return [Parameter(Tensor(np.full(2000, fill, np.float32)), name="p")]


def save(folder: Path, fill: float, **options: object) -> None:
    train.save_checkpoint(parameters(fill), folder / "net", **options)  # type: ignore[arg-type]
    train.wait_for_saves()


def convert(folder: Path, fill: float) -> None:
    # The source is on another disk.
    source = folder.parent / "source.ckpt"
    if not source.exists():
        train.save_checkpoint(parameters(fill), source)
        source.chmod(0o444)
    train.ckpt_to_safetensors(str(source), save_path=str(folder))


def trace(folder: Path, fill: float) -> None:
    with record_events() as events:
        run_training([train.Callback()], epochs=1)
    events.save(folder / "trace.jsonl")


# Functions that write a file, with its name.
WRITERS: dict[str, tuple[Callable[[Path, float], object], str]] = {
    "save_checkpoint": (save, "net.ckpt"),
    "with a checksum": (lambda folder, fill: save(folder, fill, crc_check=True), "net.ckpt"),
    "safetensors": (
        lambda folder, fill: save(folder, fill, format="safetensors"),
        "net.safetensors",
    ),
    "background": (lambda folder, fill: save(folder, fill, async_save=True), "net.ckpt"),
    "write_idx": (
        lambda folder, fill: write_idx(folder / "idx", np.full(999, fill, np.uint8)),
        "idx",
    ),
    "digits": (
        lambda folder, fill: write_digits(folder, 30, 10, int(fill)),
        "train-images-idx3-ubyte",
    ),
    "conversion": (convert, "source.safetensors"),
    "trace": (trace, "trace.jsonl"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_failed_write_names_file_and_keeps_it(disk: Disk, writer: str) -> None:
    write, name = WRITERS[writer]
    write(disk.folder, 1)
    before = contents(disk.folder)
    with disk.failing(), pytest.raises(OSError, match=re.escape(name)) as caught:
        write(disk.folder, 2)
    assert caught.value.filename == str(disk.folder / name)
    assert contents(disk.folder) == before
    write(disk.folder, 2)
    assert contents(disk.folder).keys() == before.keys()


class Fail(train.Callback):
    """Make a disk fail in a step, and send the signal that `OnRequestExit` handles."""

    def __init__(self, disk: Disk, step: int = 0, number: int = 0) -> None:
        self.disk, self.step, self.number = disk, step, number

    def on_train_step_begin(self, run_context: train.RunContext) -> None:
        if run_context.original_args().cur_step_num == self.step:
            self.disk.fail()
            if self.number:
                os.kill(os.getpid(), self.number)


X = np.linspace(-1, 1, 36, dtype=np.float32).reshape(12, 3)
Y = (np.arange(12) % 3).astype(np.int32)


def run_training(
    callbacks: list[train.Callback], epochs: int = 3, resume: Path | None = None
) -> dict[str, bytes]:
    """Train with three steps an epoch, and return all parameters."""
    set_seed(1)
    data = NumpySlicesDataset({"x": X, "y": Y}).batch(4)
    net = nn.SequentialCell(nn.Dense(3, 50), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(50, 3))
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    model = train.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.fit(epochs, data, data, callbacks=callbacks, resume=resume)
    return {p.name: p.asnumpy().tobytes() for p in model.train_network.get_parameters()}


@pytest.fixture(scope="module")
def uninterrupted() -> dict[str, bytes]:
    return run_training([])


def checkpoints(folder: Path, **options: object) -> train.ModelCheckpoint:
    config = train.CheckpointConfig(1, append_info=["training_state"], **options)  # type: ignore[arg-type]
    return train.ModelCheckpoint("net", folder, config)


LANDSCAPE: dict[str, object] = {"collect_landscape": {"create_landscape": {"train": True}}}
# Callbacks whose files are required: the training fails, in the fifth of nine steps.
SAVERS: dict[str, tuple[Callable[[Path], train.Callback], str]] = {
    "ModelCheckpoint": (checkpoints, "net-2_2.ckpt"),
    "async": (
        lambda folder: checkpoints(folder, async_save=True),
        r"net-2_[12].ckpt",
    ),
    "BestCheckpoint": (
        lambda folder: train.BestCheckpoint("accuracy", "max", top_k=9, directory=folder),
        "best-2_3.ckpt",
    ),
    "BackupAndRestore": (train.BackupAndRestore, "backup.ckpt"),
    "OnRequestExit": (
        lambda folder: train.OnRequestExit(directory=folder),
        "rank_0(/Net_train.ckpt)?",
    ),
    "landscape": (
        lambda folder: train.SummaryCollector(str(folder), 1, collect_specified_data=LANDSCAPE),
        "SequentialCell_5_step.ckpt",
    ),
}


@pytest.mark.filterwarnings("ignore:For 'SummaryRecord', a summary was lost")
@pytest.mark.parametrize("saver", SAVERS)
def test_training_with_full_disk_can_be_resumed(
    disk: Disk, saver: str, uninterrupted: dict[str, bytes]
) -> None:
    make, name = SAVERS[saver]
    number = signal.SIGTERM if saver == "OnRequestExit" else 0
    with disk.failing(at_once=False), pytest.raises(OSError, match=f"{name}'") as caught:
        run_training([Fail(disk, 5, number), make(disk.folder)])
    assert str(caught.value.filename).startswith(str(disk.folder))
    stale, torn = check_files(disk.folder)
    assert not torn
    # An incomplete file cannot be removed from a folder that became read-only.
    assert stale <= (isinstance(disk, ReadOnly) and saver == "async")
    resumable = newest(disk.folder)
    assert (saver in {"ModelCheckpoint", "async"}) == (resumable is not None)
    assert run_training([Fail(disk), make(disk.folder)], resume=resumable) == uninterrupted


# Callbacks whose files are optional: the training continues without them.
LOGGERS: dict[str, Callable[[Path], train.Callback]] = {
    "ModelSaver": lambda folder: ModelSaver(checkpoint_dir=folder),
    "MinSaver": lambda folder: MinSaver("loss", checkpoint_dir=folder),
    "JSONWriter": JSONWriter,
    "JSONLWriter": JSONLWriter,
    "TFEventWriter": TFEventWriter,
}


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("logger", LOGGERS)
def test_training_continues_without_log_files(
    disk: Disk,
    logger: str,
    step: int,
    uninterrupted: dict[str, bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with disk.failing(at_once=False):
        assert run_training([Fail(disk, step), LOGGERS[logger](disk.folder)]) == uninterrupted
    assert check_files(disk.folder) == (0, 0)
    # In a read-only folder and on a full disk, an existing file may have room for a line.
    if step == 1 or isinstance(disk, Limited) or "Saver" in logger:
        assert re.search(f"{disk.folder}/[^ ]*'", caplog.text)
    assert 0 not in map(len, contents(disk.folder).values())


@pytest.mark.parametrize("step", [1, 5])
def test_lost_summary_warns(disk: Disk, step: int, uninterrupted: dict[str, bytes]) -> None:
    with disk.failing(at_once=False), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert (
            run_training([Fail(disk, step), train.SummaryCollector(str(disk.folder), 1)])
            == uninterrupted
        )
    assert check_files(disk.folder) == (0, 0)
    assert 0 not in map(len, contents(disk.folder).values())
    if step == 1 or isinstance(disk, Limited):
        assert "summary was lost: [Errno" in str(caught[0].message)
        assert str(disk.folder) in str(caught[0].message)


@pytest.mark.parametrize("room", [0, 20_000])
def test_command_line_reports_full_disk_in_one_line(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    disk = Limited(tmp_path)
    with disk.failing(at_once=False):
        disk.fail(room)
        status = main(["train", "--data", str(digits), "--epochs", "1", "--out", str(tmp_path)])
    name = "mnist-1_32.ckpt" if room else "arguments.json"
    line = "minispore train: error: [Errno 27] File too large (nothing was changed) while writing"
    assert capsys.readouterr().err == f"{line}: '{tmp_path}/{name}'\n"
    assert status == 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
