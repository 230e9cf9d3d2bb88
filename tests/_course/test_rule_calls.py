"""Feedback on rules that do not return a value and a tuple of one pullback."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._course.feedback import WrongResult
from minispore._course.rule_calls import call_rule


def double(g: object) -> object:
    return g, g


def work_that_returns(result: object) -> ModuleType:
    work = ModuleType("work")
    work.__dict__["rule"] = lambda *_: result
    return work


@given(st.sampled_from([tuple, list]), st.sampled_from([tuple, list]), st.lists(st.integers()))
def test_rule_gets_all_arguments_and_returns_value_and_pullback(
    pair: Callable[[list[object]], object],
    pullbacks: Callable[[list[object]], object],
    arguments: list[int],
) -> None:
    work = ModuleType("work")
    work.__dict__["rule"] = lambda *args: pair([args, pullbacks([double])])
    assert call_rule(work, "rule", 1.0, *arguments) == ((1.0, *arguments), double)


@given(st.integers(0, 4), st.integers(0, 4))
def test_rule_must_return_a_pair_with_one_pullback(items: int, pullbacks: int) -> None:
    result = (1.0, (double,) * pullbacks, *range(items))[:items]
    work = work_that_returns(result)
    if items == 2 and pullbacks == 1:
        assert call_rule(work, "rule", 1.0) == (1.0, double)
    else:
        with pytest.raises(
            WrongResult, match=f"of {items}, but a pair|a tuple of 0|{pullbacks} pull"
        ):
            call_rule(work, "rule", 1.0)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned None, but a pair was expected"),
        (np.ones(2), "returned an array, but a pair was expected"),
        ((1.0, double), "is a function, but a tuple .* with that comma"),
        ((1.0, (np.ones(2),)), "pullback of your rule is an array, but a function was expected"),
        ((1.0, (3,)), "pullback of your rule is of type int"),
    ],
)
def test_call_rule_rejects_wrong_structure(result: object, message: str) -> None:
    with pytest.raises(WrongResult, match=message):
        call_rule(work_that_returns(result), "rule", 1.0)
