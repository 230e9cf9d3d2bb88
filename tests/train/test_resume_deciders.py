"""Trainings with all the callbacks that decide and record, killed anywhere and resumed."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from minispore.train import (
    BestCheckpoint,
    Callback,
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    ReduceLROnPlateau,
)

from .resuming import EVAL_EVENTS, TRAIN_EVENTS, Outcome, Training, Trouble, files_in
from .test_resume import newest, savers


def go(folder: Path, training: Training, trouble: Trouble, patience: int) -> Outcome:
    """Go on from the newest checkpoint in the folder, or begin."""
    history = History()
    deciders: list[Callback] = [
        EarlyStopping("loss", 0.01, patience, True, "auto", None, True),
        ReduceLROnPlateau("accuracy" if training.fit else "loss", 0.5, 1, True, cooldown=2),
        LearningRateScheduler(lambda rate, step: rate * 0.5 if step % 4 == 0 else rate),
        history,
        LambdaCallback(on_train_epoch_end=lambda _: print(history.epoch, history.history)),
        BestCheckpoint("eval_loss" if training.fit else "loss", top_k=2, directory=folder / "best"),
        *savers(folder / "all", [(2, 2)]),
    ]
    return training.go(deciders, trouble, newest(folder / "all"))


trainings = st.builds(
    Training,
    epochs=st.integers(1, 5),
    fit=st.booleans(),
    seed=st.integers(1, 3),
    trouble_first=st.booleans(),
)
kills = st.builds(
    Trouble,
    event=st.sampled_from([*TRAIN_EVENTS, "on_train_step_end", *EVAL_EVENTS]),
    times=st.integers(3, 20),
    kind=st.just("kill"),
)


@settings(max_examples=40)
@given(trainings, st.lists(kills, min_size=1, max_size=2), st.integers(1, 3))
@example(Training(epochs=4), [Trouble("on_train_epoch_end", 3, "kill")], 9)
@example(Training(epochs=4, fit=False), [Trouble("on_train_step_end", 14, "kill")], 9)
def test_a_killed_training_decides_as_if_it_had_not_been(
    training: Training, troubles: list[Trouble], patience: int
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        straight = go(Path(one), training, Trouble(), patience)
        part = straight
        for trouble in (*troubles, Trouble()):
            again = Trouble(trouble.event, trouble.times, trouble.kind)
            part = go(Path(other), training, again, patience)
        assert part.parameters == straight.parameters
        assert part.lines == straight.lines[len(straight.lines) - len(part.lines) :]
        for kind in ("all", "best"):
            assert files_in(Path(other) / kind) == files_in(Path(one) / kind)
