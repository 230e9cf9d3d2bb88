"""An interrupted and resumed training leaves the same files as an uninterrupted one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import train
from minispore.tensorpack import JSONLWriter, JSONWriter, MaxSaver, MinSaver, ModelSaver
from tests.helpers.resumable_training import EVAL_EVENTS, TRAIN_EVENTS, Fault, Training, files_in


class Files:
    """Callbacks that save files in one folder, and the files that they list."""

    def __init__(self, folder: Path) -> None:
        state = train.CheckpointConfig(2, keep_checkpoint_max=2, append_info=["training_state"])
        self.best = [
            train.BestCheckpoint("accuracy", top_k=2, directory=folder),
            train.BestCheckpoint("loss", prefix="low", directory=folder),
        ]
        self.newest = [
            train.ModelCheckpoint(
                "plain", folder, train.CheckpointConfig(3, keep_checkpoint_max=2)
            ),
            train.ModelCheckpoint("state", folder, state),
        ]
        self.history = train.History()
        self.extremes = [
            MaxSaver("accuracy", checkpoint_dir=folder),
            MinSaver("eval_loss", checkpoint_dir=folder),
        ]
        self.callbacks: list[train.Callback] = [
            *self.best,
            *self.newest,
            self.history,
            train.EarlyStopping("loss", patience=2),
            *self.extremes,
            ModelSaver(2, checkpoint_dir=folder),
            JSONWriter(folder),
            JSONLWriter(folder),
            train.BackupAndRestore(folder / "backup"),
        ]
        self.backup = folder / "backup" / "backup.ckpt"

    def listed(self) -> list[str]:
        paths = [path for best in self.best for path in best.files]
        paths += [path for saver in self.newest if (path := saver.latest_ckpt_file_name)]
        return paths + [saver._path for saver in self.extremes if saver.best is not None]


# Two of the epochs are evaluated, in 4 batches each.
EPOCHS = 4
trainings = st.builds(
    Training,
    epochs=st.just(EPOCHS),
    fit=st.just(True),
    seed=st.integers(1, 3),
    fault_first=st.booleans(),
)
events = st.sampled_from([*TRAIN_EVENTS, *EVAL_EVENTS])
positions = st.tuples(events, st.integers(1, 9))


@dataclass(frozen=True)
class Result:
    """What is compared of two trainings: the files by name, and what the callbacks hold."""

    files: dict[str, bytes]
    listed: list[str]
    history: Mapping[str, object]
    best: list[dict[str, float]]

    @classmethod
    def of(cls, part: Files, folder: Path) -> Self:
        listed = [Path(path) for path in part.listed()]
        assert all(path.exists() for path in listed)
        names = [path.name for path in listed]
        best = [
            {Path(path).name: value for path, value in saver.files.items()} for saver in part.best
        ]
        return cls(files_in(folder), names, part.history.state_dict(), best)


@cache
def uninterrupted(training: Training) -> Result:
    with TemporaryDirectory() as folder:
        part = Files(Path(folder))
        training.run(part.callbacks, Fault())
        return Result.of(part, Path(folder))


def interrupted(training: Training, stops: Sequence[tuple[str, int]]) -> Result:
    """Run the training with these stops, one after the other, until it has come to its end."""
    with TemporaryDirectory() as folder:
        part = Files(Path(folder))
        for event, times in (*stops, ("", 0)):
            part = Files(Path(folder))
            training.run(part.callbacks, Fault(event, times, "stop"))
            assert all(map(Path.exists, map(Path, part.listed())))
            if not part.backup.exists():
                break
        return Result.of(part, Path(folder))


@given(trainings, st.lists(positions, min_size=1, max_size=2))
@example(Training(epochs=EPOCHS), [("on_eval_step_end", 5)])
@example(Training(epochs=EPOCHS), [("on_eval_begin", 1), ("on_train_begin", 1)])
@example(Training(epochs=EPOCHS, fault_first=True), [("on_train_step_end", 7)])
def test_files_are_equal_after_stops(training: Training, stops: list[tuple[str, int]]) -> None:
    assert interrupted(training, stops) == uninterrupted(training)


def test_missing_files_are_dropped_with_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    training = Training(epochs=EPOCHS)
    folder = tmp_path / "other"
    part = Files(folder)
    training.run(part.callbacks, Fault("on_train_step_begin", 14, "stop"))
    listed = part.listed()
    assert {Path(path).name for path in listed} >= {"max-accuracy.ckpt", "min-eval_loss.ckpt"}
    for path in listed:
        Path(path).unlink()
    resumed = Files(folder)
    with pytest.warns(UserWarning, match=r"^For 'BestCheckpoint', these files no longer exist"):
        training.run(resumed.callbacks, Fault())
    assert caplog.text.count("no longer exists: the model is saved at the next") == 2
    assert all(map(Path.exists, map(Path, resumed.listed())))
    # What remains is compared with what comes later, and saved even if it is worse.
    assert len(resumed.best[0].files) == 1
    assert (folder / "max-accuracy.ckpt").exists()
