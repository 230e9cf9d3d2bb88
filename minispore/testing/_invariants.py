"""The invariants of callbacks, and the checks that need only one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from minispore.testing._observed_run import CallbackObserver
from minispore.testing._runs import RunResult, run_observed
from minispore.testing._scenario import Scenario
from minispore.train.protocol import Callback

INVARIANTS = {
    "errors": "It raises no exception in a run in which nothing else fails.",
    "exceptions": "An exception or interrupt that ends a run reaches the caller unchanged.",
    "events": "The run has the same events with and without it, up to a stop that it requests,"
    " and every begin event has its end event.",
    "bookkeeping": "It does not change the loop's parameters of the run, its batches and data, or a"
    " requested stop.",
    "parameters": "It changes the weights or the optimizer's state only where `may_change` says.",
    "random": "It draws no random numbers from streams that the training or its data may use.",
    "reuse": "A second run with the same object behaves like the first.",
    "resume": "A run that is resumed after any step continues like the uninterrupted run.",
    "output": "It ends each line that it prints, and prints nothing after the run.",
    "leaks": "It leaves no open or temporary files, threads, handlers, or changes of the process or"
    " its class.",
}


@dataclass(frozen=True)
class Violation:
    """A violation of an invariant by a callback.

    Attributes:
        invariant: The name of the invariant, one of `INVARIANTS`.
        where: The run in which it was violated.
        message: What happened.

    Examples:
        >>> Violation("random", "eval with 2 steps", "on_eval_begin drew random numbers.").invariant
        'random'
    """

    invariant: str
    where: str
    message: str


class CallbackError(AssertionError):
    """The error of a callback that violates invariants; the message shows the simplest run of each.

    Args:
        name: The name of the callback's class.
        violations: The violations.
        scenarios: The scenarios that were tried.

    Attributes:
        violations: All violations that were found.
        scenarios: The argument, as a tuple.

    Examples:
        >>> print(CallbackError("Noisy", [Violation("random", "a run", "It drew numbers.")]))
        The callback Noisy violates 1 of 10 invariants.
        <BLANKLINE>
        random: It draws no random numbers from streams that the training or its data may use.
          In a run:
            It drew numbers.
    """

    def __init__(
        self, name: str, violations: Sequence[Violation], scenarios: Sequence[Scenario] = ()
    ) -> None:
        self.violations: tuple[Violation, ...] = tuple(violations)
        self.scenarios: tuple[Scenario, ...] = tuple(scenarios)
        names = list(dict.fromkeys(violation.invariant for violation in violations))
        lines = [f"The callback {name} violates {len(names)} of {len(INVARIANTS)} invariants."]
        for invariant in names:
            cases = [violation for violation in violations if violation.invariant == invariant]
            simplest, others = cases[0].where, len({case.where for case in cases}) - 1
            more = f" (and {others} more runs)" if others else ""
            lines += ["", f"{invariant}: {INVARIANTS[invariant]}", f"  In {simplest}{more}:"]
            lines += [f"    {case.message}" for case in cases if case.where == simplest][:5]
        if self.scenarios:
            lines += ["", f"Tried: {_describe_scenarios(self.scenarios)}."]
        super().__init__("\n".join(lines))


@dataclass(frozen=True)
class BaselineRun:
    """A run without the callback.

    Attributes:
        events: The loop's events.
        error: The type of the exception that reached the caller, or None.
    """

    events: tuple[str, ...]
    error: type[BaseException] | None


@cache  # it does not depend on the callback
def baseline_run(scenario: Scenario) -> BaselineRun:
    """Run a scenario without a callback, except the one that injects its fault."""
    observer = CallbackObserver(Callback())
    _, error = run_observed(scenario, observer, [])
    return BaselineRun(tuple(observer.events), None if error is None else type(error))


def check_invariants(run: RunResult, *, may_reject: bool = False) -> Iterator[Violation]:
    """Yield the violations in a run.

    Args:
        run: The run with the callback.
        may_reject: Whether the callback may raise an error before the first step.
    """
    observer, baseline = run.observer, baseline_run(run.scenario)
    rejections = (ValueError, TypeError, RuntimeError, NotImplementedError)
    rejected = may_reject and isinstance(run.error, rejections) and not observer.began
    violations = list(observer.violations)
    if not rejected:
        if message := _wrong_error(run, baseline):
            violations.append(("exceptions" if baseline.error else "errors", message))
        elif not observer.resumes and (message := _wrong_events(run, baseline)):
            violations.append(("events", message))
    if run.text and not run.text.endswith(("\n", "\r")):
        line = run.text.splitlines()[-1]
        violations.append(("output", f"The run left the line {line!r} unfinished."))
    if run.late_text:
        violations.append(("output", f"After the end of the run it printed {run.late_text!r}."))
    violations += [("leaks", f"After the run, {leak}.") for leak in run.leaks]
    for invariant, message in violations:
        yield Violation(invariant, str(run.scenario), message)


def describe_error(error: BaseException) -> str:
    """Return an exception's type, message and notes, which name the hook that raised it."""
    text = f"{type(error).__name__}: {error}".rstrip(".: ")
    return " ".join([f"{text}.", *getattr(error, "__notes__", ())])


def _wrong_error(run: RunResult, baseline: BaselineRun) -> str | None:
    if baseline.error is None:
        return None if run.error is None else f"It raised {describe_error(run.error)}"
    if type(run.error) is baseline.error or run.observer.stopped_at is not None:
        return None
    name = baseline.error.__name__
    if run.error is None:
        return f"The {name} did not reach the caller: an __exit__ returned a true value."
    return f"Instead of the {name} the caller received {describe_error(run.error)}"


def _wrong_events(run: RunResult, baseline: BaselineRun) -> str | None:
    events, expected = tuple(run.observer.events), baseline.events
    stopped = run.observer.stopped_at
    if run.error is None and (message := find_unpaired_event(events)):
        return message
    if stopped is not None:
        events, expected = events[:stopped], expected[:stopped]
    for i, (event, other) in enumerate(zip_longest(events, expected, fillvalue="the end")):
        if event != other:
            subject = f"The event after {events[i - 1]}" if i else "The first event"
            return f"{subject} was {event}; without the callback it is {other}."
    return None


def _describe_scenarios(scenarios: Sequence[Scenario]) -> str:
    """Return how many scenarios there are, and the numbers of epochs and steps in them.

    >>> _describe_scenarios([Scenario("train", 1, 3), Scenario("eval", valid_batches=2)])
    '2 scenarios: train (epochs × steps: 1×3), eval (steps: 2)'
    """
    shapes: dict[str, set[str]] = {}
    for scenario in scenarios:
        if scenario.kind == "eval":
            shapes.setdefault("eval (steps: ", set()).add(str(scenario.valid_batches or 0))
        else:
            shape = f"{scenario.epochs}×{scenario.batches}"
            shapes.setdefault(f"{scenario.kind} (epochs × steps: ", set()).add(shape)
    kinds = [f"{label}{', '.join(sorted(shapes[label]))})" for label in shapes]
    return f"{len(scenarios)} scenarios: {', '.join(kinds)}"


def find_unpaired_event(events: Sequence[str]) -> str | None:
    """Return a message about the first begin or end event without its counterpart, if any."""
    opened: list[str] = []
    for event in events:
        name = event.split(" ")[0]
        span, _, edge = name.rpartition("_")
        if edge == "begin":
            opened.append(span)
        elif not opened or opened.pop() != span:
            return f"There was an {name} without its {span}_begin."
    return f"There was an {opened[-1]}_begin without its {opened[-1]}_end." if opened else None
