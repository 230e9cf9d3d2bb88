"""TimeMonitor: the lines that MindSpore 2.10 prints, with a simulated clock."""

from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from minispore.train import RunContext, TimeMonitor
from minispore.train.callback import _time_monitor


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
    # The number of steps of the run takes precedence.
    monitor = TimeMonitor(size if by_argument else None if data_time else 1000, data_time)
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
