"""Feedback on wrong results: the case, the actual result and the expected one."""

from collections.abc import Callable

import numpy as np

from minispore.engine.array import NUMPY_TYPES

_MAX_LENGTH = 300


class WrongResult(AssertionError):  # noqa: N818 (a verdict on the submission, not a failure)
    """A case in which the submission gives a wrong result.

    The message continues a sentence that begins with "For <the case>, ".
    """


def format_value(value: object) -> str:
    """Format a value for a sentence: arrays as lists, long texts truncated.

    >>> format_value(np.array([[1.0, 0.5]]))
    '[[1.0, 0.5]]'
    """
    text = str(np.asarray(value).tolist()) if isinstance(value, NUMPY_TYPES) else repr(value)
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"


def counted(number: int, noun: str) -> str:
    """Return the number with its noun.

    >>> counted(1, "epoch"), counted(2, "batch")
    ('1 epoch', '2 batches')
    """
    ending = "" if number == 1 else "es" if noun.endswith(("tch", "s")) else "s"
    return f"{number} {noun}{ending}"


def expect(subject: str, actual: object, expected: object, *, tolerance: float = 0.0) -> None:
    """Raise `WrongResult` if a result differs from the expected one.

    Args:
        subject: The subject of the sentence: "your relu".
        actual: The result.
        expected: The expected result.
        tolerance: The absolute and relative tolerance for numbers.

    Raises:
        WrongResult: They differ.

    Examples:
        >>> expect("relu", np.array([1.0, 1.0]), np.array([1.0, 0.0]))
        Traceback (most recent call last):
        minispore._course.feedback.WrongResult: relu gave [1.0, 1.0], but [1.0, 0.0] was expected
        >>> expect("half", 1 / 3, 0.5, tolerance=1e-9)
        Traceback (most recent call last):
        minispore._course.feedback.WrongResult: half gave 0.333333, but 0.5 was expected
    """
    if not is_same(actual, expected, tolerance):
        texts = format_value(actual), format_value(expected)
        rounded = format_value(_rounded(actual)), format_value(_rounded(expected))
        if tolerance and rounded[0] != rounded[1]:
            texts = rounded
        raise WrongResult(f"{subject} gave {texts[0]}, but {texts[1]} was expected")


def expect_text(subject: str, actual: str, expected: str) -> None:
    """Raise `WrongResult` if the description of a result differs from the expected one.

    >>> expect_text("the run ended after", "epoch 2", "epoch 1")
    Traceback (most recent call last):
    minispore._course.feedback.WrongResult: the run ended after epoch 2, but epoch 1 was expected
    """
    if actual != expected:
        raise WrongResult(f"{subject} {actual}, but {expected} was expected")


def expect_count(subject: str, actual: int, expected: int, noun: str) -> None:
    """Raise `WrongResult` if something has another number of parts.

    >>> expect_count("`losses`", 4, 3, "item")
    Traceback (most recent call last):
    minispore._course.feedback.WrongResult: `losses` has 4 items, but 3 were expected
    """
    if actual != expected:
        verb = "was" if expected == 1 else "were"
        raise WrongResult(f"{subject} has {counted(actual, noun)}, but {expected} {verb} expected")


def _rounded(value: object) -> object:
    """Round floats to six decimals."""
    if not isinstance(value, np.ndarray | np.generic | float):
        return value
    x = np.asarray(value)
    return np.round(x, 6) + 0.0 if x.dtype.kind == "f" else x  # + 0.0 turns −0 into 0


def is_same(actual: object, expected: object, tolerance: float = 0.0) -> bool:
    """Return whether two values are equal; arrays and floats by shape and within the tolerance."""
    if isinstance(expected, np.ndarray | np.generic | float):
        if not isinstance(actual, np.ndarray | np.generic | float | int):
            return False
        x, y = np.asarray(actual), np.asarray(expected)
        close = x.shape == y.shape and x.dtype.kind in "biufc"
        return close and np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
    return type(actual) is type(expected) and bool(actual == expected)


def describe_case(show: Callable[..., str], case: object) -> str:
    """Return the text that `show` returns for a case, or the case's repr if `show` fails."""
    try:
        return show(case)
    except Exception:  # the wrong result must be reported nevertheless
        return format_value(case)
