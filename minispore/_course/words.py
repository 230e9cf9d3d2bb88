"""How a mistake is told: what was given, what came out, and what was expected."""

from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt

_LONGEST = 300


class Wrong(AssertionError):  # noqa: N818 (it is a judgement)
    """A case in which the learner's work does not do what it should.

    The message continues a sentence that begins with "For <the case>, ".
    """


def shown(value: object) -> str:
    """A value as it is put into a sentence: arrays as lists, whatever is long cut short.

    >>> shown(np.array([[1.0, 0.5]]))
    '[[1.0, 0.5]]'
    """
    if isinstance(value, np.ndarray | np.generic):
        text = str(np.asarray(cast("npt.ArrayLike", value)).tolist())
    else:
        text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def expect(what: str, got: object, wanted: object, *, tolerance: float = 0.0) -> None:
    """Tell the learner if a result is not the one that was expected.

    Args:
        what: The subject of the sentence: "your relu".
        got: What came out.
        wanted: What should have.
        tolerance: How far numbers may be apart, absolutely and by their size.

    Raises:
        Wrong: They differ.

    Examples:
        >>> expect("your relu", np.array([1.0, 1.0]), np.array([1.0, 0.0]))
        Traceback (most recent call last):
        minispore._course.words.Wrong: your relu gave [1.0, 1.0], but [1.0, 0.0] was expected
        >>> expect("your half", 1 / 3, 0.5, tolerance=1e-9)
        Traceback (most recent call last):
        minispore._course.words.Wrong: your half gave 0.333333, but 0.5 was expected
    """
    if not same(got, wanted, tolerance):
        texts = shown(got), shown(wanted)
        brief = shown(_rounded(got)), shown(_rounded(wanted))
        if tolerance and brief[0] != brief[1]:
            texts = brief
        raise Wrong(f"{what} gave {texts[0]}, but {texts[1]} was expected")


def _rounded(value: object) -> object:
    """Numbers with six decimals: enough for the eye, unless it is these that are wrong."""
    if not isinstance(value, np.ndarray | np.generic | float):
        return value
    x = np.asarray(value)
    return np.round(x, 6) + 0.0 if x.dtype.kind == "f" else x  # + 0.0 makes of −0 a 0


def same(got: object, wanted: object, tolerance: float = 0.0) -> bool:
    """Whether two values are equal; arrays and floats by shape and, within reason, by number."""
    if isinstance(wanted, np.ndarray | np.generic | float):
        if not isinstance(got, np.ndarray | np.generic | float | int):
            return False
        x, y = np.asarray(got), np.asarray(wanted)
        close = x.shape == y.shape and x.dtype.kind in "biufc"
        return close and np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True)
    return type(got) is type(wanted) and bool(got == wanted)


def in_sentence(show: Callable[..., str], case: object) -> str:
    """What `show` says of a case, or its repr where `show` itself fails."""
    try:
        return show(case)
    except Exception:  # the mistake is to be told all the same
        return shown(case)
