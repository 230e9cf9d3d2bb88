"""What is right in any run: the laws that can be seen to be broken in one run alone."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest

from minispore.testing._laws import BrokenLaw
from minispore.testing._observing import Observer
from minispore.testing._runs import Observed
from minispore.testing._schedule import Schedule, repeatable, small_model
from minispore.testing._watching import watching
from minispore.train._protocol.callback import Callback


@dataclass(frozen=True)
class Expected:
    """A run without the callback.

    Attributes:
        events: The loop's events.
        error: The type of what the caller got, None if it ended well.
    """

    events: tuple[str, ...]
    error: type[BaseException] | None


@cache  # it is the same for all callbacks
def expected_of(schedule: Schedule) -> Expected:
    """The run of a schedule without any callback but the one that makes its trouble."""
    error = None
    observer = Observer(Callback(), io.StringIO(), thorough=False)
    with repeatable(), watching(observer):
        try:
            schedule.go([], small_model())
        except BaseException as raised:
            if isinstance(raised, KeyboardInterrupt) and schedule.trouble is None:
                raise
            error = type(raised)
    return Expected(tuple(observer.events), error)


def refused(run: Observed) -> bool:
    """Whether the callback has refused the run before its first step, as not meant for it."""
    refusals = (ValueError, TypeError, RuntimeError, NotImplementedError)
    return isinstance(run.error, refusals) and not run.observer.began


def judged(run: Observed, *, may_refuse: bool = False) -> Iterator[BrokenLaw]:
    """What the callback has broken in a run.

    Args:
        run: The run with it.
        may_refuse: Whether it may be a run that such a callback is not meant for.
    """
    where = str(run.schedule)
    observer, without = run.observer, expected_of(run.schedule)
    for law, message in observer.faults:
        yield BrokenLaw(law, where, message)
    unfit = may_refuse and refused(run)
    wrong = None if unfit else _wrong_error(run, without)
    if wrong:
        yield BrokenLaw("exceptions" if without.error else "errors", where, wrong)
    elif not unfit and not observer.resumes:
        unlike = _wrong_events(run, without)
        if unlike:
            yield BrokenLaw("events", where, unlike)
    if run.text and not run.text.endswith(("\n", "\r")):
        line = run.text.splitlines()[-1]
        yield BrokenLaw("output", where, f"The run left the line {line!r} unfinished.")
    if run.late:
        yield BrokenLaw("output", where, f"After the end of the run it printed {run.late!r}.")
    for leak in run.leaks:
        yield BrokenLaw("leaks", where, f"After the run, {leak}.")


def described(error: BaseException) -> str:
    """An exception in words: what it is, and whose hook raised it."""
    text = f"{type(error).__name__}: {error}".rstrip(".: ")
    return " ".join([f"{text}.", *getattr(error, "__notes__", ())])


def _wrong_error(run: Observed, without: Expected) -> str | None:
    expected = without.error
    if expected is None:
        return None if run.error is None else f"It raised {described(run.error)}"
    if type(run.error) is expected or run.observer.stopped_at is not None:
        return None
    name = expected.__name__
    if run.error is None:
        return f"The {name} did not reach the caller: an __exit__ returned something true."
    return f"Instead of the {name} the caller got {described(run.error)}"


def _wrong_events(run: Observed, without: Expected) -> str | None:
    events, expected = tuple(run.observer.events), without.events
    stopped = run.observer.stopped_at
    if run.error is None and (message := _unpaired(events)):
        return message
    if stopped is not None:
        events, expected = events[:stopped], expected[:stopped]
    for i, (now, then) in enumerate(zip_longest(events, expected, fillvalue="the end")):
        if now != then:
            after = f"After {events[i - 1]}" if i else "First"
            return f"{after} came {now}; without the callback it is {then}."
    return None


def _unpaired(events: Sequence[str]) -> str | None:
    """A beginning without its end, or an end without its beginning."""
    opened: list[str] = []
    for event in events:
        name = event.split(" ")[0]
        what, _, which = name.rpartition("_")
        if which == "begin":
            opened.append(what)
        elif not opened or opened.pop() != what:
            return f"There was an {name} without its {what}_begin."
    return f"There was an {opened[-1]}_begin without its {opened[-1]}_end." if opened else None
