"""Lesson 10: early stopping is a stop request to the training loop."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from hypothesis import strategies as st

from minispore import nn
from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, expect_text
from minispore.common import Tensor
from minispore.train import RunContext


@dataclass(frozen=True)
class Case:
    """The monitored values of a run, and the arguments of the callback.

    Attributes:
        values: The metric after each epoch, None for an epoch without an evaluation.
        patience: The argument `patience`.
        min_delta: The argument `min_delta`.
        mode: The argument `mode`.
        baseline: The argument `baseline`.
    """

    values: tuple[float | None, ...]
    patience: int = 0
    min_delta: float = 0.0
    mode: str = "max"
    baseline: float | None = None

    def __str__(self) -> str:
        arguments = f"patience={self.patience}"
        if self.min_delta:
            arguments += f", min_delta={self.min_delta}"
        if self.mode != "max":
            arguments += f", mode={self.mode!r}"
        if self.baseline is not None:
            arguments += f", baseline={self.baseline}"
        values = ["none" if v is None else f"{v:g}" for v in self.values]
        return f"{arguments} and the values {', '.join(values)}"

    def run(self, work: ModuleType, *, restore: bool = False) -> tuple[int, RunContext, nn.Cell]:
        """Simulate the run; return the epoch of the stop (0 for none), context, and network."""
        network = nn.Dense(1, 1)
        run_context = RunContext({"network": network})
        params = run_context.original_args()
        stopping = work.EarlyStopping(
            "value",
            patience=self.patience,
            min_delta=self.min_delta,
            mode=self.mode,
            baseline=self.baseline,
            restore_best_weights=restore,
        )
        stopping.on_train_begin(run_context)
        stopped = 0
        for epoch, value in enumerate(self.values, start=1):
            params.cur_epoch_num = epoch
            for weight in network.get_parameters():
                weight.set_data(Tensor(np.full(weight.shape, epoch, np.float32)))
            for key in ("metrics", "eval_results"):
                params.pop(key, None)
                if value is not None:
                    params[key] = {"value": value}
            stopping.on_train_epoch_end(run_context)
            if run_context.get_stop_requested():
                stopped = epoch
                break
        stopping.on_train_end(run_context)
        return stopped, run_context, network

    def expected(self) -> tuple[int, int]:
        """Return the expected last epoch and the best epoch before it, each 0 if there is none."""
        sign = 1 if self.mode == "max" else -1
        best, best_epoch, wait = -float("inf"), 0, 0
        for epoch, value in enumerate(self.values, start=1):
            if value is None:
                continue
            wait += 1
            if sign * value > best + self.min_delta:
                best, best_epoch = sign * value, epoch
                if self.baseline is None or sign * (value - self.baseline) > self.min_delta:
                    wait = 0
            if wait >= max(1, self.patience):
                return epoch, best_epoch
        return 0, best_epoch


# Multiples of 1/8, whose sums are exact.
_VALUES = st.integers(0, 8).map(lambda n: n / 8)
_PATIENCE = st.integers(0, 3)


def cases(
    *,
    values: st.SearchStrategy[float | None] = _VALUES,
    deltas: bool = False,
    baselines: bool = False,
) -> st.SearchStrategy[Case]:
    """Generate runs of up to seven epochs."""
    return st.builds(
        Case,
        st.lists(values, min_size=1, max_size=7).map(tuple),
        _PATIENCE,
        st.sampled_from([0.0, 0.25]) if deltas else st.just(0.0),
        st.sampled_from(["max", "min"]) if deltas else st.just("max"),
        st.sampled_from([None, 0.25, 0.5]) if baselines else st.none(),
    )


def _stops_at_the_right_epoch(work: ModuleType, case: Case) -> None:
    stopped, expected = case.run(work)[0], case.expected()[0]
    expect_text("your callback requested", _format_stop(stopped), _format_stop(expected))


def _format_stop(epoch: int) -> str:
    return f"a stop after epoch {epoch}" if epoch else "no stop"


def _marks_the_run_as_finished(work: ModuleType, case: Case) -> None:
    stopped, run_context, _ = case.run(work)
    if stopped and run_context.is_interrupted():
        raise WrongResult(
            "your callback requested an interruption, but the run should be marked as finished"
        )


def _restores_best_weights(work: ModuleType, case: Case) -> None:
    network = case.run(work, restore=True)[2]
    weight = next(iter(network.get_parameters())).asnumpy().flat[0]
    best = case.expected()[1] or len(case.values)
    if weight != best:
        raise WrongResult(
            f"the network ends with the weights of epoch {weight:g}, but those of epoch {best} "
            "were expected"
        )


LESSON = Lesson(
    title="Early stopping",
    minutes=30,
    exercise=CodeExercise(
        module="minispore.train.callback._early_stopping",
        tasks={
            "EarlyStopping.on_train_epoch_end": "Get the value from self._monitored, which also "
            "compares two values. Update self.best and self.wait, and request a stop from "
            "run_context when patience is exhausted."
        },
        properties=(
            Property(
                "The run ends after `patience` consecutive epochs without an improvement.",
                cases(), _stops_at_the_right_epoch,
            ),
            Property(
                "`mode` says in which direction values improve, and `min_delta` is the minimum "
                "improvement.",
                cases(deltas=True), _stops_at_the_right_epoch,
            ),
            Property(
                "An epoch without an evaluation does not count.",
                cases(values=st.none() | _VALUES), _stops_at_the_right_epoch,
            ),
            Property(
                "Only a value that is better than the baseline resets `wait`.",
                cases(deltas=True, baselines=True), _stops_at_the_right_epoch,
            ),
            Property(
                "The run is marked as finished: resuming it does no further step.",
                cases(), _marks_the_run_as_finished,
            ),
            Property(
                "With `restore_best_weights` the network ends with the weights of the best epoch.",
                cases(), _restores_best_weights,
            ),
        ),
        bugs=bugs(
            "EarlyStopping.on_train_epoch_end",
            ("an improvement does not reset `wait`", "self.wait = 0", "pass"),
            ("the stop is one epoch late", "self.wait >= max", "self.wait > max"),
            ("a patience of 0 stops at once, whatever the values",
             "max(1, self.patience)", "self.patience"),
            ("an epoch without an evaluation counts",
             "return\n        self.wait += 1", "value = self.best\n        self.wait += 1"),
            ("a larger value always counts as better",
             "self._monitored.is_improvement(value, self.best)", "value > self.best"),
            ("the best value is not stored", "self.best = value", "pass"),
            ("the baseline is ignored",
             "self.baseline is None or self._monitored.is_improvement(value, self.baseline)",
             "True"),
            ("the stop counts as an interruption", "finished=True", "finished=False"),
            ("the best weights are not copied, and change with the network", "p.copy()", "p"),
            ("the best weights are not restored", "self._restore(run_context)", "pass"),
        ),
    ),
    hints="""
        self._monitored.value(run_context) is None in an epoch without an evaluation: return at
        once.

        Each other epoch adds 1 to self.wait. If its value is better than self.best, store it
        there, and reset self.wait to 0.

        Reset self.wait only if there is no baseline or the value is better than the baseline as
        well. Store the best value in either case.

        Compare self.wait with max(1, self.patience), set self.stopped_epoch, and call
        run_context.request_stop(finished=True). self._best_weights is a dictionary of copies,
        {p.name: p.copy() for p in _parameters(run_context)}, and self._restore restores them.
        """,
)  # fmt: skip
