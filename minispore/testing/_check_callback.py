"""`check_callback`: runs a callback in all kinds of runs and checks its invariants."""

import gc
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

from minispore.testing._invariants import (
    INVARIANTS,
    CallbackError,
    Violation,
    check_invariants,
    describe_error,
)
from minispore.testing._observed_run import SPANS, CallbackObserver
from minispore.testing._runs import Factory, RunResult, Sandbox, differences
from minispore.testing._sampling import sample_scenarios
from minispore.testing._scenario import Fault, Kind, Scenario
from minispore.train.protocol import EVENTS, Callback, RunContext, SaveReason, SupportsState
from minispore.train.resume import TrainingState
from minispore.train.serialization import save_checkpoint
from minispore.utils.checks import check_int, check_one_of

_KINDS: tuple[Kind, ...] = ("train", "fit", "eval")
_MISSING = "missing"
_UNUSUAL_FITS = (
    Scenario("fit", valid_batches=None),
    Scenario("fit", valid_frequency=()),
    Scenario("fit", valid_batches=0),
)
_IGNORABLE = tuple(name for name in INVARIANTS if name != "parameters")
# After the last step of an evaluation nothing is left to do with other weights.
_MAY_CHANGE = (*(event for event in EVENTS if event.startswith("on_train_")), *SPANS)


def check_callback(
    factory: Factory,
    *,
    modes: Collection[Kind] = _KINDS,
    ignore: Collection[str] = (),
    may_change: Collection[str] = (),
    keeps: Collection[str] = (),
    samples: int = 60,
    seed: int = 0,
) -> tuple[Scenario, ...]:
    """Check that a callback satisfies the invariants of callbacks in all kinds of runs.

    The callback is created for each run, in an empty folder that is the current one, and runs with
    a small network: a complete run; one with a single batch; runs without validation data, without
    due validation, and with an empty validation set; a stop, an exception and an interrupt at each
    event; two runs with the same object, also after an exception; in training, runs resumed after
    each step and epoch; and random scenarios with all numbers of epochs and steps up to 3. These
    are fewer than two hundred runs of some milliseconds each.

    Args:
        factory: A function that returns the callback, with equal settings at each call. Files
            must be written to the current folder: ``lambda: ModelCheckpoint("net")``.
        modes: The kinds of runs that the callback supports: "train", "fit", "eval". In these it may
            reject, before the first step, only a run without validation.
        ignore: The names of invariants, as in `INVARIANTS`, that it violates on purpose; not
            "parameters", for which there is `may_change`.
        may_change: Where it changes the weights or the optimizer's state on purpose: the names of
            hooks of a training, whose changes last, such as "on_train_end"; "eval" if the weights
            are others during an evaluation, and "run" during the run. At the end of these two,
            also after an exception, they must be those of the begin.
        keeps: The attributes and entries of its state that a second run with the same object
            continues on purpose, such as "history".
        samples: The number of random scenarios; a few of them may be equal.
        seed: The seed of the random scenarios.

    Returns:
        The scenarios that were tried, in their order.

    Raises:
        CallbackError: It violates an invariant; the message shows which, in which run, and how.
        TypeError: `factory` does not return a `Callback`, or `samples` or `seed` is no int.
        ValueError: `modes`, `ignore` or `may_change` contains an unknown name, `modes` is empty, or
            `samples` is negative.

    Examples:
        >>> from minispore.train import Callback, LossMonitor
        >>> tried = check_callback(LossMonitor, modes=["train"])
        >>> print(tried[0])
        train with 2 epochs of 2 steps
        >>> class Counts(Callback):
        ...     steps = 0
        ...
        ...     def on_train_step_end(self, run_context):
        ...         self.steps += 1
        >>> check_callback(Counts, modes=["train"])
        Traceback (most recent call last):
        minispore.testing._invariants.CallbackError: The callback Counts violates 2 of 10 inv...
        ...
        resume: A run that is resumed after any step continues like the uninterrupted run.
          In train with 5 epochs of 2 steps, resumed after on_train_step_end in epoch 1, ...:
            At the end its attribute 'steps' was 9; in the uninterrupted run it is ...
    """
    kinds: list[Kind] = [kind for kind in _KINDS if kind in modes]
    for mode in modes:
        check_one_of(mode, _KINDS, "modes")
    for invariant in ignore:
        if invariant == "parameters":
            raise ValueError(
                "For 'check_callback', the argument 'ignore' must not contain 'parameters': name "
                "in 'may_change' the hooks or spans in which the callback changes them."
            )
        check_one_of(invariant, _IGNORABLE, "ignore")
    for where in may_change:
        check_one_of(where, _MAY_CHANGE, "may_change")
    if not kinds:
        raise ValueError("For 'check_callback', the argument 'modes' must name at least one.")
    sampled = sample_scenarios(
        kinds,
        check_int(samples, "samples", low=0),
        check_int(seed, "seed"),
    )
    gc.collect()  # so that the output of other objects' finalizers is not part of a run
    with TemporaryDirectory() as folder:
        invariants = INVARIANTS.keys() - {*ignore}
        checker = _CallbackChecker(factory, folder, invariants, {*may_change}, {*keeps})
        found = checker.violations(kinds, sampled)
        violations = [violation for violation in found if violation.invariant in checker.invariants]
    tried = tuple(checker.tried)
    if violations:
        raise CallbackError(checker.name, violations, tried)
    return tried


