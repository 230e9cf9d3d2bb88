"""Lesson 18: a capstone, a callback that changes a run and leaves no trace."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from minispore import nn
from minispore._course.exercise import CodeExercise, Lesson, Property, bugs
from minispore._course.feedback import WrongResult, counted, expect, expect_count
from minispore._course.given_run import Act, expect_invariants, through_file
from minispore.common import Parameter, Tensor
from minispore.dataset import NumpySlicesDataset
from minispore.train import Callback, LambdaCallback, Model, RunContext


@dataclass(frozen=True)
class Case:
    """A search, and how its run ends.

    Attributes:
        low: The argument `low`.
        factor: `high` is `low` times this.
        steps: The argument `steps`.
        batches: The number of steps in an epoch.
        error: The exception that ends the run in its second step, or None.
        early: Whether it ends the run before its first event.
    """

    low: float
    factor: float
    steps: int
    batches: int
    error: type[BaseException] | None = None
    early: bool = False

    def __str__(self) -> str:
        when = "before the first event" if self.early else "in step 2"
        end = f", and a {self.error.__name__} {when}" if self.error else ""
        return (
            f"low={self.low:g}, high={self.low * self.factor:g}, steps={self.steps} and "
            f"epochs of {counted(self.batches, 'step')}{end}"
        )

    def model(self) -> Model:
        """Return a network of one weight and its optimizer."""
        network = nn.Dense(1, 1, weight_init="zeros", has_bias=False)
        optimizer = nn.Momentum(network.trainable_params(), 0.5, 0.9)
        return Model(network, _squared_error, optimizer)

    def finder(self, work: ModuleType) -> Any:  # noqa: ANN401 (the learner's class)
        """Return the learner's callback."""
        return work.RateFinder(self.low, self.low * self.factor, self.steps)

    def train(self, model: Model, *callbacks: Callback) -> None:
        """Train up to eight epochs."""
        x = np.ones((self.batches, 1), np.float32)
        data = NumpySlicesDataset({"x": x, "y": 3 * x}, shuffle=False).batch(1)
        model.train(8, data, callbacks=callbacks)

    def run(self, work: ModuleType) -> "Observation":
        """Train with the learner's callback."""
        model, finder = self.model(), self.finder(work)
        rate = _rate(model)
        before = _values(model)
        rates, losses, contexts = list[float](), list[float](), list[RunContext]()

        def observe(run_context: RunContext) -> None:
            rates.append(float(rate.asnumpy()))
            losses.append(float(run_context.original_args().net_outputs))

        def fail(_: RunContext) -> None:
            if self.error is not None:
                raise self.error

        observer = LambdaCallback(on_train_step_end=observe, on_train_begin=contexts.append)
        failing = (
            Act("on_train_begin", 1, fail) if self.early else Act("on_train_step_end", 2, fail)
        )
        callbacks = [failing, finder, observer] if self.early else [finder, observer, failing]
        raised: BaseException | None = None
        try:
            self.train(model, *callbacks)
        except (ValueError, KeyboardInterrupt) as error:
            raised = error
        except Exception as error:
            if not self.early:
                raise
            raised = error
        changed = [name for name, value in _values(model).items() if value != before[name]]
        return Observation(finder, rates, losses, changed, raised, contexts[:1])


def _rate(model: Model) -> Parameter:
    parameters = {param.name: param for param in model.train_network.get_parameters()}
    return parameters["learning_rate"]


def _squared_error(output: Tensor, label: Tensor) -> Tensor:
    return ((output - label) ** 2).mean()


def _values(model: Model) -> dict[str, list[float]]:
    network = model.train_network
    return {param.name: param.asnumpy().reshape(-1).tolist() for param in network.get_parameters()}


@dataclass(frozen=True)
class Observation:
    """What was observed in a run.

    Attributes:
        finder: The learner's callback.
        rates: The learning rate of each step.
        losses: The loss of each step.
        changed: The names of the parameters that the run has changed.
        raised: What ended the run.
        contexts: The context of the run, if it has begun.
    """

    finder: object
    rates: list[float]
    losses: list[float]
    changed: list[str]
    raised: BaseException | None
    contexts: list[RunContext]


def _rates_are_geometric(work: ModuleType, case: Case) -> None:
    actual = case.run(work).rates
    exponents = [i / (case.steps - 1) for i in range(min(len(actual), case.steps))]
    expected = [case.low * case.factor**exponent for exponent in exponents]
    subject = "the learning rates of the steps"
    expect(subject, np.array(actual[: case.steps]), np.array(expected), tolerance=1e-4)


