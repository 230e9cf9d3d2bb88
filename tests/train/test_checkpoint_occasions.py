"""ModelCheckpoint where a state is asked for: what is kept of the files that this leaves."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train import CheckpointConfig, ModelCheckpoint, RunContext
from minispore.train._protocol.run_context import Occasion
from minispore.train._training_state import TrainingState

from .standins import ConstantLoss


def names_of(folder: Path) -> list[str]:
    """What stands after the prefix in the names of the checkpoints."""
    return sorted(path.stem.removeprefix("m-") for path in folder.glob("*.ckpt"))


@pytest.mark.parametrize(
    ("before", "occasion", "files", "later"),
    [
        ([], "asked", "1_3", "1_3 1_4"),
        ([], "ended", "1_3", "1_3 1_4"),
        ([], "stopped", "1_3", "1_4"),
        ([], "resumed", "", "1_4"),
        (["there"], "resumed", "1_3", "1_4"),
        (["asked"], "stopped", "1_3", "1_3 1_4"),
        (["asked"], "ended", "1_3", "1_3 1_4"),
        (["asked"], "resumed", "1_3", "1_3 1_4"),
    ],
)
def test_what_is_only_saved_because_a_run_is_left_goes_with_the_next(
    tmp_path: Path, before: list[str], occasion: Occasion, files: str, later: str
) -> None:
    config = CheckpointConfig(2, append_info=["training_state"])
    names = {"batch_num": 5, "train_network": ConstantLoss(), "cur_epoch_num": 1, "cur_step_num": 3}
    context = RunContext({**names, "where": str(tmp_path)})
    saver = ModelCheckpoint("m", lambda params: str(params.where), config)
    saver.on_train_begin(context)
    if before == ["there"]:
        (tmp_path / "m-1_3.ckpt").touch()
    elif before:
        saver.save_training_state(context, TrainingState.of({}), "asked")
    saver.save_training_state(context, TrainingState.of({}), occasion)
    assert " ".join(names_of(tmp_path)) == files
    assert saver.latest_ckpt_file_name == (str(tmp_path / "m-1_3.ckpt") if files else "")
    context.original_args().cur_step_num = 4
    saver.save_training_state(context, TrainingState.of({}), "asked")
    assert " ".join(names_of(tmp_path)) == later
    assert saver.latest_ckpt_file_name == str(tmp_path / "m-1_4.ckpt")


@pytest.mark.parametrize("occasion", ["asked", "stopped", "ended"])
def test_what_is_saved_again_where_a_run_was_resumed_stays(
    tmp_path: Path, occasion: Occasion
) -> None:
    config = CheckpointConfig(2, append_info=["training_state"])
    names = {"batch_num": 5, "train_network": ConstantLoss(), "cur_epoch_num": 1, "cur_step_num": 3}
    context, saver = RunContext({**names}), ModelCheckpoint("m", tmp_path, config)
    saver.on_train_begin(context)
    (tmp_path / "m-1_3.ckpt").touch()
    saver.load_state_dict({**saver.state_dict(), "prefix": "m"})
    saver.save_training_state(context, TrainingState.of({}), "resumed")
    saver.save_training_state(context, TrainingState.of({}), occasion)
    saver.on_train_end(context)
    assert names_of(tmp_path) == ["1_3"]


@given(
    saved=st.integers(0, 12),
    since=st.integers(1, 6),
    there=st.frozensets(st.integers(1, 20)),
    steps=st.integers(1, 5),
    first_epoch=st.integers(1, 3),
)
@example(saved=3, since=3, there=frozenset({2, 4, 5, 6, 7}), steps=5, first_epoch=1)
def test_what_stops_have_left_since_the_last_saving_goes_with_the_next(
    saved: int, since: int, there: frozenset[int], steps: int, first_epoch: int
) -> None:
    """And nothing else: other files are somebody else's, and the last one saved is kept."""

    def name(step: int) -> str:
        return f"{first_epoch + (step - 1) // steps}_{(step - 1) % steps + 1}"

    now = saved + since
    config = CheckpointConfig(7, append_info=["training_state"])
    context = RunContext({"batch_num": steps, "train_network": ConstantLoss()})

    def at(step: int) -> None:
        epoch = first_epoch + (step - 1) // steps
        context.original_args().update(cur_epoch_num=epoch, cur_step_num=step)

    with TemporaryDirectory() as folder:
        before = ModelCheckpoint("m", folder, config)
        before.on_train_begin(context)
        if saved:
            at(saved)
            before.save_training_state(context, TrainingState.of({}), "asked")
        state = before.state_dict()
        before.__exit__(None, None, None)
        for step in there - {saved}:
            Path(folder, f"m-{name(step)}.ckpt").touch()
        at(now)
        saver = ModelCheckpoint("m", folder, config)
        saver.on_train_begin(context)
        saver.load_state_dict(state)
        saver.save_training_state(context, TrainingState.of({}), "resumed")
        left = [step for step in there if saved < step <= now]
        newest = max(left, default=saved)
        assert saver.latest_ckpt_file_name == (
            str(Path(folder, f"m-{name(newest)}.ckpt")) if newest else ""
        )
        at(now + 1)
        saver.save_training_state(context, TrainingState.of({}), "asked")
        kept = (there - set(left)) | {now + 1} | ({saved} - {0})
        assert names_of(Path(folder)) == sorted(map(name, kept))
        saver.__exit__(None, None, None)
