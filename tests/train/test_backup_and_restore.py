"""BackupAndRestore: the same script, started again, ends as if it had never been interrupted."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import nn
from minispore.train import BackupAndRestore, Model, load_checkpoint
from minispore.train._protocol.run_context import Occasion
from minispore.train._training_state import TrainingState

from .deciding import run_context
from .resuming import TRAIN_EVENTS, Training, Trouble
from .standins import Batches, ConstantLoss


@settings(max_examples=20)
@given(
    st.sampled_from(["shuffled", "noise in a buffer", "own generator"]),
    st.integers(1, 3),
    st.sampled_from(TRAIN_EVENTS),
    st.integers(1, 14),
    st.sampled_from(["kill", "stop"]),
    st.booleans(),
)
@example("own generator", 1, "on_train_epoch_end", 1, "stop", False)
def test_started_again_it_goes_on(
    tmp_path_factory: pytest.TempPathFactory,
    pipeline: str,
    every: int,
    event: str,
    times: int,
    kind: str,
    fit: bool,
) -> None:
    folder = tmp_path_factory.mktemp("backup")
    backup = folder / "backup.ckpt"
    training = Training(pipeline, epochs=3, fit=fit)
    straight = training.go([BackupAndRestore(folder / "other", every)], Trouble())

    trouble = Trouble(event, times, kind)
    training.go([BackupAndRestore(folder, every)], trouble)
    happened = trouble.left <= 0
    if not happened:
        assert not backup.exists()
    elif kind == "stop":
        assert backup.exists() == (event != "on_train_end")
    resumed = training.go([BackupAndRestore(folder, every)], Trouble(), disturb=backup.exists())
    assert resumed.parameters == straight.parameters
    assert resumed.lines == straight.lines[len(straight.lines) - len(resumed.lines) :]
    assert not backup.exists()


def test_the_backup_is_an_ordinary_checkpoint(tmp_path: Path) -> None:
    net = nn.Dense(3, 4)
    backup = BackupAndRestore(tmp_path / "a" / "b", 2, delete_checkpoint=False)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    data = Batches(2)
    model = Model(nn.SequentialCell(net), nn.CrossEntropyLoss(), optimizer)
    model.train(2, data, backup)
    assert backup.backup_file == str(tmp_path / "a" / "b" / "backup.ckpt")
    loaded = load_checkpoint(backup.backup_file, crc_check=True)
    state = [name for name in loaded if name.startswith("training_state")]
    names = [each.name for each in model.train_network.get_parameters()]
    assert list(loaded) == names + state
    # Begun again there is nothing left to do, and with more epochs only what is missing.
    steps = int(optimizer.global_step.asnumpy()[0])
    model.train(2, data, BackupAndRestore(tmp_path / "a" / "b", delete_checkpoint=False))
    assert int(optimizer.global_step.asnumpy()[0]) == steps
    model.train(3, data, BackupAndRestore(tmp_path / "a" / "b"))
    assert int(optimizer.global_step.asnumpy()[0]) == steps + 2
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_there_need_be_no_backup_at_the_end(tmp_path: Path) -> None:
    Model(ConstantLoss()).train(1, Batches(1), BackupAndRestore(tmp_path, save_freq=5))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("occasion", "if_it_goes", "if_it_stays"),
    [
        ("asked", True, True),
        ("stopped", True, True),
        ("ended", False, True),
        ("resumed", False, False),
    ],
)
def test_no_backup_is_written_that_goes_at_once_or_is_there_already(
    tmp_path: Path, occasion: Occasion, if_it_goes: bool, if_it_stays: bool
) -> None:
    for delete, written in ((True, if_it_goes), (False, if_it_stays)):
        backup = BackupAndRestore(tmp_path / str(delete), delete_checkpoint=delete)
        backup.save_training_state(run_context(), TrainingState.of({}), occasion)
        assert Path(backup.backup_file).exists() == written


def test_what_a_kill_has_left_goes_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / ".minispore-killed.tmp").touch()
    BackupAndRestore(tmp_path).on_train_begin(run_context())
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_another_training_stays(tmp_path: Path) -> None:
    trouble = Trouble("on_train_epoch_begin", 2, "kill")
    Training(epochs=2).go([BackupAndRestore(tmp_path)], trouble)
    before = (tmp_path / "backup.ckpt").read_bytes()
    with pytest.raises(ValueError, match=r"backup.ckpt' is not one of this training"):
        Model(ConstantLoss()).train(1, Batches(1), BackupAndRestore(tmp_path))
    assert (tmp_path / "backup.ckpt").read_bytes() == before


def test_resume_goes_before_the_backup(tmp_path: Path) -> None:
    Training(epochs=2).go([BackupAndRestore(tmp_path / "a", 1, False)], Trouble())
    Training(epochs=1).go([BackupAndRestore(tmp_path / "b", 1, False)], Trouble())
    resumed = Training(epochs=2).go(
        [BackupAndRestore(tmp_path / "b", 1, False)], Trouble(), tmp_path / "a" / "backup.ckpt"
    )
    assert not resumed.lines


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (TypeError, (1,)),
        (ValueError, ("",)),
        (ValueError, ("b", 0)),
        (TypeError, ("b", "step")),
        (TypeError, ("b", 2.0)),
        (TypeError, ("b", True)),
        (TypeError, ("b", "epoch", 1)),
    ],
)
def test_wrong_arguments(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    arguments: tuple[object, ...],
) -> None:
    """Errors are of MindSpore's types, and no folder is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match="For 'BackupAndRestore'"):
        BackupAndRestore(*arguments)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