@dataclass(frozen=True)
class _ResumePoint:
    """A step boundary at which the training state was saved, or at which a run was resumed.

    Attributes:
        where: The position in the run, for messages.
        file: The checkpoint.
        content: A copy of the current folder.
        events: The number of events before it.
        calls: The number of calls of the callback before it.
        rates: The number of steps before it.
        results: The number of evaluations before it.
    """

    where: str
    file: str
    content: str
    events: int
    calls: int
    rates: int
    results: int


class _StateRecorder(Callback):
    """Save the training state at each step boundary.

    Args:
        folder: The folder for the files; None to record only where a run is resumed.
        observer: The observer of the run.
    """

    def __init__(self, folder: str | None, observer: CallbackObserver) -> None:
        self.points: list[_ResumePoint] = []
        self._folder = folder
        self._observer = observer

    def on_train_step_end(self, run_context: RunContext) -> None:
        if self._folder is not None and not run_context.get_stop_requested():
            run_context.request_save(self)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.on_train_step_end(run_context)

    def save_training_state(
        self, run_context: RunContext, state: TrainingState, reason: SaveReason
    ) -> None:
        observer, params = self._observer, run_context.original_args()
        content = file = ""
        if self._folder is not None:
            content = os.path.join(self._folder, str(len(self.points)))
            file = f"{content}.ckpt"
            save_checkpoint(params.train_network, file, append_dict=state.entries())
            shutil.copytree(os.curdir, content)
        where = f"resumed after {observer.events[-1]}"
        counts = (len(observer.events), len(observer.calls), len(observer.rates))
        results = len(observer.results)
        self.points.append(_ResumePoint(where, file, content, *counts, results))


