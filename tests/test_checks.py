"""What the shared checks of arguments take, and that they say what is wrong with the others."""

from enum import IntEnum
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore._checks import check_int, check_number


class Size(IntEnum):
    """An int that is more than that."""

    SMALL = 1
    LARGE = 3


BOUNDS = st.none() | st.integers(-3, 3)
VALUES = st.integers(-5, 5) | st.sampled_from(Size)


def lies_in(value: float, low: int | None, high: int | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


@given(VALUES | st.booleans() | st.none() | st.floats() | st.text(), BOUNDS, BOUNDS)
def test_an_int_is_one_of_any_class_but_bool(
    value: object, low: int | None, high: int | None
) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        with pytest.raises(TypeError, match="For 'f', the type of 'n' must be one of int, but got"):
            check_int(value, "n", "f", low=low, high=high)
    elif lies_in(value, low, high):
        assert check_int(value, "n", "f", low=low, high=high) == value
    else:
        with pytest.raises(ValueError, match=f"For 'f', the argument 'n' must be .* got {value}"):
            check_int(value, "n", "f", low=low, high=high)


@given(VALUES | st.floats() | st.booleans(), BOUNDS, BOUNDS)
def test_a_number_is_no_nan_and_becomes_a_float(
    value: float, low: int | None, high: int | None
) -> None:
    if isinstance(value, bool):
        with pytest.raises(TypeError, match="For 'f', the type of 'x' must be one of int, float"):
            check_number(value, "x", "f", low=low, high=high)
    elif not isnan(value) and lies_in(value, low, high):
        found = check_number(value, "x", "f", low=low, high=high)
        assert type(found) is float
        assert found == value
    else:
        with pytest.raises(ValueError, match=r"For 'f', the argument 'x' must be .* got"):
            check_number(value, "x", "f", low=low, high=high)
