"""`clip` with tensors for bounds, which MindSpore takes as well as numbers."""

from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, grad, ops

numbers = st.floats(-8.0, 8.0, width=32)


@given(x=st.lists(numbers, min_size=1, max_size=5), low=numbers, high=numbers)
def test_bounds_may_be_numbers_or_tensors(x: list[float], low: float, high: float) -> None:
    def by_tensors(x: Tensor) -> Tensor:
        return ops.clip(x, Tensor(low), Tensor(high))

    def by_numbers(x: Tensor) -> Tensor:
        return ops.clip(x, low, high)

    values = Tensor(x)
    assert by_tensors(values).tolist() == by_numbers(values).tolist()
    if low < high:
        assert grad(by_tensors)(values).tolist() == grad(by_numbers)(values).tolist()


def test_gradients_flow_to_bounds() -> None:
    def f(low: Tensor, high: Tensor) -> Tensor:
        return ops.clip(Tensor([0.0, 1.0, 2.0, 3.0, 4.0]), low, high)

    found = grad(f, (0, 1))(Tensor(1.5), Tensor(2.5))
    assert [float(g) for g in found] == [2.0, 2.0]
    assert ops.clip(Tensor([1, 5]), max=Tensor(2)).tolist() == [1, 2]
