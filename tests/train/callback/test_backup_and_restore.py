"""BackupAndRestore: a script that is started again ends like an uninterrupted one."""

import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from shutil import rmtree
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import nn
from minispore.train import BackupAndRestore, Model, load_checkpoint, save_checkpoint
from minispore.train.protocol.callback import SaveReason
from minispore.train.resume import TrainingState, read_training_checkpoint
from tests.helpers.callback_driver import run_context
from tests.helpers.resumable_training import TRAIN_EVENTS, Fault, Outcome, Training
from tests.helpers.stub_models import Batches, ConstantLoss


@given(
    every=st.integers(1, 4),
    steps=st.none() | st.integers(1, 4),
    first=st.integers(1, 5),
    epochs=st.integers(0, 6),
)
def test_backup_is_requested_each_so_many_epochs_and_steps(
    every: int, steps: int | None, first: int, epochs: int
) -> None:
    requested: list[int] = []
    context = run_context()
    context.request_save = lambda saver: requested.append(number)  # type: ignore[method-assign]
    with TemporaryDirectory() as folder:
        backup = BackupAndRestore(folder, every, save_steps=steps)
        for number in range(first, first + epochs):
            context.original_args().update(cur_epoch_num=number, cur_step_num=number + 1)
            backup.on_train_step_end(context)
            backup.on_train_epoch_end(context)
    expected: list[int] = []
    for epoch in range(first, first + epochs):
        due = [steps is not None and (epoch + 1) % steps == 0, epoch % every == 0]
        expected += [epoch] * sum(due)
    assert requested == expected


@pytest.mark.full
@given(
    st.sampled_from(["shuffled", "noise in a buffer", "own generator"]),
    st.integers(1, 3),
    st.sampled_from(TRAIN_EVENTS),
    st.integers(1, 14),
    st.sampled_from(["kill", "stop"]),
    st.booleans(),
    st.none() | st.integers(1, 6),
)
@example("own generator", 1, "on_train_epoch_end", 1, "stop", False, None)
def test_restarted_training_resumes_from_backup(
    tmp_path_factory: pytest.TempPathFactory,
    pipeline: str,
    every: int,
    event: str,
    times: int,
    kind: str,
    fit: bool,
    steps: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("backup")
    backup = folder / "backup.ckpt"
    training = Training(pipeline, epochs=3, fit=fit)

    def saver(name: str) -> BackupAndRestore:
        return BackupAndRestore(folder / name, every, save_steps=steps)

    uninterrupted = training.run([saver("other")], Fault())

    fault = Fault(event, times, kind)
    training.run([saver(".")], fault)
    happened = fault.remaining <= 0
    if not happened:
        assert not backup.exists()
    elif kind == "stop":
        assert backup.exists() == (event != "on_train_end")
    resumed = training.run([saver(".")], Fault(), disturb=backup.exists())
    assert resumed.parameters == uninterrupted.parameters
    assert resumed.lines == uninterrupted.lines[len(uninterrupted.lines) - len(resumed.lines) :]
    assert not backup.exists()


def test_backup_is_a_loadable_checkpoint(tmp_path: Path) -> None:
    net = nn.Dense(3, 4)
    backup = BackupAndRestore(tmp_path / "a" / "b", 2, delete_checkpoint=False)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    data = Batches(2)
    model = Model(nn.SequentialCell(net), nn.CrossEntropyLoss(), optimizer)
    model.train(2, data, backup)
    assert backup.backup_file == str(tmp_path / "a" / "b" / "backup.ckpt")
    loaded = load_checkpoint(backup.backup_file, crc_check=True)
    state = [name for name in loaded if name.startswith("training_state")]
    names = [parameter.name for parameter in model.train_network.get_parameters()]
    assert list(loaded) == names + state
    # Started again, it does no further step; with more epochs, only the missing ones.
    steps = int(optimizer.global_step.asnumpy()[0])
    model.train(2, data, BackupAndRestore(tmp_path / "a" / "b", delete_checkpoint=False))
    assert int(optimizer.global_step.asnumpy()[0]) == steps
    model.train(3, data, BackupAndRestore(tmp_path / "a" / "b"))
    assert int(optimizer.global_step.asnumpy()[0]) == steps + 2
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("kind", ["kill", "stop"])
def test_restarted_training_of_two_epochs_resumes(tmp_path: Path, kind: str) -> None:
    training = Training("own generator", epochs=2)
    expected = training.run([BackupAndRestore(tmp_path / "other")], Fault())
    training.run([BackupAndRestore(tmp_path)], Fault("on_train_epoch_begin", 2, kind))
    assert (tmp_path / "backup.ckpt").exists()
    resumed = training.run([BackupAndRestore(tmp_path)], Fault(), disturb=True)
    assert resumed.parameters == expected.parameters


def test_missing_backup_at_the_end_is_no_error(tmp_path: Path) -> None:
    Model(ConstantLoss()).train(1, Batches(1), BackupAndRestore(tmp_path, save_freq=5))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("reason", "written_if_deleted", "written_if_kept"),
    [
        ("requested", True, True),
        ("interrupted", True, True),
        ("finished", False, True),
        ("restored", False, False),
    ],
)
def test_save_reason_determines_backup(
    tmp_path: Path, reason: SaveReason, written_if_deleted: bool, written_if_kept: bool
) -> None:
    for delete, written in ((True, written_if_deleted), (False, written_if_kept)):
        backup = BackupAndRestore(tmp_path / str(delete), delete_checkpoint=delete)
        rmtree(tmp_path / str(delete))  # by the user
        backup.save_training_state(run_context(), TrainingState.of({}), reason)
        assert Path(backup.backup_file).exists() == written


