"""minispore's callbacks decide after a resume as in an uninterrupted run."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore.train import (
    BestCheckpoint,
    Callback,
    EarlyStopping,
    History,
    LearningRateScheduler,
    ReduceLROnPlateau,
    RunContext,
)
from tests.helpers.resumable_training import EVAL_EVENTS, TRAIN_EVENTS, Fault, Training, files_in
from tests.properties.test_exact_resume import newest, savers


class Print(Callback):
    """Print what other callbacks have recorded and decided."""

    def __init__(self, history: History) -> None:
        self.history = history

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        params = run_context.original_args()
        assert params.optimizer is not None
        print(self.history.epoch, self.history.history, params.optimizer.get_lr())

    def on_train_end(self, run_context: RunContext) -> None:
        print("end", run_context.original_args().cur_step_num)


def history(folder: Path) -> list[Callback]:
    recorded = History()
    return [recorded, Print(recorded)]


def plateau(folder: Path) -> list[Callback]:
    return [ReduceLROnPlateau("accuracy", 0.5, patience=0, verbose=True, cooldown=1)]


def early(folder: Path) -> list[Callback]:
    return [EarlyStopping("accuracy", patience=1, verbose=True, restore_best_weights=True)]


def early_by_loss(folder: Path) -> list[Callback]:
    return [EarlyStopping("loss", min_delta=0.5, patience=2)]


def scheduled(folder: Path) -> list[Callback]:
    return [LearningRateScheduler(lambda rate, step: rate * 0.5 if step % 4 == 0 else rate)]


def best(folder: Path) -> list[Callback]:
    return [BestCheckpoint("accuracy", top_k=2, directory=folder)]


CALLBACKS: Mapping[str, Callable[[Path], list[Callback]]] = {
    make.__name__: make for make in (history, plateau, early, early_by_loss, scheduled, best)
}


@given(
    names=st.lists(st.sampled_from(list(CALLBACKS)), min_size=1, max_size=4, unique=True),
    event=st.sampled_from([*TRAIN_EVENTS, *EVAL_EVENTS]),
    times=st.integers(1, 25),
    kind=st.sampled_from(["kill", "stop"]),
    policy=st.tuples(st.integers(1, 7), st.integers(1, 3)),
    first=st.booleans(),
)
def test_resumed_training_equals_uninterrupted(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    event: str,
    times: int,
    kind: str,
    policy: tuple[int, int],
    first: bool,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    training = Training("shuffled", epochs=6, fault_first=first)

    def callbacks(position: str) -> list[Callback]:
        (folder / position).mkdir(exist_ok=True)
        others = [callback for name in names for callback in CALLBACKS[name](folder / position)]
        saving = savers(folder / position / "state", [policy])
        return [*saving, *others] if first else [*others, *saving]

    uninterrupted = training.run(callbacks("a"), Fault())
    training.run(callbacks("b"), Fault(event, times, kind))
    resume = newest(folder / "b" / "state")
    resumed = training.run(callbacks("b"), Fault(), resume, disturb=2 if resume else 0)
    assert resumed.parameters == uninterrupted.parameters
    assert resumed.lines == uninterrupted.lines[len(uninterrupted.lines) - len(resumed.lines) :]
    for position in (".", "state"):
        assert files_in(folder / "b" / position) == files_in(folder / "a" / position)


def test_early_stopped_training_stays_stopped(tmp_path: Path) -> None:
    training = Training(epochs=6)
    stopped = training.run([*early(tmp_path), *savers(tmp_path, [(1, 1)])], Fault())
    assert len([line for line in stopped.lines if "step: 2," in line]) < 6
    again = training.run([*early(tmp_path), *savers(tmp_path, [(1, 1)])], Fault(), newest(tmp_path))
    assert again.parameters == stopped.parameters
    assert not [line for line in again.lines if "loss is" in line]
