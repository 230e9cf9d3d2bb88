"""`clip` with tensors and numbers as bounds."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from minispore import Tensor, grad, ops

numbers = st.floats(-8.0, 8.0, width=32)


@given(x=st.lists(numbers, min_size=1, max_size=5), low=numbers, high=numbers)
def test_clip_by_tensors_equals_clip_by_numbers(x: list[float], low: float, high: float) -> None:
    def by_tensors(x: Tensor) -> Tensor:
        return ops.clip(x, Tensor(low), Tensor(high))

    def by_numbers(x: Tensor) -> Tensor:
        return ops.clip(x, low, high)

    values = Tensor(x)
    assert by_tensors(values).tolist() == by_numbers(values).tolist()
    if low < high:
        assert grad(by_tensors)(values).tolist() == grad(by_numbers)(values).tolist()


@given(x=st.lists(numbers, min_size=1, max_size=5), low=st.floats(-4, 0), more=st.floats(0.5, 4))
def test_clip_bounds_have_gradients(x: list[float], low: float, more: float) -> None:
    def f(low: Tensor, high: Tensor) -> Tensor:
        return ops.clip(Tensor(np.array(x)), low, high)

    high = low + more
    assume(not {low, high} & {*x})
    actual = grad(f, (0, 1))(Tensor(np.array(low)), Tensor(np.array(high)))
    assert [float(g) for g in actual] == [sum(v < low for v in x), sum(v > high for v in x)]
    assert ops.clip(Tensor([1, 5]), max=Tensor(2)).tolist() == [1, 2]
