"""Whoever is given a gradient may write into it: it is in nobody else's memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .cases import CASES, Case


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_a_gradient_shares_no_memory_with_what_the_rule_was_given_or_gave(
    case: Case, data: st.DataObject, seed: int
) -> None:
    shapes, args = data.draw(case.drawn)
    operands = case.fill(shapes, np.random.default_rng(seed))
    value, pullbacks = case(operands, args)
    gradient = np.ones_like(value)
    for pullback in pullbacks:
        if pullback is not None:
            share = pullback(gradient)
            assert not any(np.shares_memory(share, x) for x in (*operands, value))
