"""Nothing can be written: one clear error that names the file; the files from before are whole."""

import os
import re
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minispore import Tensor, nn, set_seed
from minispore._cli import main
from minispore.common import Parameter
from minispore.dataset import NumpySlicesDataset
from minispore.dataset._idx import write_idx
from minispore.dataset.digits import write as write_digits
from minispore.tensorpack import JSONLWriter, JSONWriter, MinSaver, ModelSaver, TFEventWriter
from minispore.testing import record_events
from minispore.train import (
    BackupAndRestore,
    BestCheckpoint,
    Callback,
    CheckpointConfig,
    Model,
    ModelCheckpoint,
    OnRequestExit,
    RunContext,
    SummaryCollector,
    SummaryRecord,
    ckpt_to_safetensors,
    save_checkpoint,
    wait_for_saves,
)

from .disks import Disk, Limited, ReadOnly, contents
from .killing import look_at
from .training import newest


def parameters(fill: float) -> list[Parameter]:
    return [Parameter(Tensor(np.full(2000, fill, np.float32)), name="p")]


def save(folder: Path, fill: float, **options: object) -> None:
    save_checkpoint(parameters(fill), folder / "net", **options)  # type: ignore[arg-type]
    wait_for_saves()


def convert(folder: Path, fill: float) -> None:
    # The source is elsewhere: it is no file of this disk.
    source = folder.parent / "source.ckpt"
    if os.access(folder.parent, os.W_OK):
        save_checkpoint(parameters(fill), source)
        source.chmod(0o444)
    ckpt_to_safetensors(str(source), save_path=str(folder))


def trace(folder: Path, fill: float) -> None:
    with record_events() as events:
        train([Callback()], epochs=1)
    events.save(folder / "trace.jsonl")


