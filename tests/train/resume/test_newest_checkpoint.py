"""A folder as `resume`: the newest of its checkpoints, and errors that list what it has."""

import os
import re
import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore import nn, train
from minispore.train.resume.newest_checkpoint import read_newest_checkpoint
from tests.helpers.resumable_training import Fault, Training
from tests.helpers.stub_models import Batches, ConstantLoss
from tests.properties.test_exact_resume import newest, savers


@settings(max_examples=8)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.just(9)), min_size=1, max_size=2),
    st.integers(6, 15),
    st.integers(0, 2),
    st.sampled_from(["ckpt", "safetensors"]),
    st.randoms(use_true_random=False),
)
@example([(1, 9)], 9, 2, "ckpt", Random(1))
@example([(1, 9), (3, 9)], 12, 0, "safetensors", Random(2))
def test_latest_step_is_taken_whatever_the_times_and_other_files(
    policies: list[tuple[int, int]], killed: int, damaged: int, ending: str, random: Random
) -> None:
    """Damaged files are left out, each with a warning."""
    training = Training(epochs=3, fit=False)
    with TemporaryDirectory() as name:
        folder = Path(name)
        training.run(
            savers(folder, policies, format=ending), Fault("on_train_step_begin", killed, "kill")
        )
        bad: list[str] = []
        for path in sorted(folder.glob(f"*.{ending}")):
            os.utime(path, (random.randrange(10**9), random.randrange(10**9)))
        for _ in range(damaged):
            latest = newest(folder)
            assert latest is not None
            bad.append(latest.name)
            latest.rename(folder / f"{latest.name}.bad")
        expected = newest(folder)
        if expected is None:
            return
        for each in bad:
            content = (folder / f"{each}.bad").read_bytes()
            (folder / f"{each}.bad").unlink()
            (folder / each).write_bytes(content[: random.randrange(len(content))])
        train.save_checkpoint(nn.Dense(1, 1), str(folder / "best-9_9.ckpt"))
        (folder / "notes.txt").write_text("mine", "utf-8")
        (folder / "net-99_9.ckpt").mkdir()
        (folder / ".minispore-1.tmp").touch()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = read_newest_checkpoint(folder)
        texts = [str(warning.message) for warning in caught]
        assert all("A file in the folder 'resume' is left out" in text for text in texts)
        assert sorted(re.findall(r"file '[^']*?([^/']*)'", " ".join(texts))) == sorted(bad)
        step = re.compile(r"\d+_\d+")
        assert step.findall(Path(found.path).name) == step.findall(expected.name)


def test_folder_without_training_state_is_an_error_that_lists_its_files(tmp_path: Path) -> None:
    model = train.Model(ConstantLoss())
    with pytest.raises(
        ValueError,
        match=r"^The argument 'resume' is the folder '.*', which has no "
        r"checkpoint to resume from. It has no files\.$",
    ):
        model.train(1, Batches(1), resume=tmp_path)
    train.save_checkpoint(nn.Dense(1, 1), str(tmp_path / "best.ckpt"))
    (tmp_path / "damaged.ckpt").write_bytes(b"\0")
    (tmp_path / "notes.txt").touch()
    expected = (
        "It has 'best.ckpt' (without a training state), 'damaged.ckpt' (damaged), 'notes.txt'"
    )
    with (
        pytest.raises(ValueError, match=re.escape(f"{expected}.")),
        pytest.warns(UserWarning, match="is left out"),
    ):
        model.train(1, Batches(1), resume=tmp_path)
    for number in range(20):
        (tmp_path / f"{number}.txt").touch()
    with (
        pytest.raises(ValueError, match=r"'damaged.ckpt' .* and 3 more\.$"),
        pytest.warns(UserWarning, match="is left out"),
    ):
        model.train(1, Batches(1), resume=str(tmp_path))


DAMAGED_STATES = [
    "[]", "7", "null", "{}", "[" * 9999, '{"step": 3, "closed": true}',
    '{"step": "3", "closed": true, "states": {}}', '{"step": 3, "closed": 1, "states": {}}',
    '{"step": 3, "closed": true, "states": {"0 A": {"prefix": {}}}}',
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED_STATES)
def test_damaged_states_are_left_out(text: str, tmp_path: Path) -> None:
    entry = {"training_state": f"00000000 {text}"}
    train.save_checkpoint(nn.Dense(1, 1), str(tmp_path / "a.ckpt"), append_dict=entry)
    with (
        pytest.raises(ValueError, match=r"It has 'a.ckpt' \(damaged\)"),
        pytest.warns(UserWarning, match="is left out"),
    ):
        read_newest_checkpoint(tmp_path)


def test_files_of_several_runs_are_an_error_that_names_the_newest_of_each(tmp_path: Path) -> None:
    """Also where one has more steps than the other, or was written later."""
    training = Training(epochs=2, fit=False)
    for _ in range(2):
        training.run(savers(tmp_path, [(3, 9)]), Fault("on_train_step_begin", 8, "kill"))
    names = [f"'{tmp_path}/policy0{run}-2_1.ckpt'" for run in ("", "_1")]
    with pytest.raises(ValueError, match="has checkpoints of several runs. Name one") as raised:
        training.run(savers(tmp_path, [(3, 9)]), Fault(), tmp_path)
    assert all(name in str(raised.value) for name in names)


def test_resumed_run_continues_the_files_of_its_folder(tmp_path: Path) -> None:
    """So that the folder can be given again and again."""
    training = Training(epochs=3)
    uninterrupted = training.run(savers(tmp_path / "a", [(2, 3), (3, 1)]), Fault())
    training.run(savers(tmp_path / "b", [(2, 3), (3, 1)]), Fault("on_train_step_end", 4, "stop"))
    for times, kind in ((3, "kill"), (4, "stop"), (99, "")):
        fault = Fault("on_train_step_end", times, kind)
        part = training.run(savers(tmp_path / "b", [(2, 3), (3, 1)]), fault, tmp_path / "b", 1)
    assert part.parameters == uninterrupted.parameters
    assert sorted(os.listdir(tmp_path / "b")) == sorted(os.listdir(tmp_path / "a"))