def _stops(work: ModuleType, case: Case) -> None:
    expect_count("the run", len(case.run(work).rates), min(case.steps, 8 * case.batches), "step")


def _finishes(work: ModuleType, case: Case) -> None:
    if case.run(work).contexts[0].is_interrupted():
        raise WrongResult("the run counts as interrupted, but it should be marked as finished")


def _records(work: ModuleType, case: Case) -> None:
    observation = case.run(work)
    for name, expected in (("rates", observation.rates), ("losses", observation.losses)):
        actual = getattr(observation.finder, name)
        count = min(len(actual), len(expected))
        expect(f"the length of `{name}`", len(actual), len(expected))
        subject = f"your `{name}`"
        expect(subject, np.array(actual[:count]), np.array(expected[:count]), tolerance=1e-4)


def _leaves_no_trace(work: ModuleType, case: Case) -> None:
    observation = case.run(work)
    if observation.changed:
        raise WrongResult(f"the run has changed {', '.join(observation.changed)}")


def _does_not_hide_errors(work: ModuleType, case: Case) -> None:
    if type(case.run(work).raised) is not (case.error or type(None)):
        raise WrongResult("the exception did not reach the caller")


class _KillError(BaseException):
    """Ends a run as a kill does."""


def _resumes(work: ModuleType, case: Case) -> None:
    model, first, second = case.model(), case.finder(work), case.finder(work)
    before = _values(model)
    killed = dict[str, Tensor]()
    states = list[Mapping[str, object]]()
    texts = list[str]()

    def kill(_: RunContext) -> None:
        killed.update({p.name: p.copy() for p in model.train_network.get_parameters()})
        states.append(through_file(first))
        raise _KillError

    def save(_: RunContext) -> None:
        states.append(first.state_dict())
        texts.append(repr(states[0]))

    with suppress(_KillError):
        case.train(
            model, first, Act("on_train_step_end", 1, save), Act("on_train_step_end", 2, kill)
        )
    expect("a state saved after step 1, read after step 2,", repr(states[0]), texts[0])
    for param in model.train_network.get_parameters():
        param.set_data(killed[param.name])

    def load(run_context: RunContext) -> None:
        second.load_state_dict(states[1])
        run_context.original_args().cur_step_num = 2

    case.train(model, second, Act("on_train_begin", 1, load))
    expect_count("the resumed search", len(second.rates), case.steps, "rate")
    rates = case.low * case.factor ** (np.arange(case.steps) / (case.steps - 1))
    expect("after it `rates`", np.array(second.rates), rates, tolerance=1e-4)
    changed = [name for name, value in _values(model).items() if value != before[name]]
    if changed:
        raise WrongResult(
            f"after the resumed search, {', '.join(changed)} is not what it was before "
            "the first run; the copies of the parameters belong to the state"
        )


def _suggests(work: ModuleType, losses: tuple[float, ...]) -> None:
    finder = work.RateFinder(1.0, 2.0, len(losses) + 2)
    finder.losses, finder.rates = list(losses), [float(i + 1) for i in range(len(losses))]
    falls = [a - b if np.isfinite(a - b) else 0.0 for a, b in pairwise(losses)]
    best = max(falls, default=0.0)
    expect("your suggestion()", finder.suggestion(), falls.index(best) + 1.0 if best > 0 else None)


def _satisfies_invariants(work: ModuleType, _: None) -> None:
    expect_invariants(
        lambda: work.RateFinder(0.01, 0.1, 3), "exceptions", modes=["train"], may_change=["run"]
    )


_LOW = st.sampled_from([0.001, 0.01])
_FACTOR = st.sampled_from([2.0, 10.0])
_CASES = st.builds(Case, _LOW, _FACTOR, st.integers(2, 6), st.integers(1, 3))
_ERRORS = st.sampled_from([ValueError, KeyboardInterrupt])
_ENDED = st.builds(Case, _LOW, _FACTOR, st.integers(3, 6), st.integers(1, 3), st.none() | _ERRORS)
_ENDED_EARLY = st.builds(
    Case, st.just(0.001), st.just(2.0), st.just(3), st.just(1), _ERRORS, st.just(True)
)
_KILLED = st.builds(Case, _LOW, _FACTOR, st.integers(3, 6), st.integers(1, 3))

