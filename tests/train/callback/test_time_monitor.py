"""TimeMonitor: the lines that MindSpore 2.10 prints, with a simulated clock."""

from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train import RunContext, TimeMonitor
from minispore.train.callback import _time_monitor
from tests.helpers.stub_models import Batches
from tests.train.callback.test_loss_monitor import model_with_metrics


class Clock:
    """A clock that only the test advances, by binary fractions of a second: sums are exact."""

    now = 7.0

    def __call__(self) -> float:
        return self.now


# The times of a step: waiting for its batch, and computing.
TIMES = st.sampled_from([0.0, 0.125, 0.25, 0.5])
STEPS = st.lists(st.tuples(TIMES, TIMES), max_size=3)


def line(kind: str, seconds: float, steps: int, waiting: float | None) -> str:
    text = (
        f"{kind} epoch time: {1e3 * seconds:.3f} ms, per step time: {1e3 * seconds / steps:.3f} ms"
    )
    return text if waiting is None else f"{text} (data time: {1e3 * waiting / steps:.3f} ms)"


@given(
    epochs=st.lists(st.tuples(STEPS, st.none() | STEPS), max_size=3),
    data_time=st.booleans(),
    size=st.integers(1, 4),
    by_argument=st.booleans(),
)
@example([([(0.25, 0.5)] * 2, None)], True, 5, False)  # resumed inside an epoch of five steps
def test_each_epoch_is_timed_without_its_evaluation(
    epochs: list[tuple[list[tuple[float, float]], list[tuple[float, float]] | None]],
    data_time: bool,
    size: int,
    by_argument: bool,
) -> None:
    clock = Clock()
    expected: list[str] = []
    monitor = TimeMonitor(size if by_argument else None, data_time)
    context = RunContext({} if by_argument else {"batch_num": size})

    def run(kind: str, times: list[tuple[float, float]]) -> str:
        for wait, work in times:
            clock.now += wait
            getattr(monitor, f"on_{kind.lower()}_step_begin")(context)
            clock.now += work
            getattr(monitor, f"on_{kind.lower()}_step_end")(context)
        waiting = sum(wait for wait, _ in times) if data_time else None
        return line(kind, sum(map(sum, times)), len(times) or size, waiting)

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as screen:
        patch.setattr(_time_monitor, "perf_counter", clock)
        for training, evaluation in epochs:
            clock.now += 1.0  # between two epochs
            monitor.on_train_epoch_begin(context)
            trained = run("Train", training)
            if evaluation is not None:
                monitor.on_eval_begin(context)
                clock.now += 2.0  # before the dataset is iterated over
                monitor.on_eval_epoch_begin(context)
                expected.append(run("Eval", evaluation))
                monitor.on_eval_epoch_end(context)
                monitor.on_eval_end(context)
            monitor.on_train_epoch_end(context)
            expected.append(trained)
    assert screen.getvalue().splitlines() == expected


def test_fit_times_training_and_evaluation_separately(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(_time_monitor, "perf_counter", clock)

    class Rows(list[Sequence[object]]):
        def __iter__(self) -> Iterator[Sequence[object]]:
            for row in super().__iter__():
                clock.now += 0.25
                yield row

    class Slow(Batches):
        def create_tuple_iterator(self, *, num_epochs: int) -> list[Sequence[object]]:
            return Rows(super().create_tuple_iterator(num_epochs=num_epochs))

    model_with_metrics().fit(1, Slow(2), Slow(4), callbacks=TimeMonitor(data_time=True))
    assert capsys.readouterr().out.splitlines() == [
        line("Eval", 1.0, 4, 1.0),
        line("Train", 0.5, 2, 0.5),
    ]


def test_batch_num_of_the_run_takes_precedence(capsys: pytest.CaptureFixture[str]) -> None:
    monitor, clock = TimeMonitor(1000), Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_time_monitor, "perf_counter", clock)
        monitor.on_train_epoch_begin(RunContext({}))
        clock.now += 1.0
        monitor.on_train_epoch_end(RunContext({"batch_num": 4}))
    assert capsys.readouterr().out.strip() == line("Train", 1.0, 4, None)
