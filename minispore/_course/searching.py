"""The smallest case that goes wrong, found by hypothesis and told without a word of it."""

import linecache
import signal
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import FlakyFailure, UnsatisfiedAssumption
from hypothesis.strategies import SearchStrategy

from minispore._course.words import Wrong, in_sentence, shown

C = TypeVar("C")

CASE_SECONDS = 2.0  # of computing, for one case

_PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
# Nothing is written to the disk, and the same work gets the same answer each time.
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
    """A function of the work, which its message names, still raises NotImplementedError."""

    @classmethod
    def of(cls, error: NotImplementedError) -> "NotWrittenError":
        """The error that names the function which raised `error`."""
        *_, (frame, _) = traceback.walk_tb(error.__traceback__)
        return cls(frame.f_code.co_qualname)


class _BrokenError(Exception):
    """What went wrong in one case; all of them look alike to hypothesis, which then shrinks."""


class TooSlow(BaseException):
    """A case has used up its time. No `except Exception` of the learner's holds it up."""


def smallest(
    cases: SearchStrategy[C],
    holds: Callable[[C], None],
    *,
    show: Callable[[C], str] = shown,
    examples: int = 100,
    share: int = 1,
) -> str | None:
    """Look for a case that breaks a law, and tell the smallest one.

    Args:
        cases: Where the cases come from.
        holds: Raises `Wrong` where the law is broken.
        show: A case in words: "x = [1.0]".
        examples: How many cases to try.
        share: Above 1 the first case that is found will do, among so many times fewer.

    Returns:
        A sentence, or None if the law held in every case.

    Raises:
        NotWrittenError: There is nothing to check yet.
        TooSlow: A case has used up its time: to look for a smaller one would take still more.

    Examples:
        >>> from hypothesis import strategies as st
        >>> from minispore._course.words import expect
        >>> law = lambda n: expect("your double", n + 2, 2 * n)
        >>> smallest(st.integers(0, 9), law, show=lambda n: f"n = {n}")
        'For n = 0, your double gave 2, but 0 was expected.'
    """
    unwritten: NotWrittenError | None = None
    current = ""

    @settings(
        SETTINGS,
        max_examples=-(-examples // share),
        phases=_PHASES[:2] if share > 1 else _PHASES,
    )
    @given(cases)
    def attempt(case: C) -> None:
        nonlocal unwritten, current
        current = in_sentence(show, case)
        mistake = None
        try:
            with time_limit(CASE_SECONDS):
                holds(case)
        except UnsatisfiedAssumption:
            raise
        except NotImplementedError as error:
            unwritten = NotWrittenError.of(error)
            mistake = "it is not written"
        except Wrong as error:
            mistake = str(error)
        except (Exception, SystemExit) as error:
            mistake = f"your code raised {described(error)}"
        if mistake is not None:  # raised here, so that it has no other exception behind it
            raise _BrokenError(f"For {current}, {mistake}.")

    try:
        attempt()
    except _BrokenError as error:
        if unwritten is not None:
            raise unwritten from None
        return str(error)
    except FlakyFailure:
        return (
            f"For {current}, your code did not do the same when it was asked again. "
            "Does it keep something from one call to the next?"
        )
    except TooSlow as error:
        text = f"your code had not finished after {CASE_SECONDS:g} seconds of computing{error}."
        raise TooSlow(f"For {current}, {text}") from None
    return None


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Raise `TooSlow` when the block has computed for so long, where the system can tell.

    Raises:
        TooSlow: Its message is the place in the learner's file, or empty.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_number: int, frame: FrameType | None) -> None:
        raise TooSlow(_place(traceback.extract_stack(frame)))

    before = signal.signal(signal.SIGVTALRM, stop)
    # Time of this process only: a busy machine makes nobody's loop endless.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def described(error: BaseException) -> str:
    """An exception of the learner's code in words, with the line that it came from."""
    if isinstance(error, MemoryError):
        text = "MemoryError: it wants more memory than it may have"
    else:
        text = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
    return f"{' '.join(text.split())}{_place(traceback.extract_tb(error.__traceback__))}"


def _place(stack: traceback.StackSummary) -> str:
    """The last line of the learner's file among these: " (line 3: `x = 1 / 0`)"."""
    for frame in reversed(stack):
        if is_work(frame.filename):
            text = linecache.getline(frame.filename, frame.lineno or 0).strip()
            return f" (line {frame.lineno}: `{text}`)"
    return ""


def is_work(file: str) -> bool:
    """Whether this is a learner's file and not one of the package, by its name."""
    path = PurePath(file)
    return path.name.startswith("lesson_") and path.parent.name != "lessons"