class _CallbackChecker:
    """All runs of one callback.

    Args:
        factory: A function that returns the callback.
        folder: A folder for its files.
        invariants: The names of the invariants to check.
        may_change: The argument of `check_callback`.
        keeps: The argument of `check_callback`.

    Attributes:
        name: The name of the callback's class.
        invariants: The argument.
        tried: The scenarios of the runs, in their order, as keys.
    """

    def __init__(
        self,
        factory: Factory,
        folder: str,
        invariants: AbstractSet[str],
        may_change: AbstractSet[str],
        keeps: AbstractSet[str],
    ) -> None:
        self.invariants = invariants
        self._may_change, self._keeps = may_change, keeps
        self.tried: dict[Scenario, None] = {}
        self._factory = factory
        self._folder = os.path.realpath(folder)
        subject: object = self._sandbox().make(factory)
        if not isinstance(subject, Callback):
            raise TypeError(
                "For 'check_callback', the argument 'factory' must return a Callback, but it "
                f"returned {subject!r}."
            )
        self.name = type(subject).__name__

    def violations(self, kinds: Sequence[Kind], sampled: Sequence[Scenario]) -> Iterator[Violation]:
        """Yield the violations in all runs."""
        usable: list[Kind] = []
        for kind in kinds:
            complete = Scenario(kind)
            basic = list(check_invariants(self._run(complete, thorough=True)))
            yield from basic
            if any(case.invariant in {"errors"} | {"leaks"} & self.invariants for case in basic):
                continue  # all other runs would have the same violations
            usable.append(kind)
            single_step = Scenario(kind, epochs=1, batches=1, valid_batches=1)
            yield from check_invariants(self._run(single_step))
            if "reuse" in self.invariants:
                yield from self._reuse_violations(complete)
            if kind == "train" and "fit" in kinds:
                continue  # the loop of `fit` includes that of `train`
            for fault in _fault_scenarios(kind):
                yield from check_invariants(self._run(replace(complete, fault=fault)))
            if "resume" in self.invariants and kind != "eval":
                yield from self._resume_violations(Scenario(kind, epochs=5))
        unusual = _UNUSUAL_FITS if "fit" in kinds else ()
        for scenario in (*unusual, *(sample for sample in sampled if sample.kind in usable)):
            yield from self._check_scenario(scenario)

    def _check_scenario(self, scenario: Scenario) -> Iterator[Violation]:
        """Yield the violations in a run, which the callback may reject if it has no validation."""
        may_reject = scenario.kind == "fit" and not scenario.validated_epochs
        return check_invariants(self._run(scenario), may_reject=may_reject)

    def _sandbox(self, content: str | None = None) -> Sandbox:
        return Sandbox(os.path.join(self._folder, "run"), content)

    def _run(self, scenario: Scenario, *, thorough: bool = False) -> RunResult:
        self.tried[scenario] = None
        sandbox = self._sandbox()
        observer = CallbackObserver(
            sandbox.make(self._factory), thorough=thorough, may_change=self._may_change
        )
        return sandbox.run(scenario, observer)

    def _reuse_violations(self, scenario: Scenario) -> Iterator[Violation]:
        """Yield the differences of a second run with the same object."""
        first, repeated = self._run(scenario), self._run(scenario)
        # The fault occurs in the second epoch of a training, when files of the first may exist. A
        # run that continues from these needs the same callbacks, so the second run has the fault's
        # callback as well, but the fault never occurs.
        when = ("on_eval_step_end", 2) if scenario.kind == "eval" else ("on_train_step_end", 3)
        fault = Fault(*when, "exception")
        failing = replace(scenario, fault=fault)
        undisturbed = replace(scenario, fault=replace(fault, times=1000))
        for before, after in ((scenario, scenario), (failing, undisturbed)):
            self.tried |= {before: None, after: None}
            sandbox = self._sandbox()
            subject = sandbox.make(self._factory)
            sandbox.run(before, CallbackObserver(subject))
            second = sandbox.run(after, CallbackObserver(subject))
            message = next(_reuse_differences(first, second, repeated, self._keeps), None)
            if message:
                yield Violation("reuse", f"{scenario}, run after {before}", message)

    def _resume_violations(self, scenario: Scenario) -> Iterator[Violation]:
        """Yield the differences between resumed runs and the uninterrupted run."""
        repeated = self._run(scenario)
        saved = os.path.join(self._folder, "saved")
        os.makedirs(saved)
        uninterrupted, points = self._run_and_record(scenario, saved, None)
        subject = uninterrupted.observer.subject
        for one, other in (("state_dict", "load_state_dict"), ("load_state_dict", "state_dict")):
            if hasattr(subject, one) and not hasattr(subject, other):
                yield Violation("resume", str(scenario), f"It has {one} without {other}.")
        if uninterrupted.error is not None:
            error = describe_error(uninterrupted.error)
            yield Violation("resume", str(scenario), f"Saving the training state raised {error}")
            return
        for point in points:
            resumed, entries = self._run_and_record(scenario, None, point)
            changes = _resume_differences(uninterrupted, point, resumed, entries, repeated)
            message = next(changes, None)
            if message:
                if not isinstance(subject, SupportsState):
                    message += (
                        " It has no state_dict and load_state_dict, so its attributes are lost."
                    )
                yield Violation("resume", f"{scenario}, {point.where}", message)
        shutil.rmtree(saved)

    def _run_and_record(
        self, scenario: Scenario, saved: str | None, start: _ResumePoint | None
    ) -> tuple[RunResult, list[_ResumePoint]]:
        """Run from the beginning or a resume point, and record the resume points."""
        sandbox = self._sandbox(start.content if start else None)
        observer = CallbackObserver(sandbox.make(self._factory))
        recorder = _StateRecorder(saved, observer)
        result = sandbox.run(scenario, observer, [recorder], start.file if start else None)
        return result, recorder.points


