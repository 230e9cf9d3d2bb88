"""TimeLimit: the step after which a run is stopped, also across resumed runs."""

from contextlib import redirect_stdout
from datetime import timedelta
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore import train
from minispore.train.callback import _time_limit
from tests.helpers.stub_models import Batches, ConstantLoss, Rows, make

EPOCHS, STEPS = 3, 2


class Clock(train.Callback):
    """A clock on which each step and each evaluation takes so many seconds."""

    def __init__(self, step: int, evaluation: int) -> None:
        self.now = 100.0
        self.step, self.evaluation = step, evaluation
        self.last = 0

    def monotonic(self) -> float:
        return self.now

    def on_train_step_begin(self, run_context: train.RunContext) -> None:
        self.now += self.step
        self.last = run_context.original_args().cur_step_num

    def on_eval_begin(self, run_context: train.RunContext) -> None:
        self.now += self.evaluation


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(0, 5),
    st.booleans(),
)
@example([4, 9], 2, 3, True)
@example([40], 2, 3, False)
def test_run_stops_after_the_step_in_which_its_time_ends(
    limits: list[int], step: int, evaluation: int, delta: bool
) -> None:
    """Each limit is that of a run, resumed from the one before it, with a process of its own."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        folder, start = Path(name), 0
        for limit in limits:
            clock = Clock(step, evaluation)
            patch.setattr(_time_limit, "time", clock)
            timer = train.TimeLimit(timedelta(seconds=limit) if delta else limit)
            assert timer.seconds == limit
            backup = train.BackupAndRestore(folder)
            seen: list[float] = []
            note = train.LambdaCallback(on_train_step_end=lambda _: seen.append(timer.elapsed))  # noqa: B023
            with redirect_stdout(StringIO()) as screen:
                model = make({"loss"})
                model.fit(EPOCHS, Rows(8), Rows(8), callbacks=[clock, timer, note, backup])
            # The seconds at the end of each step of the whole run.
            times = [
                step * n + evaluation * ((n - 1) // STEPS) for n in range(1, EPOCHS * STEPS + 1)
            ]
            stop = next((n for n, t in enumerate(times, 1) if t >= limit and n > start), None)
            assert seen == times[start:stop]
            assert timer.elapsed == (
                times[stop - 1] if stop else step * EPOCHS * STEPS + evaluation * EPOCHS
            )
            clock.now += 1000  # when the run is over, its time does not pass
            line = ""
            if stop:
                epoch, in_epoch = (stop - 1) // STEPS + 1, (stop - 1) % STEPS + 1
                line = (
                    f"epoch: {epoch} step: {in_epoch}, the time limit of {limit} s is reached, "
                    "the run is stopped\n"
                )
            assert screen.getvalue() == line
            assert (folder / "backup.ckpt").exists() == bool(stop)
            assert timer.elapsed < 1000
            if stop is None:
                break
            start = stop
            if start == EPOCHS * STEPS:  # only the evaluation is left
                break


def test_second_run_has_its_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    timer, clock = train.TimeLimit(4), Clock(1, 0)
    monkeypatch.setattr(_time_limit, "time", clock)
    for _ in range(2):
        train.Model(ConstantLoss()).train(9, Batches(1), [clock, timer])
        assert clock.last == 4
        clock.now += 50


@pytest.mark.parametrize("duration", [0, -1.5, timedelta(0), timedelta(seconds=-1), float("nan")])
def test_duration_must_be_positive(duration: float | timedelta) -> None:
    with pytest.raises(ValueError, match="For 'TimeLimit', the argument 'duration' must"):
        train.TimeLimit(duration)