LESSON = Lesson(
    title="Capstone: a learning-rate finder",
    exercise=CodeExercise(
        module="minispore._course.solutions.rate_finder",
        from_empty=True,
        tasks={
            "RateFinder": "A subclass of Callback: RateFinder(low, high, steps). It sets the "
            "learning rate of each step, a geometric sequence from `low` in the first step to "
            "`high` in step number `steps`, and then stops the run, which is finished. "
            "`rates` and `losses` are lists of the learning rate and the loss of each step. When "
            "the run has ended, in whatever way, all parameters of params.train_network are those "
            "before it; those of the optimizer, with its learning rate, are among them. "
            "suggestion() returns the rate of the step after which the loss fell most in the "
            "next step, or None if it never fell; differences that are not finite do not count. A "
            "resumed run continues like the uninterrupted one (state_dict, load_state_dict); "
            "later steps do not change a saved state."
        },
        properties=(
            Property(
                "The learning rates are a geometric sequence from `low` to `high`.",
                _CASES, _rates_are_geometric, examples=40,
            ),
            Property(
                "The run is stopped after `steps` steps.", _CASES, _stops, examples=40,
            ),
            Property(
                "It is marked as finished.", _CASES, _finishes, examples=10,
            ),
            Property(
                "`rates` and `losses` have an entry for each step.", _CASES, _records, examples=40,
            ),
            Property(
                "After the run, also after an exception or interrupt, all parameters are those "
                "before it.",
                _ENDED, _leaves_no_trace, examples=40,
            ),
            Property(
                "An exception reaches the caller.", _ENDED | _ENDED_EARLY, _does_not_hide_errors,
                examples=20,
            ),
            Property(
                "If a run is killed and resumed with the saved state, the search continues, and "
                "ends with the parameters from before the first run.",
                _KILLED, _resumes, examples=12,
                show=lambda case: f"{case}, a kill after step 2 and a resumed run",
            ),
            Property(
                "`suggestion` returns the rate at which the loss fell most.",
                st.lists(
                    st.integers(0, 8).map(lambda n: n / 4) | st.sampled_from([np.inf, np.nan]),
                    max_size=5,
                ).map(tuple),
                _suggests, examples=100, show=lambda losses: f"losses = {list(losses)}",
            ),
            Property(
                "check_callback finds no violated invariant; in the run parameters may change.",
                st.none(), _satisfies_invariants, examples=1,
                show=lambda _: "RateFinder(0.01, 0.1, 3) and the runs of check_callback",
            ),
        ),
        bugs=(
            *bugs(
                "RateFinder.on_train_step_begin",
                ("the rates are those of a sequence that is one step longer",
                 "(self.steps - 1)", "self.steps"),
            ),
            *bugs(
                "RateFinder.on_train_step_end",
                ("the stop is one step late",
                 "len(self.losses) >= self.steps", "len(self.losses) > self.steps"),
                ("the run counts as interrupted", "finished=True", "finished=False"),
                ("the losses are rounded",
                 "float(run_context.original_args().net_outputs)",
                 "round(float(run_context.original_args().net_outputs), 1)"),
            ),
            *bugs(
                "RateFinder.__exit__",
                ("the parameters are restored only after success",
                 "if self._network else ()", "if self._network and exc_type is None else ()"),
                ("exceptions are suppressed",
                 "        self._network = None", "        self._network = None; return True"),
            ),
            *bugs(
                "RateFinder.suggestion",
                ("the rate of the next step is returned",
                 "self.rates[falls.index(best)]", "self.rates[falls.index(best) + 1]"),
                ("differences that are not finite count",
                 "math.isfinite(fall)", "True"),
            ),
            *bugs(
                "RateFinder.on_train_begin",
                ("the number of epochs is changed in the run",
                 "self.rates, self.losses = [], []",
                 "self.rates, self.losses = [], []; run_context.original_args().epoch_num = 0"),
            ),
            *bugs(
                "RateFinder.state_dict",
                ("the state contains the list itself", "list(self.rates)", "self.rates"),
            ),
            *bugs(
                "RateFinder.load_state_dict",
                ("a resumed run begins again with the lowest rate",
                 "self.rates, self.losses = rates, losses", "pass"),
                ("the parameters of the resumed run are restored, not those of the first",
                 'self._before = read_dict_field(state, "before", Tensor, "RateFinder")', "pass"),
            ),
        ),
    ),
    hints="""
        Set the rate in on_train_step_begin: params.optimizer.learning_rate is a Parameter, and
        set_data changes it. The rate of step i, counted from 0, is low * (high / low) ** (i /
        (steps - 1)).

        In on_train_begin, copy all parameters: {p.name: p.copy() for p in
        params.train_network.get_parameters()}. Restore them where code runs however the run ends.

        That is __exit__, and not on_train_end. It has no run context, so keep params.train_network
        in an attribute, and remove it there. Return None.

        The copies belong to the state: a resumed run begins in a new process, with other
        parameters. The rates and losses do too, as lists. Read them with
        read_list_field and read_dict_field.
        """,
)  # fmt: skip
