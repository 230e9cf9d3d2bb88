"""Lesson 17: several processes train one network, each with a part of every batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import cast

import numpy as np
from hypothesis import strategies as st

from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, counted, expect, expect_text, format_value
from minispore._course.processes import DeadlockError, Numbers, Process, run_processes

_RATE = 0.5


@dataclass(frozen=True)
class Case:
    """A data-parallel training.

    Attributes:
        size: The number of processes.
        batches: The rows of each batch.
        starts: The initial weight in each process, if they differ.
        stop: The process, the step and the callback that requests a stop.
    """

    size: int
    batches: tuple[tuple[float, ...], ...]
    starts: tuple[float, ...] = ()
    stop: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        text = f"{counted(self.size, 'process')} and the batches {[*map(list, self.batches)]}"
        if self.starts:
            text += f", with the initial weights {', '.join(map(str, self.starts))}"
        if self.stop is not None:
            rank, step, index = self.stop
            kind = "chief-only callback" if index == 0 else "callback of all processes"
            text += f", where the {kind} requests a stop after step {step} in process {rank}"
        return text

    def stop_after(self, rank: int, index: int) -> int | None:
        """Return the step after which a callback of a process requests a stop."""
        return self.stop[1] if self.stop is not None and self.stop[::2] == (rank, index) else None

    def expected(self) -> list[float]:
        """Return the weights after each step of a single process with complete batches."""
        w, weights = (self.starts or (0.0,))[0], list[float]()
        for batch in self.batches:
            w -= _RATE * (w - sum(batch) / len(batch))
            weights.append(w)
        return weights


class _Recorder:
    """A callback that records its calls."""

    def __init__(self, stop_after: int | None, *, chief_only: bool) -> None:
        self.chief_only = chief_only
        self.calls = list[tuple[object, Numbers]]()
        self._stop_after = stop_after

    def on_step_end(self, step: object, w: Numbers) -> bool:
        self.calls.append((step, np.array(w)))
        return len(self.calls) == self._stop_after

    def steps(self) -> list[object]:
        """Return the numbers of the steps."""
        return [step for step, _ in self.calls]


@dataclass
class _Run:
    """What the processes of a run have done.

    Attributes:
        weights: The result of each process.
        rows: The rows that each process has used, by step.
        callbacks: The chief-only and the other callback of each process.
    """

    weights: list[Numbers]
    rows: list[list[float]]
    callbacks: list[tuple[_Recorder, _Recorder]]


def _run(work: ModuleType, case: Case) -> _Run:
    """Train in the processes of the learner.

    Raises:
        WrongResult: There are no processes, or they wait for one another forever.
    """
    rows: list[list[float]] = [[] for _ in range(case.size)]
    callbacks: list[tuple[_Recorder, _Recorder]] = []
    processes: list[Process[Numbers]] = []
    for rank in range(case.size):
        pair = (
            _Recorder(case.stop_after(rank, 0), chief_only=True),
            _Recorder(case.stop_after(rank, 1), chief_only=False),
        )
        callbacks.append(pair)
        used = rows[rank]

        def gradient(w: Numbers, batch: Numbers, used: list[float] = used) -> Numbers:
            used.extend(batch.tolist())
            return w - (batch.mean() if len(batch) else np.nan)

        start = (case.starts or (0.0,) * case.size)[rank]
        batches = [np.array(batch) for batch in case.batches]
        w = np.array([start, start])
        process: object = work.train(rank, case.size, batches, w, _RATE, gradient, pair)
        if not hasattr(process, "send"):
            raise WrongResult(
                f"your train returned {format_value(process)}, but a generator was expected: a "
                "function with `yield`"
            )
        processes.append(cast("Process[Numbers]", process))
    try:
        return _Run(run_processes(processes), rows, callbacks)
    except DeadlockError as error:
        raise WrongResult(str(error)) from None


def _weights_are_those_of_one_process(work: ModuleType, case: Case) -> None:
    expected = np.full(2, case.expected()[-1])
    for rank, w in enumerate(_run(work, case).weights):
        expect(f"your train in process {rank}", w, expected, tolerance=1e-9)


def _uses_each_row_once(work: ModuleType, case: Case) -> None:
    parts = _run(work, case).rows
    used = sorted(row for rows in parts for row in rows)
    expected = sorted(row for batch in case.batches for row in batch)
    expect_text("all processes together have used the rows", str(used), str(expected))
    for rank, rows in enumerate(parts):
        if len(rows) == len(expected):
            raise WrongResult(f"process {rank} has used all rows, but each must use only a part")


def _calls_callbacks(work: ModuleType, case: Case) -> None:
    run = _run(work, case)
    _expect_steps(run, list(range(1, len(case.batches) + 1)))
    for rank, callbacks in enumerate(run.callbacks):
        for step, w in callbacks[1].calls:
            expected = np.full(2, case.expected()[cast("int", step) - 1])
            subject = f"after step {step}, the weights that process {rank} passed to a callback"
            expect(subject, w, expected, tolerance=1e-9)


def _expect_steps(run: _Run, expected: Sequence[object]) -> None:
    for rank, callbacks in enumerate(run.callbacks):
        for callback in callbacks:
            kind = "chief-only callback" if callback.chief_only else "callback of all processes"
            steps = list(expected) if rank == 0 or not callback.chief_only else []
            subject = f"process {rank} called the {kind} after"
            expect_text(subject, _listed(callback.steps()), _listed(steps))


def _listed(steps: list[object]) -> str:
    return f"the steps {steps}" if steps else "no step"


def _stops_all(work: ModuleType, case: Case) -> None:
    assert case.stop is not None
    _expect_steps(_run(work, case), list(range(1, case.stop[1] + 1)))


@st.composite
def cases(
    draw: st.DrawFn,
    *,
    few: bool = False,
    even: bool = False,
    starts: bool = False,
    stop: bool = False,
) -> Case:
    """Generate trainings of up to three steps.

    Args:
        draw: Hypothesis' function.
        few: Whether there are fewer rows than processes.
        even: Whether each process has as many rows.
        starts: Whether the initial weights differ.
        stop: Whether a callback requests a stop.
    """
    size = draw(st.integers(2, 4))
    lengths = st.integers(1, size - 1) if few else st.integers(size, 2 * size + 1)
    if even:
        lengths = st.sampled_from([size, 2 * size])
    batches = list[tuple[float, ...]]()
    for length in draw(st.lists(lengths, min_size=1, max_size=3)):
        row = st.integers(0, 9).map(float)
        batches.append(tuple(draw(st.lists(row, min_size=length, max_size=length))))
    initial = draw(st.permutations(range(size))) if starts else ()
    index = draw(st.integers(0, 1))
    rank = 0 if index == 0 else draw(st.integers(0, size - 1))
    request = (rank, draw(st.integers(1, len(batches))), index) if stop else None
    return Case(size, tuple(batches), tuple(map(float, initial)), request)


LESSON = Lesson(
    title="Several processes",
    exercise=CodeExercise(
        module="minispore._course.solutions.replica",
        from_empty=True,
        tasks={
            "train": "train(rank, size, batches, w, rate, gradient, callbacks=()) is a generator, "
            "process `rank` of `size` processes that train the same weights. `total = yield "
            "values` is an all-reduce: it contributes an array of floats, and receives the sum "
            "over all processes. All processes must do equally many, with arrays of the same "
            "shape. The training begins with the weights `w` of process 0. For each array of rows "
            "in `batches` it makes one step, w − rate · g, with the gradient g of the complete "
            "batch. `gradient(w, rows)` returns the mean gradient of some rows, in the shape of w; "
            "without rows it is NaN. Each process must use only a part of the rows, and there may "
            "be fewer rows than processes. After each step, all processes call "
            "callback.on_step_end(step, w) for each callback, with step = 1, 2, …; if "
            "callback.chief_only is True, process 0 alone does. If it returns True in any process, "
            "the training ends in all of them after this step. The generator returns the weights."
        },
        properties=(
            Property(
                "The weights are those of one process with complete batches, whether or not the "
                "rows can be divided evenly.",
                cases(), _weights_are_those_of_one_process, examples=40,
            ),
            Property(
                "A process without rows takes part in the step.",
                cases(few=True), _weights_are_those_of_one_process, examples=40,
            ),
            Property("Each row is used by one process.", cases(), _uses_each_row_once, examples=40),
            Property(
                "All processes begin with the weights of process 0.",
                cases(even=True, starts=True), _weights_are_those_of_one_process, examples=40,
            ),
            Property(
                "After each step, the callbacks are called; those that are chief-only, in process "
                "0 only.",
                cases(even=True), _calls_callbacks, examples=40,
            ),
            Property(
                "If a callback requests a stop in one process, all processes end after this step, "
                "which all callbacks handle.",
                cases(even=True, stop=True), _stops_all, examples=60,
            ),
        ),
        bugs=bugs(
            "train",
            ("the means of the processes with rows are averaged",
             ("gradient(w, rows) * len(rows) if len(rows) else np.zeros_like(w)\n"
             "        *sums, count = yield np.array([*total, len(rows)])"),
             ("gradient(w, rows) if len(rows) else np.zeros_like(w)\n"
             "        *sums, count = yield np.array([*total, float(len(rows) > 0)])")),
            ("a process without rows contributes NaN",
             " if len(rows) else np.zeros_like(w)", ""),
            ("a process without rows leaves out the step",
             "in enumerate(batches, 1):",
             "in [(i, b) for i, b in enumerate(batches, 1) if len(b) > rank]:"),
            ("each process uses all rows", "batch[rank::size]", "batch"),
            ("each process begins with its own weights",
             "w = yield w if rank == 0 else np.zeros_like(w)", ""),
            ("the initial weights are added up",
             "yield w if rank == 0 else np.zeros_like(w)", "yield w"),
            ("chief-only callbacks are called in each process",
             "rank == 0 or not callback.chief_only", "True"),
            ("only process 0 calls callbacks", "rank == 0 or not callback.chief_only", "rank == 0"),
            ("callbacks receive the weights before the step",
             "callback.on_step_end(step, w)",
             "callback.on_step_end(step, w + rate * np.array(sums) / count)"),
            ("a process stops without asking the others", "if requests[0]:", "if stop:"),
            ("all processes must request the stop",
             "if requests[0]:", "if requests[0] == size:"),
            ("the callbacks after a request are not called",
             "stop = callback.on_step_end(step, w) or stop",
             "stop = stop or callback.on_step_end(step, w)"),
        ),
    ),
    hints="""
        Write it for one process first: a loop over the batches, w = w − rate · gradient(w, batch),
        and the callbacks. rows = batch[rank::size] are the rows of process `rank`: every row
        belongs to one process.

        The gradient of the complete batch is the sum over all rows, divided by their number. So
        contribute gradient(w, rows) · len(rows), and the number of rows in the same array:
        np.array([*g, n]). If there are no rows, contribute zeros; do not leave the all-reduce out.

        A broadcast is an all-reduce in which all processes except 0 contribute zeros:
        w = yield (w if rank == 0 else np.zeros_like(w)), before the first step.

        Do not leave the loop when a callback returns True: call the remaining callbacks, and
        contribute 1.0 to a second all-reduce of the step, and 0.0 otherwise. If the sum is not 0,
        all processes leave the loop.
        """,
)  # fmt: skip
