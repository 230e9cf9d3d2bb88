"""Indexing and item assignment do what numpy does, and can be differentiated."""

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minispore as ms
from minispore import Tensor, grad, ops, value_and_grad
from minispore.engine.array import is_ndarray
from minispore.utils.checks import map_items
from tests.common.strategies import Arrays, float_types, indexed

# Without static types, as scripts call it.
loose_scatter = cast("Callable[..., Tensor]", Tensor.scatter)


def part(array: Arrays, index: object) -> Arrays:
    """numpy's own answer."""
    return np.asarray(array[cast("tuple[int, ...]", index)])


def by_tensors(index: object) -> object:
    """An index with tensors instead of arrays in it."""
    return Tensor(index) if is_ndarray(index) else map_items(by_tensors, index)


@given(indexed())
def test_getitem_equals_numpy_indexing(case: tuple[Arrays, object]) -> None:
    array, index = case
    expected = part(array, index)
    for key in (index, by_tensors(index)):
        actual = Tensor(array)[key].asnumpy()
        assert actual.dtype == expected.dtype
        assert np.array_equal(actual, expected, equal_nan=array.dtype.kind == "f")


@given(indexed())
def test_basic_indices_share_memory(case: tuple[Arrays, object]) -> None:
    array, index = case
    x = Tensor.from_numpy(array)
    assert np.shares_memory(x[index].asnumpy(), array) == np.shares_memory(
        part(array, index), array
    )


@given(indexed())
def test_setitem_writes_into_the_memory(case: tuple[Arrays, object]) -> None:
    array, index = case
    expected = array.copy()
    expected[index] = 1  # type: ignore[index]
    for value in (1, Tensor(1), Tensor([1])):
        x = Tensor(array)
        x[by_tensors(index)] = value
        assert np.array_equal(x.asnumpy(), expected, equal_nan=array.dtype.kind == "f")


@given(indexed(float_types))
def test_setitem_is_differentiable(case: tuple[Arrays, object]) -> None:
    array, index = case
    ones = np.ones_like(array)
    expected = ones.copy()
    expected[index] = 0  # type: ignore[index]

    def assigned(x: Tensor, value: Tensor) -> Tensor:
        y = x + 0
        y[index] = value
        return y.sum()

    value = Tensor(3, ms.dtype.from_array_dtype(array.dtype))
    by_x, by_value = grad(assigned, (0, 1))(Tensor(ones), value)
    assert np.array_equal(by_x.asnumpy(), expected)
    assert by_value.dtype is value.dtype
    # A place that is named twice is written once.
    assert by_value.item() == np.count_nonzero(expected == 0)


def test_setitem_gradients_are_exact() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 1
        y[0] = 1.0
        return y

    for old in (1e30, float("inf"), float("nan")):
        value, _ = value_and_grad(f)(Tensor([old, 2.0]))
        assert value.tolist() == [1.0, 2.0]


def test_recorded_setitem_does_not_change_other_tensors() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 1
        z = y[0]
        y[0] = x[1] * x[1]
        return y.sum() + 10 * z

    assert grad(f)(Tensor([2.0, 3.0])).tolist() == [10.0, 7.0]


def test_setitem_converts_values_and_their_gradients() -> None:
    def f(value: Tensor) -> Tensor:
        y = ops.zeros((2,), ms.float32)
        y[0] = value
        assert y.dtype is ms.float32
        return y.sum()

    gradient = grad(f)(Tensor(2.0, ms.float64))
    assert (gradient.dtype, gradient.item()) == (ms.float64, 1.0)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (5, r"\(2, 3\) has no \[5\]"),
        ((0, 0, 0), "too many indices"),
        (Tensor([0.5]), "integers or bools, not floats"),
        ("a", "'a' of type str"),
        (1.0, "1.0 of type float"),
        ([True, False, True], "boolean index did not match"),
    ],
)
def test_invalid_index_raises_index_error(index: object, message: str) -> None:
    x = ops.ones((2, 3))
    with pytest.raises(IndexError, match=message):
        x[index]
    with pytest.raises(IndexError, match=message.replace(r"\(2, 3\) has no ", "")):
        x[index] = 0


@pytest.mark.parametrize("value", [Tensor([1.0, 2.0]), [1, 2], np.zeros(2)])
def test_setitem_of_wrong_shape_raises_value_error(value: Tensor) -> None:
    x = ops.ones((2, 3))
    with pytest.raises(ValueError, match=r"item assignment at \[0\].*could not broadcast"):
        x[0] = value
    assert x.asnumpy().all()


def test_errors_show_an_index_of_two_axes_on_one_line() -> None:
    for index in (Tensor([[0], [9]]), np.array([[0], [9]])):
        x = ops.zeros(2)
        with pytest.raises(IndexError, match=r"^[^\n]+$"):
            x[index]
        with pytest.raises(IndexError, match=r"^[^\n]+$"):
            x[index] = 1.0


@given(data=st.data(), by_number=st.booleans())
def test_scatter_adds_each_element_at_its_place(data: st.DataObject, by_number: bool) -> None:
    array = np.arange(6, dtype=np.float64).reshape(2, 3)
    axis = data.draw(st.sampled_from([0, 1, -1]))
    lengths = data.draw(st.tuples(st.integers(0, 2), st.integers(0, 3)))
    places = data.draw(
        hnp.arrays(np.int64, lengths, elements=st.integers(0, array.shape[axis] - 1))
    )
    source = data.draw(hnp.arrays(np.float64, lengths, elements=st.integers(-9, 9)))
    if by_number:
        source = np.full(lengths, 2.0)

    def added(x: Tensor, y: Tensor) -> Tensor:
        return x.scatter(axis, Tensor(places), 2.0 if by_number else y, "add")

    expected = array.copy()
    for position in np.ndindex(*lengths):
        place = list(position)
        place[axis] = int(places[position])
        expected[tuple(place)] += source[position]
    x, y = Tensor(array), Tensor(source)
    assert added(x, y).tolist() == expected.tolist()
    weights = Tensor(np.arange(6.0).reshape(2, 3))
    by_x, by_y = grad(lambda x, y: ops.sum(added(x, y) * weights + 0.0 * ops.sum(y)), (0, 1))(x, y)
    assert by_x.tolist() == weights.tolist()
    gathered = x.gather_elements(axis, Tensor(places))
    assert by_y.tolist() == (gathered * (0.0 if by_number else 1.0)).tolist()
    for reduce in ("multiply", "amax", None):
        with pytest.raises(ValueError, match="^For 'scatter', the argument 'reduce' must be one"):
            loose_scatter(x, axis, Tensor(places), y, reduce)
