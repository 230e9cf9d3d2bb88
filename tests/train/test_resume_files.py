"""Interrupted anywhere and resumed, a training leaves the files of an uninterrupted one."""

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from minispore.tensorpack import JSONLWriter, JSONWriter, MaxSaver, MinSaver, ModelSaver
from minispore.train import (
    BackupAndRestore,
    BestCheckpoint,
    Callback,
    CheckpointConfig,
    EarlyStopping,
    History,
    ModelCheckpoint,
)
from minispore.train.callback._kept_files import KeptFiles

from .resuming import EVAL_EVENTS, TRAIN_EVENTS, Training, Trouble, files_in


class Files:
    """Callbacks that save, in one folder, and what they list."""

    def __init__(self, folder: Path) -> None:
        state = CheckpointConfig(2, keep_checkpoint_max=2, append_info=["training_state"])
        self.best = [
            BestCheckpoint("accuracy", top_k=2, directory=folder),
            BestCheckpoint("loss", prefix="low", directory=folder),
        ]
        self.newest = [
            ModelCheckpoint("plain", folder, CheckpointConfig(3, keep_checkpoint_max=2)),
            ModelCheckpoint("state", folder, state),
        ]
        self.history = History()
        self.extremes = [
            MaxSaver("accuracy", checkpoint_dir=folder),
            MinSaver("eval_loss", checkpoint_dir=folder),
        ]
        self.callbacks: list[Callback] = [
            *self.best,
            *self.newest,
            self.history,
            EarlyStopping("loss", patience=2),
            *self.extremes,
            ModelSaver(2, checkpoint_dir=folder),
            JSONWriter(folder),
            JSONLWriter(folder),
            BackupAndRestore(folder / "backup"),
        ]
        self.backup = folder / "backup" / "backup.ckpt"

    def listed(self) -> list[str]:
        paths = [path for best in self.best for path in best.files]
        paths += [path for each in self.newest if (path := each.latest_ckpt_file_name)]
        return paths + [each._path for each in self.extremes if each.best is not None]


@contextmanager
def no_warnings() -> Generator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values(best: BestCheckpoint) -> dict[str, float]:
    return {Path(path).name: value for path, value in best.files.items()}


events = st.sampled_from([*TRAIN_EVENTS, *EVAL_EVENTS, "on_eval_step_end"])
# Epochs 2 and 4 are evaluated, in 4 batches.
trainings = st.builds(
    Training,
    epochs=st.just(5),
    fit=st.just(True),
    seed=st.integers(1, 5),
    trouble_first=st.booleans(),
)


@settings(max_examples=20)
@given(trainings, st.lists(st.tuples(events, st.integers(1, 9)), min_size=1, max_size=3))
@example(Training(epochs=5), [("on_eval_step_end", 5)])
@example(Training(epochs=5), [("on_eval_begin", 1), ("on_train_begin", 1)])
@example(Training(epochs=5, trouble_first=True), [("on_train_step_end", 7)])
@example(Training(epochs=5), [("on_train_step_end", 5)])
def test_after_stops_the_files_are_the_same(
    training: Training, stops: list[tuple[str, int]]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        straight = Files(Path(one))
        training.go(straight.callbacks, Trouble())
        part = Files(Path(other))
        for event, times in stops:
            part = Files(Path(other))
            training.go(part.callbacks, Trouble(event, times, "stop"))
            assert all(map(Path.exists, map(Path, part.listed())))
            if not part.backup.exists():
                break
        else:
            part = Files(Path(other))
            training.go(part.callbacks, Trouble())
        assert files_in(Path(other)) == files_in(Path(one))
        assert [Path(path).name for path in part.listed()] == [
            Path(path).name for path in straight.listed()
        ]
        assert part.history.state_dict() == straight.history.state_dict()


# Many draws are left out: those that end, or are killed before there is a backup.
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
@given(trainings, st.lists(st.tuples(events, st.integers(1, 9)), min_size=1, max_size=3))
@example(
    Training(epochs=5, trouble_first=True), [("on_train_step_end", 7), ("on_eval_step_end", 2)]
)
def test_after_kills_what_is_listed_exists(
    training: Training, kills: list[tuple[str, int]]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other, no_warnings():
        straight = Files(Path(one))
        training.go(straight.callbacks, Trouble())
        for event, times in kills:
            part = Files(Path(other))
            training.go(part.callbacks, Trouble(event, times, "kill"))
            assume(part.backup.exists())
        part = Files(Path(other))
        training.go(part.callbacks, Trouble())
        assert all(map(Path.exists, map(Path, part.listed())))
        assert files_in(Path(other)).keys() == files_in(Path(one)).keys()
        assert list(map(values, part.best)) == list(map(values, straight.best))


def test_what_is_no_longer_there_is_dropped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    training = Training(epochs=5)
    straight = Files(tmp_path / "one")
    training.go(straight.callbacks, Trouble())
    folder = tmp_path / "other"
    part = Files(folder)
    training.go(part.callbacks, Trouble("on_train_step_begin", 14, "stop"))
    listed = part.listed()
    assert {Path(path).name for path in listed} >= {"max-accuracy.ckpt", "min-eval_loss.ckpt"}
    for path in listed:
        Path(path).unlink()
    resumed = Files(folder)
    with pytest.warns(UserWarning, match=r"^For 'BestCheckpoint', these files no longer exist"):
        training.go(resumed.callbacks, Trouble())
    assert caplog.text.count("no longer exists: the next") == 2
    assert all(map(Path.exists, map(Path, resumed.listed())))
    # What remains is compared with what comes later, and saved even if it is worse.
    assert len(resumed.best[0].files) == 1
    assert (folder / "max-accuracy.ckpt").exists()


def test_newer_files_that_were_removed_do_not_count(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in "abcd"]
    for path in paths:
        path.touch()
    kept = KeptFiles(map(str, paths[:3]))
    paths[1].unlink()
    paths[2].unlink()
    kept.add(str(paths[3]))
    kept.keep_newest(3)
    assert list(kept) == [str(paths[0]), str(paths[3])]
    assert paths[0].exists()