def test_stale_temporaries_are_removed_at_begin(tmp_path: Path) -> None:
    (tmp_path / ".minispore-killed.tmp").touch()
    BackupAndRestore(tmp_path).on_train_begin(run_context())
    assert list(tmp_path.iterdir()) == []


def test_backup_of_another_training_is_kept(tmp_path: Path) -> None:
    fault = Fault("on_train_epoch_begin", 2, "kill")
    Training(epochs=2).run([BackupAndRestore(tmp_path)], fault)
    before = (tmp_path / "backup.ckpt").read_bytes()
    with pytest.raises(ValueError, match=r"backup.ckpt' is not one of this training"):
        Model(ConstantLoss()).train(1, Batches(1), BackupAndRestore(tmp_path))
    assert (tmp_path / "backup.ckpt").read_bytes() == before


def test_resume_argument_overrides_backup(tmp_path: Path) -> None:
    Training(epochs=2).run([BackupAndRestore(tmp_path / "a", 1, False)], Fault())
    Training(epochs=1).run([BackupAndRestore(tmp_path / "b", 1, False)], Fault())
    resumed = Training(epochs=2).run(
        [BackupAndRestore(tmp_path / "b", 1, False)], Fault(), tmp_path / "a" / "backup.ckpt"
    )
    assert not resumed.lines


def flip(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


DAMAGES: dict[str, Callable[[Path, int], object]] = {
    "cut": lambda path, place: path.write_bytes(path.read_bytes()[:place]),
    "changed": lambda path, place: path.write_bytes(flip(path.read_bytes(), place)),
    "without state": lambda path, place: save_checkpoint(nn.Dense(1, 1), str(path)),
    "removed": lambda path, place: path.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
@settings(max_examples=5)
@given(st.integers(1, 4), st.integers(9, 15), st.randoms(use_true_random=False))
def test_backup_before_a_damaged_one_is_used(
    damage: str, steps: int, killed: int, random: Random
) -> None:
    """With a warning; the damaged one replaces no other."""
    training = Training(epochs=3, fit=False)
    with TemporaryDirectory() as name:
        newest, previous = Path(name, "a", "backup.ckpt"), Path(name, "a", "backup-previous.ckpt")

        def run(folder: str, fault: Fault) -> Outcome:
            backup = BackupAndRestore(Path(name, folder), 9, save_steps=steps)
            return training.run([backup], fault, disturb=1)

        expected = run("b", Fault())
        run("a", Fault("on_train_step_begin", killed, "kill"))
        before = previous.read_bytes()
        DAMAGES[damage](newest, random.randrange(newest.stat().st_size))
        for fault in (Fault("on_train_step_begin", 1, "kill"), Fault()):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                resumed = run("a", fault)
            texts = [str(w.message) for w in caught if "backup" in str(w.message)]
            if fault.kind:
                # The first save of the resumed run is the one that it was resumed from.
                assert newest.read_bytes() == previous.read_bytes() == before
                assert len(texts) == (damage != "removed")
                assert all(
                    text.startswith("For 'BackupAndRestore', the newest backup is damaged, so")
                    and f"'{previous}'" in text
                    and f"'{newest}'" in text
                    for text in texts
                )
            else:
                assert not texts
        assert resumed.parameters == expected.parameters
        assert resumed.lines == expected.lines[len(expected.lines) - len(resumed.lines) :]
        assert list(newest.parent.iterdir()) == []


def test_a_damaged_backup_is_replaced_only_once(tmp_path: Path) -> None:
    """The save after the one that replaces it keeps that one."""
    context, backup = run_context(), BackupAndRestore(tmp_path)
    for number in (1, 2):
        backup.save_training_state(context, TrainingState.of({"step": number}), "requested")
    Path(backup.backup_file).write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="newest backup is damaged"):
        backup.on_train_begin(context)
    for number in (3, 4):
        backup.save_training_state(context, TrainingState.of({"step": number}), "requested")
    files = [tmp_path / "backup-previous.ckpt", tmp_path / "backup.ckpt"]
    assert [read_training_checkpoint(path).values["step"] for path in files] == [3, 4]


def test_two_damaged_backups_are_an_error_and_stay(tmp_path: Path) -> None:
    training = Training(epochs=2, fit=False)
    training.run(
        [BackupAndRestore(tmp_path, save_steps=2)], Fault("on_train_step_begin", 9, "kill")
    )
    files = {path: path.read_bytes()[:-9] for path in tmp_path.iterdir()}
    assert sorted(path.name for path in files) == ["backup-previous.ckpt", "backup.ckpt"]
    for path, content in files.items():
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"Failed to read .*backup\.ckpt'"):
        training.run([BackupAndRestore(tmp_path)], Fault())
    assert files == {path: path.read_bytes() for path in tmp_path.iterdir()}
