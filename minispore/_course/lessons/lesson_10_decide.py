"""Lesson 10: a callback that decides does so by a request."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from hypothesis import strategies as st

from minispore import nn
from minispore._course.exercise import Build, Lesson, law, paragraphs
from minispore._course.source import Bug
from minispore._course.words import Wrong
from minispore.common import Tensor
from minispore.train import RunContext


@dataclass(frozen=True)
class Case:
    """A run by what it measures, and how to wait for better.

    Attributes:
        values: The accuracy, or error, after each epoch; None where nothing was evaluated.
        patience: The argument of that name, as the next three.
        min_delta: It.
        mode: It.
        baseline: It.
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
        """Play the run: the epoch after which a stop was requested (0 for none), and its end."""
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

    def plan(self) -> tuple[int, int]:
        """The epoch that should be the last, or 0, and the best one up to there, or 0."""
        sign = 1 if self.mode == "max" else -1
        best, best_epoch, waited = -float("inf"), 0, 0
        for epoch, value in enumerate(self.values, start=1):
            if value is None:
                continue
            waited += 1
            if sign * value > best + self.min_delta:
                best, best_epoch = sign * value, epoch
                if self.baseline is None or sign * (value - self.baseline) > self.min_delta:
                    waited = 0
            if waited >= max(1, self.patience):
                return epoch, best_epoch
        return 0, best_epoch


# Eighths and quarters, whose sums are exact.
_VALUES = st.integers(0, 8).map(lambda n: n / 8)
_PATIENCE = st.integers(0, 3)


def cases(
    *,
    values: st.SearchStrategy[float | None] = _VALUES,
    deltas: bool = False,
    baselines: bool = False,
) -> st.SearchStrategy[Case]:
    """Runs of up to seven epochs."""
    return st.builds(
        Case,
        st.lists(values, min_size=1, max_size=7).map(tuple),
        _PATIENCE,
        st.sampled_from([0.0, 0.25]) if deltas else st.just(0.0),
        st.sampled_from(["max", "min"]) if deltas else st.just("max"),
        st.sampled_from([None, 0.25, 0.5]) if baselines else st.none(),
    )


def _stops_in_time(work: ModuleType, case: Case) -> None:
    stopped, (wanted, _) = case.run(work)[0], case.plan()
    if stopped != wanted:
        raise Wrong(
            f"your callback {_when(stopped)}, but it should have {_when(wanted, past=True)}"
        )


def _when(epoch: int, *, past: bool = False) -> str:
    stop, go_on = ("stopped", "gone on") if past else ("stopped", "went on")
    return f"{stop} after epoch {epoch}" if epoch else f"{go_on} to the end"


def _stops_for_good(work: ModuleType, case: Case) -> None:
    stopped, run_context, _ = case.run(work)
    if stopped and run_context.is_interrupted():
        raise Wrong("your callback stopped the run as an interruption, but it should be for good")


def _restores(work: ModuleType, case: Case) -> None:
    network = case.run(work, restore=True)[2]
    weight = next(iter(network.get_parameters())).asnumpy().flat[0]
    best = case.plan()[1] or len(case.values)
    if weight != best:
        raise Wrong(
            f"the network ended with the weights of epoch {weight:g}, but those of epoch {best} "
            "were expected"
        )


LESSON = Lesson(
    title="A callback that decides",
    idea="A callback never ends the loop: it asks for the end, and the loop closes in order.",
    minutes=30,
    explains=(
        "minispore.train.EarlyStopping",
    ),
    exercise=Build(
        module="minispore.train.callback._early_stopping",
        tasks={
            "EarlyStopping.on_train_epoch_end": "Get the value from self._monitored, which also "
            "says which of two is better. Keep self.best and self.wait up to date, and ask the "
            "run_context for the end when patience has ended."
        },
        laws=(
            law(
                "The run ends after `patience` epochs in a row without an improvement.",
                cases(),
                _stops_in_time,
                show=str,
            ),
            law(
                "`mode` says which way is better, and `min_delta` by how much at least.",
                cases(deltas=True),
                _stops_in_time,
                show=str,
            ),
            law(
                "An epoch without an evaluation does not count.",
                cases(values=st.none() | _VALUES),
                _stops_in_time,
                show=str,
            ),
            law(
                "Only what is better than the baseline ends the waiting.",
                cases(deltas=True, baselines=True),
                _stops_in_time,
                show=str,
            ),
            law(
                "This end is one for good: who resumes the training does no further step.",
                cases(),
                _stops_for_good,
                show=str,
            ),
            law(
                "With `restore_best_weights` the network ends with the weights of the best epoch.",
                cases(),
                _restores,
                show=str,
            ),
        ),
        bugs=(
            Bug(
                "an improvement does not end the waiting",
                "EarlyStopping.on_train_epoch_end", "self.wait = 0", "pass",
            ),
            Bug(
                "it stops an epoch late",
                "EarlyStopping.on_train_epoch_end", "self.wait >= max", "self.wait > max",
            ),
            Bug(
                "a patience of 0 stops at once, whatever was measured",
                "EarlyStopping.on_train_epoch_end", "max(1, self.patience)", "self.patience",
            ),
            Bug(
                "an epoch without an evaluation counts",
                "EarlyStopping.on_train_epoch_end",
                "return\n        self.wait += 1", "value = self.best\n        self.wait += 1",
            ),
            Bug(
                "larger always counts as better",
                "EarlyStopping.on_train_epoch_end",
                "self._monitored.better(value, self.best)", "value > self.best",
            ),
            Bug(
                "the best value is not kept",
                "EarlyStopping.on_train_epoch_end", "self.best = value", "pass",
            ),
            Bug(
                "the baseline is ignored",
                "EarlyStopping.on_train_epoch_end",
                "self.baseline is None or self._monitored.better(value, self.baseline)", "True",
            ),
            Bug(
                "the stop looks like an interruption",
                "EarlyStopping.on_train_epoch_end", "for_good=True", "for_good=False",
            ),
            Bug(
                "the best weights are not copied, and so are always the last",
                "EarlyStopping.on_train_epoch_end", "p.copy()", "p",
            ),
            Bug(
                "the best weights are not put back",
                "EarlyStopping.on_train_epoch_end", "self._restore(run_context)", "pass",
            ),
        ),
    ),
    hints=paragraphs(
        """
        self._monitored.value(run_context) is None in an epoch without an evaluation: then
        there is nothing to do.

        Each other epoch is one more that was waited for, unless its value is better than
        self.best: then that is the new best, and the waiting begins at 0.

        The waiting begins anew only if there is no baseline, or the value is better than
        that as well. The best value is kept in any case.

        Compare self.wait with max(1, self.patience), set self.stopped_epoch, and call
        run_context.request_stop(for_good=True). self._best_weights is a dictionary of
        copies, {p.name: p.copy() for p in _parameters(run_context)}, and self._restore puts
        them back.
        """
    ),
)  # fmt: skip
