"""The search for the smallest counterexample to a property, with hypothesis."""

import linecache
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import FlakyFailure, StopTest, UnsatisfiedAssumption
from hypothesis.strategies import SearchStrategy

from minispore._course.feedback import WrongResult, describe_case, format_value

C = TypeVar("C")

# Of CPU time, for one case. On a fast machine the longest ones take 0.7 seconds.
CASE_SECONDS = 5.0
# In a browser Python is several times as slow.
_SLOWNESS = 5 if sys.platform == "emscripten" else 1

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
# Deterministic, and without a database: the same submission always gets the same verdict.
SETTINGS = settings(
    max_examples=100,
    database=None,
    derandomize=True,
    deadline=None,
    print_blob=False,
    report_multiple_bugs=False,
    verbosity=Verbosity.quiet,
    suppress_health_check=(
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.large_base_example,
        HealthCheck.too_slow,
    ),
    phases=_PHASES,
)


class NotWrittenError(Exception):
    """A function of the submission, named by the message, still raises NotImplementedError."""

    @classmethod
    def of(cls, error: NotImplementedError) -> "NotWrittenError":
        """Return the error that names the function which raised `error`."""
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        return cls(frame.f_code.co_qualname)


class _CounterexampleFound(Exception):  # noqa: N818 (the result of a search, not a failure)
    """A failing case. Hypothesis sees the same error for each failing case, and shrinks it."""


class TimeLimitExceeded(BaseException):
    """A case used up its CPU time; no `except Exception` of the submission catches this."""


class MemoryLimitReached(BaseException):
    """A case used up the memory, which may be the machine's fault."""


def minimal_counterexample(
    cases: SearchStrategy[C],
    check: Callable[[C], None],
    *,
    show: Callable[[C], str] = format_value,
    examples: int = 100,
    speedup: int = 1,
) -> str | None:
    """Search for a case that violates a property, and shrink it.

    Args:
        cases: The strategy that generates the cases.
        check: Raises `WrongResult` if the property is violated.
        show: Formats a case: "x = [1.0]".
        examples: The number of cases to try.
        speedup: Above 1, try that many times fewer cases and do not shrink.

    Returns:
        A sentence that describes the counterexample, None if there is none.

    Raises:
        NotWrittenError: The submission is not written yet.
        TimeLimitExceeded: A case used up its time; to shrink it would take longer still.
        MemoryLimitReached: A case used up the memory.

    Examples:
        >>> from hypothesis import strategies as st
        >>> from minispore._course.feedback import expect
        >>> check = lambda n: expect("your double", n + 2, 2 * n)
        >>> minimal_counterexample(st.integers(0, 9), check, show=lambda n: f"n = {n}")
        'For n = 0, your double gave 2, but 0 was expected.'
    """
    unwritten: NotWrittenError | None = None
    current = ""

    @settings(
        SETTINGS,
        max_examples=-(-examples // speedup),
        phases=_PHASES[:2] if speedup > 1 else _PHASES,
    )
    @given(cases)
    def attempt(case: C) -> None:
        nonlocal unwritten, current
        current = describe_case(show, case)
        mistake = None
        try:
            with time_limit(CASE_SECONDS, "your code"):
                check(case)
        except (UnsatisfiedAssumption, StopTest, TimeLimitExceeded, MemoryLimitReached):
            raise
        except NotImplementedError as error:
            unwritten = NotWrittenError.of(error)
            mistake = "it is not written"
        except WrongResult as error:
            mistake = str(error)
        except MemoryError as error:
            raise MemoryLimitReached(f"your code raised {describe_error(error)}") from None
        except BaseException as error:
            mistake = f"your code raised {describe_error(error)}"
        if mistake is not None:  # raised here, so that it has no exception as its context
            raise _CounterexampleFound(f"For {current}, {mistake.rstrip('.')}.")

    try:
        attempt()
    except _CounterexampleFound as error:
        if unwritten is not None:
            raise unwritten from None
        return str(error)
    except FlakyFailure:
        return (
            f"For {current}, your code gave different results for the same input. "
            "Does it keep state from one call to the next?"
        )
    except (TimeLimitExceeded, MemoryLimitReached) as error:
        raise type(error)(f"For {current}, {error}.") from None
    return None


@contextmanager
def time_limit(seconds: float, subject: str) -> Generator[None]:
    """Raise `TimeLimitExceeded` after so much CPU time, on systems with such a timer.

    Args:
        seconds: The limit; in a browser it is longer.
        subject: What runs, for the message of the error.

    Raises:
        TimeLimitExceeded: Its message ends with the line in the learner's file, if there is one.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return
    seconds *= _SLOWNESS

    def stop(_number: int, frame: FrameType | None) -> None:
        line = _learner_line(traceback.extract_stack(frame))
        raise TimeLimitExceeded(
            f"{subject} did not finish within {seconds:g} seconds of CPU time{line}"
        )

    before = signal.signal(signal.SIGVTALRM, stop)
    # CPU time of this process: other processes on a busy machine do not count.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def describe_error(error: BaseException) -> str:
    """Return the type, message and line of an exception that the learner's code raised."""
    if isinstance(error, MemoryError):
        text = "MemoryError: the memory limit was exceeded"
    else:
        try:
            message = str(error)
        except BaseException:  # the class is the learner's
            message = ""
        text = f"{type(error).__name__}{message and f': {message}'}".rstrip(".")
    return f"{' '.join(text.split())}{_learner_line(traceback.extract_tb(error.__traceback__))}"


def _learner_line(stack: traceback.StackSummary) -> str:
    """Return the innermost line of the learner's file: " (line 3: `x = 1 / 0`)", or ""."""
    for frame in reversed(stack):
        path = PurePath(frame.filename)
        if path.name.startswith("lesson_") and path.parent.name != "lessons":
            text = linecache.getline(frame.filename, frame.lineno or 0).strip()
            return f" (line {frame.lineno}: `{text}`)"
    return ""
