"""What a learner is told whose rule gives something else than a rule does."""

from types import ModuleType

import numpy as np
import pytest

from minispore._course.applying import applied
from minispore._course.words import Wrong


def double(g: object) -> object:
    return g, g


def work_that_returns(given: object) -> ModuleType:
    work = ModuleType("work")
    work.__dict__["rule"] = lambda _: given
    return work


def test_a_rule_is_taken_apart() -> None:
    assert applied(work_that_returns((3.0, (double,))), "rule", 1.0) == (3.0, double)
    assert applied(work_that_returns((3.0, [double])), "rule", 1.0) == (3.0, double)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "returned None, but it should be a pair"),
        (np.ones(2), "returned an array, but it should be a pair"),
        ((1.0, double, double), "returned a tuple of 3, but it should be a pair"),
        ((1.0, double), "is a function, but it should be a tuple .* with that comma"),
        ((1.0, ()), "is a tuple of 0, but it should be a tuple"),
        ((1.0, (double, double)), "returned 2 pullbacks, but it has one operand"),
        ((1.0, (np.ones(2),)), "pullback of your rule is an array, but it should be a function"),
        ((1.0, (3,)), "pullback of your rule is of type int"),
    ],
)
def test_what_is_no_rule_is_told(given: object, words: str) -> None:
    with pytest.raises(Wrong, match=words):
        applied(work_that_returns(given), "rule", 1.0)