def _fault_scenarios(kind: Kind) -> Iterator[Fault]:
    for event in EVENTS:
        if kind == "fit" or event.startswith(f"on_{kind}_"):
            yield Fault(event, kind="stop")
            yield Fault(event, kind="exception")
            yield Fault(event, kind="exception", first=True)
            yield Fault(event, kind="interrupt")


def _reuse_differences(
    first: RunResult, second: RunResult, repeated: RunResult, keeps: AbstractSet[str]
) -> Iterator[str]:
    """Yield the differences between the second run with an object and that with a new one."""
    if second.error is not None:
        yield f"It raised {describe_error(second.error)}"
    old, new = first.observer, second.observer
    if not new.resumes:
        if new.events != old.events:
            yield f"There were {len(new.events)} events, in the first run {len(old.events)}."
        if new.rates != old.rates:
            yield "The learning rates were different."
        exact = first.describe_calls(exact=True) == repeated.describe_calls(exact=True)
        calls = (run.describe_calls(exact=exact) for run in (first, second))
        for then, now in differences(*calls):
            yield f"It {now}; in the first run it {then}."
        for then, now in differences(old.results, new.results):
            yield f"{now}; in the first run: {then}."
    for name, content in first.parameters.items():
        if second.parameters[name] != content:
            yield f"At the end the parameter '{name}' was different."
    if not new.resumes:
        for name, value, new_value in _attribute_differences(first, second, repeated):
            if name.split("'")[1] not in keeps:
                yield f"At the end {name} was {new_value}; in the first run it is {value}."


def _attribute_differences(
    old: RunResult, new: RunResult, repeated: RunResult
) -> Iterator[tuple[str, object, object]]:
    """Yield the attributes, with both values, that differ but are equal in repeated runs."""
    for name, value in old.attributes.items():
        new_value = new.attributes.get(name, _MISSING)
        lazy = new_value == _MISSING and name.startswith("its attribute '_")  # set at first use
        if new_value != value and not lazy and repeated.attributes.get(name) == value:
            yield name, value, new_value


def _resume_differences(
    uninterrupted: RunResult,
    point: _ResumePoint,
    resumed: RunResult,
    entries: list[_ResumePoint],
    repeated: RunResult,
) -> Iterator[str]:
    """Yield the differences between the rest of the uninterrupted run and the resumed run."""
    if resumed.error is not None or not entries:
        error = resumed.error
        yield f"It raised {describe_error(error)}" if error else "The run did not continue."
        return  # pragma: no cover (only the first difference is used)
    start, old, new = entries[0], uninterrupted.observer, resumed.observer
    for then, now in differences(old.events[point.events :], new.events[start.events :]):
        yield f"The next event was {now}; in the uninterrupted run it is {then}."
    exact = uninterrupted.describe_calls(exact=True) == repeated.describe_calls(exact=True)
    calls, new_calls = (run.describe_calls(exact=exact) for run in (uninterrupted, resumed))
    for then, now in differences(calls[point.calls :], new_calls[start.calls :]):
        yield f"It {now}; in the uninterrupted run it {then}."
    for rate, new_rate in zip(old.rates[point.rates :], new.rates[start.rates :], strict=True):
        if new_rate != rate:
            yield f"A learning rate was {new_rate}; in the uninterrupted run {rate}."
    for then, now in differences(old.results[point.results :], new.results[start.results :]):
        yield f"{now}; in the uninterrupted run: {then}."
    for name, content in uninterrupted.parameters.items():
        if resumed.parameters.get(name) != content:
            yield f"At the end the parameter '{name}' was different."
    for name, value, new_value in _attribute_differences(uninterrupted, resumed, repeated):
        yield f"At the end {name} was {new_value}; in the uninterrupted run it is {value}."
    if uninterrupted.files == repeated.files and resumed.files != uninterrupted.files:
        yield f"At the end there were the files {resumed.files}, not {uninterrupted.files}."
