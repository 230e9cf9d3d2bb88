"""ModelCheckpoint with training states: which temporary files are kept and removed."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from minispore.nn import Cell
from minispore.testing import Scenario
from minispore.train import CheckpointConfig, Model, ModelCheckpoint, RunContext
from minispore.train.callback import _checkpoint
from minispore.train.protocol.callback import SaveReason
from minispore.train.resume import TrainingState
from minispore.train.serialization import save_checkpoint, wait_for_saves
from tests.helpers.callback_driver import stopping_at
from tests.helpers.stub_models import Batches, ConstantLoss


def names_of(folder: Path) -> list[str]:
    """Return the part after the prefix in the names of the checkpoints."""
    return sorted(path.stem.removeprefix("m-") for path in folder.glob("*.ckpt"))


@pytest.mark.parametrize(
    ("before", "reason", "files", "later"),
    [
        ([], "requested", "1_3", "1_3 1_4"),
        ([], "finished", "1_3", "1_3 1_4"),
        ([], "interrupted", "1_3", "1_4"),
        ([], "restored", "", "1_4"),
        (["there"], "restored", "1_3", "1_4"),
        (["requested"], "interrupted", "1_3", "1_3 1_4"),
        (["requested"], "finished", "1_3", "1_3 1_4"),
        (["requested"], "restored", "1_3", "1_3 1_4"),
    ],
)
def test_temporary_file_is_removed_at_next_save(
    tmp_path: Path, before: list[str], reason: SaveReason, files: str, later: str
) -> None:
    config = CheckpointConfig(2, append_info=["training_state"])
    names = {"batch_num": 5, "train_network": ConstantLoss(), "cur_epoch_num": 1, "cur_step_num": 3}
    context = RunContext({**names, "where": str(tmp_path)})
    saver = ModelCheckpoint("m", lambda params: str(params.where), config)
    saver.on_train_begin(context)
    if before == ["there"]:
        (tmp_path / "m-1_3.ckpt").touch()
    elif before:
        saver.save_training_state(context, TrainingState.of({}), "requested")
    saver.save_training_state(context, TrainingState.of({}), reason)
    assert " ".join(names_of(tmp_path)) == files
    assert saver.latest_ckpt_file_name == (str(tmp_path / "m-1_3.ckpt") if files else "")
    context.original_args().cur_step_num = 4
    saver.save_training_state(context, TrainingState.of({}), "requested")
    assert " ".join(names_of(tmp_path)) == later
    assert saver.latest_ckpt_file_name == str(tmp_path / "m-1_4.ckpt")


@pytest.mark.parametrize("reason", ["requested", "interrupted", "finished"])
def test_file_saved_again_after_resume_is_kept(tmp_path: Path, reason: SaveReason) -> None:
    config = CheckpointConfig(2, append_info=["training_state"])
    names = {"batch_num": 5, "train_network": ConstantLoss(), "cur_epoch_num": 1, "cur_step_num": 3}
    context, saver = RunContext({**names}), ModelCheckpoint("m", tmp_path, config)
    saver.on_train_begin(context)
    (tmp_path / "m-1_3.ckpt").touch()
    saver.load_state_dict({**saver.state_dict(), "prefix": "m"})
    saver.save_training_state(context, TrainingState.of({}), "restored")
    saver.save_training_state(context, TrainingState.of({}), reason)
    saver.on_train_end(context)
    assert names_of(tmp_path) == ["1_3"]


@pytest.mark.parametrize("with_state", [True, False])
@given(
    saved=st.integers(0, 12),
    since=st.integers(1, 6),
    there=st.frozensets(st.integers(1, 20)),
    steps=st.integers(1, 5),
    first_epoch=st.integers(1, 3),
)
@example(saved=3, since=3, there=frozenset({2, 4, 5, 6, 7}), steps=5, first_epoch=1)
def test_temporary_files_of_several_stops_are_removed(
    saved: int, since: int, there: frozenset[int], steps: int, first_epoch: int, with_state: bool
) -> None:
    """Foreign files and the last saved file are kept; the state may be in another's file."""

    def name(step: int) -> str:
        return f"{first_epoch + (step - 1) // steps}_{(step - 1) % steps + 1}"

    now = saved + since
    config = CheckpointConfig(7, append_info=["training_state"] if with_state else None)
    context = RunContext({"batch_num": steps, "train_network": ConstantLoss()})

    def at(step: int) -> None:
        epoch = first_epoch + (step - 1) // steps
        context.original_args().update(cur_epoch_num=epoch, cur_step_num=step)

    with TemporaryDirectory() as folder:
        before = ModelCheckpoint("m", folder, config)
        before.on_train_begin(context)
        if saved:
            at(saved)
            before.save_training_state(context, TrainingState.of({}), "requested")
        state = before.state_dict()
        before.__exit__(None, None, None)
        for step in there - {saved}:
            Path(folder, f"m-{name(step)}.ckpt").touch()
        at(now)
        saver = ModelCheckpoint("m", folder, config)
        saver.on_train_begin(context)
        saver.load_state_dict(state)
        removed = [step for step in there if saved < step <= now]
        newest = max(removed, default=saved)
        if with_state:
            saver.save_training_state(context, TrainingState.of({}), "restored")
            latest = str(Path(folder, f"m-{name(newest)}.ckpt")) if newest else ""
            assert saver.latest_ckpt_file_name == latest
        at(now + 1)
        saver.on_train_step_end(context)
        if with_state:
            saver.save_training_state(context, TrainingState.of({}), "requested")
        saver.on_train_end(context)
        remaining = (there - set(removed)) | {now + 1} | ({saved} - {0})
        assert names_of(Path(folder)) == sorted(map(name, remaining))
        saver.__exit__(None, None, None)