# What writes a file, and that file's name.
WRITERS: dict[str, tuple[Callable[[Path, float], object], str]] = {
    "save_checkpoint": (save, "net.ckpt"),
    "with a check sum": (lambda folder, fill: save(folder, fill, crc_check=True), "net.ckpt"),
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
    "trace": (trace, "trace.jsonl"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_cannot_be_written_is_named_and_is_as_before(disk: Disk, writer: str) -> None:
    write, name = WRITERS[writer]
    write(disk.folder, 1)
    before = contents(disk.folder)
    with disk.failing(), pytest.raises(OSError, match=re.escape(name)) as caught:
        write(disk.folder, 2)
    assert caught.value.filename == str(disk.folder / name)
    assert contents(disk.folder) == before
    write(disk.folder, 2)
    assert contents(disk.folder).keys() == before.keys()


class Fail(Callback):
    """Let a disk fail in a step, and send the signal that `OnRequestExit` waits for."""

    def __init__(self, disk: Disk, step: int = 0, number: int = 0) -> None:
        self.disk, self.step, self.number = disk, step, number

    def on_train_step_begin(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == self.step:
            self.disk.fail()
            if self.number:
                os.kill(os.getpid(), self.number)


X = np.linspace(-1, 1, 36, dtype=np.float32).reshape(12, 3)
Y = (np.arange(12) % 3).astype(np.int32)


def train(
    callbacks: list[Callback], epochs: int = 3, resume: Path | None = None
) -> dict[str, bytes]:
    """Train with three steps an epoch, and return all parameters."""
    set_seed(1)
    data = NumpySlicesDataset({"x": X, "y": Y}).batch(4)
    net = nn.SequentialCell(nn.Dense(3, 50), nn.ReLU(), nn.Dropout(p=0.5), nn.Dense(50, 3))
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    model.fit(epochs, data, data, callbacks=callbacks, resume=resume)
    return {p.name: p.asnumpy().tobytes() for p in model.train_network.get_parameters()}


@pytest.fixture(scope="module")
def straight() -> dict[str, bytes]:
    """The parameters of a training without any fault."""
    return train([])


def checkpoints(folder: Path, **options: object) -> ModelCheckpoint:
    config = CheckpointConfig(1, append_info=["training_state"], **options)  # type: ignore[arg-type]
    return ModelCheckpoint("net", folder, config)


LANDSCAPE: dict[str, object] = {"collect_landscape": {"create_landscape": {"train": True}}}
# Callbacks that cannot do without their files: the training ends, in the fifth of nine steps.
SAVERS: dict[str, tuple[Callable[[Path], Callback], str]] = {
    "ModelCheckpoint": (checkpoints, "net-2_2.ckpt"),
    "in the background": (
        lambda folder: checkpoints(folder, async_save=True),
        r"net-2_[12].ckpt",
    ),
    "BestCheckpoint": (
        lambda folder: BestCheckpoint("accuracy", "max", top_k=9, directory=folder),
        "best-2_3.ckpt",
    ),
    "BackupAndRestore": (BackupAndRestore, "backup.ckpt"),
    "OnRequestExit": (lambda folder: OnRequestExit(directory=folder), "rank_0(/Net_train.ckpt)?"),
    "landscape": (
        lambda folder: SummaryCollector(str(folder), 1, collect_specified_data=LANDSCAPE),
        "SequentialCell_5_step.ckpt",
    ),
}


@pytest.mark.filterwarnings("ignore:For 'SummaryRecord', a summary was lost")
@pytest.mark.parametrize("saver", SAVERS)
def test_a_training_that_cannot_save_says_so_and_can_be_gone_on_with(
    disk: Disk, saver: str, straight: dict[str, bytes]
) -> None:
    make, name = SAVERS[saver]
    number = signal.SIGTERM if saver == "OnRequestExit" else 0
    with disk.failing(at_once=False), pytest.raises(OSError, match=f"{name}'") as caught:
        train([Fail(disk, 5, number), make(disk.folder)])
    assert str(caught.value.filename).startswith(str(disk.folder))
    litter, torn = look_at(disk.folder)
    assert not torn
    # A file that was begun when the folder became read-only can no longer be removed.
    assert litter <= (isinstance(disk, ReadOnly) and saver == "in the background")
    resumable = newest(disk.folder)
    assert (saver in {"ModelCheckpoint", "in the background"}) == (resumable is not None)
    assert train([Fail(disk), make(disk.folder)], resume=resumable) == straight


# Callbacks whose files only tell: the training goes on without them.
TELLERS: dict[str, Callable[[Path], Callback]] = {
    "ModelSaver": lambda folder: ModelSaver(checkpoint_dir=folder),
    "MinSaver": lambda folder: MinSaver("loss", checkpoint_dir=folder),
    "JSONWriter": JSONWriter,
    "JSONLWriter": JSONLWriter,
    "TFEventWriter": TFEventWriter,
}


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize("teller", TELLERS)
def test_a_training_goes_on_without_what_only_tells(
    disk: Disk,
    teller: str,
    step: int,
    straight: dict[str, bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with disk.failing(at_once=False):
        assert train([Fail(disk, step), TELLERS[teller](disk.folder)]) == straight
    assert look_at(disk.folder) == (0, 0)
    # In a read-only folder and on a full disk, a file that is there may still have room for a line.
    if step == 1 or isinstance(disk, Limited) or "Saver" in teller:
        assert re.search(f"{disk.folder}/[^ ]*'", caplog.text)
    assert 0 not in map(len, contents(disk.folder).values())


@pytest.mark.parametrize("step", [1, 5])
def test_a_lost_summary_is_warned_of(disk: Disk, step: int, straight: dict[str, bytes]) -> None:
    with disk.failing(at_once=False), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert train([Fail(disk, step), SummaryCollector(str(disk.folder), 1)]) == straight
    assert look_at(disk.folder) == (0, 0)
    assert 0 not in map(len, contents(disk.folder).values())
    if step == 1 or isinstance(disk, Limited):
        assert "summary was lost: [Errno" in str(told[0].message)
        assert str(disk.folder) in str(told[0].message)


def test_a_lost_summary_is_raised_where_that_is_asked_for(disk: Disk) -> None:
    record = SummaryRecord(str(disk.folder), raise_exception=True)
    with disk.failing(), pytest.raises(OSError, match=str(disk.folder)):
        record.add_value("tensor", "x", Tensor(np.ones(99, np.float32)))
        record.record(1)
        record.flush()
    record.close()
    assert look_at(disk.folder) == (0, 0)


@pytest.mark.parametrize("room", [0, 20_000])
def test_the_command_line_tells_it_in_one_line(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], room: int
) -> None:
    disk = Limited(tmp_path)
    with disk.failing(at_once=False):
        disk.fail(room)
        status = main(["train", "--data", str(digits), "--epochs", "1", "--out", str(tmp_path)])
    name = "mnist-1_32.ckpt" if room else "metrics.csv"
    line = "minispore train: error: [Errno 27] File too large (nothing was changed) while writing"
    assert capsys.readouterr().err == f"{line}: '{tmp_path}/{name}'\n"
    assert status == 2
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
