"""What a callback remembers, as the checks compare and print it."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor
from minispore.testing._observing import memory
from minispore.train import Callback

integers = st.lists(st.integers(-9, 9), min_size=1, max_size=20)


class Keeps(Callback):
    def __init__(self, value: object) -> None:
        self.kept = value


def kept(value: object) -> object:
    return memory(Keeps(value)).get("its attribute 'kept'", "what is not compared")


@pytest.mark.parametrize("make", [np.array, Tensor])
@given(integers, st.data())
def test_arrays_are_compared_by_what_is_in_them(
    make: Callable[[list[int]], object], numbers: list[int], data: st.DataObject
) -> None:
    others = data.draw(st.just(numbers) | integers | st.permutations(numbers))
    assert (kept(make(numbers)) == kept(make(others))) == (numbers == others)
    assert kept([make(numbers)]) == [kept(make(numbers))]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (np.arange(3), [0, 1, 2]),
        (Tensor([[1.5], [2.5]]), [[1.5], [2.5]]),
        (np.zeros((2, 5), np.int32), "an array int32 (2, 5) with the check sum "),
        ({"a": (1, float("nan"))}, {"a": [1, "nan"]}),
        ({"a": [object()]}, "what is not compared"),
    ],
)
def test_small_values_are_printed_whole(value: object, said: object) -> None:
    found = kept(value)
    assert found == said or (isinstance(said, str) and str(found).startswith(said))