@given(st.integers(1, 3), st.integers(1, 2), st.integers(0, 5), st.booleans(), st.booleans())
@example(2, 1, 4, True, True)
def test_files_after_a_kill_at_any_save_are_those_of_one_run(
    keep: int, every: int, kill: int, in_background: bool, before_the_file: bool
) -> None:
    """In the background, older files are removed directly before a file is written."""
    config = CheckpointConfig(
        every, None, keep, async_save=in_background, append_info=["training_state"]
    )

    def run(folder: Path, resume: Path | None = None, killed: Path | None = None) -> list[bytes]:
        written: list[bytes] = []

        def save(network: Cell, path: str, **options: Any) -> None:  # noqa: ANN401
            if killed is not None and before_the_file and len(written) == kill:
                shutil.copytree(folder, killed)
            save_checkpoint(network, path, **options)
            wait_for_saves()
            written.append(Path(path).read_bytes())
            if killed is not None and not before_the_file and len(written) == kill:
                shutil.copytree(folder, killed)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_checkpoint, "save_checkpoint", save)
            saver = ModelCheckpoint("m", folder, config)
            Scenario("train", 3, 2).run([saver], None if resume is None else str(resume))
        return written

    with TemporaryDirectory() as folder:
        whole, resumed = Path(folder, "whole"), Path(folder, "rest")
        expected = run(whole, killed=resumed)
        last = max(resumed.glob("*.ckpt"), default=None)
        assume(last is not None)
        actual = run(resumed, resume=last)
        assert actual
        assert actual == expected[len(expected) - len(actual) :]
        assert names_of(resumed) == names_of(whole)


@given(st.integers(0, 6), st.integers(1, 7), st.booleans(), st.booleans())
@example(0, 3, True, False)
@example(4, 3, False, True)
@example(0, 9, True, False)
def test_each_file_is_written_once_with_the_state_if_requested(
    every: int, stop: int, resumable: bool, in_background: bool
) -> None:
    written: list[str] = []

    def save(network: Cell, path: str, **options: Any) -> None:  # noqa: ANN401
        assert ("training_state" in options["append_dict"]) == resumable
        written.append(Path(path).stem)

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(_checkpoint, "save_checkpoint", save)
        patch.setattr(_checkpoint, "wait_for_saves", lambda: written.append("wait"))
        info = ["training_state"] if resumable else []
        config = CheckpointConfig(every, async_save=in_background, append_info=[*info])
        saver = ModelCheckpoint("m", folder, config)
        Model(ConstantLoss()).train(1, Batches(5), [stopping_at(stop), saver])
    steps = sorted({*range(every, min(stop, 5), every), min(stop, 5)}) if every else []
    assert ("wait" in written) == in_background
    assert [event for event in written if event != "wait"] == [f"m-1_{step}" for step in steps]
