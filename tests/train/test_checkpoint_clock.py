"""The clocks in a ModelCheckpoint's state: a break between two processes does not count."""

from itertools import pairwise
from pathlib import Path

import pytest

from minispore.train import CheckpointConfig, Model, ModelCheckpoint, RunContext
from minispore.train.callback import _checkpoint

from .standins import Batches, ConstantLoss


@pytest.mark.parametrize("seconds", [0, 5])
def test_what_a_state_says_of_time_is_what_was_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    now = [1000.0]

    class Clock:
        @staticmethod
        def monotonic() -> float:
            now[0] += 0.25
            return now[0]

    config = CheckpointConfig(
        None if seconds else 2, seconds, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=1
    )

    def make() -> ModelCheckpoint:
        return ModelCheckpoint("net", tmp_path, config)

    monkeypatch.setattr(_checkpoint, "time", Clock)
    first = make()
    Model(ConstantLoss()).train(2, Batches(7), first)
    states = [first.state_dict()]
    for break_ in (0.0, 500.0):
        now[0] += break_
        other = make()
        other.load_state_dict(states[-1])
        states.append(other.state_dict())
    assert isinstance(states[0]["since_kept"], float)
    # What it calls its newest files is there.
    for name in ("latest", "newest_only"):
        assert states[0][name] == "" or (tmp_path / str(states[0][name])).is_file()
    for before, after in pairwise(states):
        for name, value in before.items():
            if isinstance(value, float):
                later = after[name]
                assert isinstance(later, float)
                # Only what it takes to ask the clock.
                assert value <= later <= value + 1
            else:
                assert after[name] == value


def test_a_run_without_steps_leaves_no_file(tmp_path: Path) -> None:
    saver = ModelCheckpoint("net", tmp_path)
    saver.on_train_begin(RunContext({}))
    saver.on_train_end(RunContext({}))
    assert not list(tmp_path.iterdir())
