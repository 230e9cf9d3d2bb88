"""A tensor holds what it was made of, and gives it back to Python and numpy."""

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, Tensor, grad, ops
from minispore.common.initializer import One
from minispore.common.tensor import host_tensor, tensor

from .strategies import Arrays, arrays, float_types

scalars = arrays(shapes=st.just(()))


def same(x: Arrays, y: Arrays) -> bool:
    """Whether both are of one type, shape and content; NaN equals itself."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


# Values in, values out.


@given(arrays())
def test_a_tensor_holds_a_copy_of_an_array(array: Arrays) -> None:
    x = Tensor(array)
    assert same(x.asnumpy(), array)
    assert not np.shares_memory(x.asnumpy(), array)
    assert (x.shape, x.ndim, x.size) == (array.shape, array.ndim, array.size)
    assert (x.itemsize, x.nbytes) == (array.itemsize, array.nbytes)
    assert x.strides == array.strides
    assert x.dtype.numpy_dtype == array.dtype


@given(arrays())
def test_from_numpy_shares_memory_both_ways(array: Arrays) -> None:
    x = Tensor.from_numpy(array)
    assert x.asnumpy() is array or np.shares_memory(x.asnumpy(), array) or not array.size
    array[...] = np.zeros(1, array.dtype)[0]
    assert same(x.asnumpy(), array)
    x[...] = 1
    assert bool(np.all(array == 1))


def test_a_subclass_of_arrays_is_taken_for_an_array() -> None:
    matrix = np.ones((2, 2)).view(np.matrix)
    for x in (Tensor(matrix), Tensor.from_numpy(matrix), Tensor(np.ma.masked_array(matrix))):
        assert type(x.asnumpy()) is np.ndarray
        assert (x * x).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert np.shares_memory(Tensor.from_numpy(matrix).asnumpy(), matrix)


@given(arrays())
def test_lists_come_back(array: Arrays) -> None:
    x = Tensor(array)
    assert repr(x.tolist()) == repr(array.tolist())
    again = Tensor(x.tolist(), x.dtype)
    assert again.asnumpy().shape == array.shape or not array.size
    assert np.array_equal(again.asnumpy().ravel(), array.ravel(), equal_nan=array.dtype.kind == "f")


@given(scalars)
def test_one_element_is_a_number(array: Arrays) -> None:
    x = Tensor(array.reshape(1, 1))
    assert repr(x.item()) == repr(array.item())
    assert repr(float(x)) == repr(float(array.item()))
    assert bool(x) == bool(array.item())


@pytest.mark.parametrize("convert", [float, int, bool, Tensor.item])
@pytest.mark.parametrize("values", [[], [1, 2]])
def test_other_tensors_are_no_numbers(
    convert: Callable[[Tensor], object], values: list[int]
) -> None:
    with pytest.raises(ValueError, match="one element"):
        convert(Tensor(values))


@given(arrays())
def test_copies_are_equal_and_apart(array: Arrays) -> None:
    x = Tensor(array)
    for y in (copy.copy(x), copy.deepcopy(x), x.copy(), Tensor(x)):
        assert same(y.asnumpy(), array)
        assert not np.shares_memory(y.asnumpy(), x.asnumpy())
    assert same(pickle.loads(pickle.dumps(x)).asnumpy(), array)


def test_a_deep_copy_keeps_what_is_one_thing() -> None:
    x = Tensor([1.0])
    first, second = copy.deepcopy([x, x])
    assert first is second


def test_numbers_keep_their_digits() -> None:
    third = 1 / 3
    assert Tensor(third, ms.float64).item() == third
    assert Tensor([third], ms.float64).tolist() == [third]
    assert (Tensor([0.0], ms.float64) + third).tolist() == [third]
    numbers = [third]
    assert (Tensor([0.0], ms.float64) + numbers).tolist() == [third]


def test_ints_beyond_int64() -> None:
    assert Tensor(2**63).dtype is ms.uint64
    assert Tensor([2**64 - 1, 0]).tolist() == [2**64 - 1, 0]
    assert Tensor([2.0**63, 0]).dtype is ms.float32
    for wrong in (2**64, [2**63, -1]):
        with pytest.raises(TypeError, match="of numbers|real numbers of at most 64 bits"):
            Tensor(wrong)


# Python's protocols.


def test_length_and_iteration() -> None:
    x = Tensor([[1, 2], [3, 4]])
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert [row.tolist() for row in reversed(x)] == [[3, 4], [1, 2]]
    with pytest.raises(TypeError, match="no length"):
        len(Tensor(1))
    with pytest.raises(TypeError, match="cannot be iterated"):
        iter(Tensor(1))


def test_an_index_is_an_integer() -> None:
    assert [10, 20, 30][Tensor(1)] == 20
    assert list(range(Tensor([2]))) == [0, 1]
    with pytest.raises(TypeError, match="integer"):
        range(Tensor(1.0))


def test_membership_is_of_numbers() -> None:
    assert 2 in Tensor([1, 2])
    assert 3 not in Tensor([1, 2])
    assert "a" not in Tensor([1, 2])
    assert None not in Tensor([1, 2])


def test_tensors_are_told_apart_by_identity() -> None:
    x, y = Tensor(1), Tensor(1)
    assert {x: "x", y: "y"}[x] == "x"
    assert hash(x) != hash(y)


@pytest.mark.parametrize("other", ["a", None, object(), {}])
def test_nothing_else_is_equal(other: object) -> None:
    x = Tensor([1, 2])
    assert repr((x == other, x != other)) == "(False, True)"


# numpy's protocols.


@given(arrays())
def test_numpy_takes_a_tensor_for_an_array(array: Arrays) -> None:
    x = Tensor(array)
    assert same(np.asarray(x), array)
    assert np.shares_memory(np.asarray(x), x.asnumpy()) or not array.size
    assert not np.shares_memory(np.array(x), x.asnumpy())
    assert x.__array__(np.dtype(np.float64)).dtype == np.float64


@pytest.mark.parametrize("factor", [np.float32(3), np.array([3.0], np.float32), np.array(3.0)])
def test_numpy_values_beside_a_tensor_stay_in_the_graph(factor: object) -> None:
    def left(x: Tensor) -> Tensor:
        return factor * x  # type: ignore[operator]

    def right(x: Tensor) -> Tensor:
        return x * factor  # type: ignore[operator]

    for f in (left, right):
        assert isinstance(f(Tensor([2.0])), Tensor)
        assert grad(f)(Tensor([2.0])).tolist() == [3.0]


def test_a_matrix_product_with_an_array() -> None:
    identity = np.eye(2, dtype=np.float32)
    x = Tensor([[1.0, 2.0]])
    assert isinstance(identity @ x.T, Tensor)
    assert (x @ identity).tolist() == [[1.0, 2.0]]
    with pytest.raises(TypeError, match="unsupported operand"):
        x @ 3  # type: ignore[operator]
    with pytest.raises(TypeError, match="unsupported operand"):
        3 @ x  # type: ignore[operator]


# In place and under a gradient.


def test_in_place_forms_write_into_the_memory() -> None:
    array = np.array([1.0, 2.0], np.float32)
    x = Tensor.from_numpy(array)
    assert x.add_(1).mul_(2).sub_(Tensor([1.0, 1.0])).div_(2) is x
    assert array.tolist() == [1.5, 2.5]
    assert x.fill_(3) is x
    assert x.copy_(Tensor([4, 5])).tolist() == [4.0, 5.0]
    assert array.tolist() == [4.0, 5.0]
    assert x.zero_().tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="For .add_."):
        x.add_(ops.zeros((2, 2)))


def test_in_place_forms_are_differentiable() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 1
        y.mul_(x)
        y.add_(1)
        return y.sum()

    assert grad(f)(Tensor([2.0, 3.0])).tolist() == [4.0, 6.0]


@given(arrays(float_types, st.just((2, 3))))
def test_views_share_memory(array: Arrays) -> None:
    x = Tensor(array)
    views = [x[0], x[:, 1], x.reshape(6), x.view(3, 2), x.T, x.mT, x.expand_dims(0), x.flatten()]
    for view in views:
        assert np.shares_memory(view.asnumpy(), x.asnumpy())
        view[0] = 7.0
        assert 7.0 in x
        x.zero_()


BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "floor_divide": lambda x, y: x // y,
    "remainder": lambda x, y: x % y,
    "pow": lambda x, y: x**y,
    "matmul": lambda x, y: x @ y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
}
UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "neg": lambda x: -x,
    "abs": abs,
    "round": round,
}


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", BINARY)
def test_an_operator_is_the_operation_and_so_is_its_gradient(name: str) -> None:
    x, y = Tensor([[1.5, 2.0], [3.0, 0.5]]), Tensor([[0.5, 2.5], [3.0, 1.5]])
    results = [
        [f(x, y), *grad(lambda x, y, f=f: f(x, y).astype(ms.float32).sum(), (0, 1))(x, y)]
        for f in (BINARY[name], getattr(ops, name))
    ]
    assert repr(results[0]) == repr(results[1])


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", UNARY)
def test_so_is_one_of_one_operand(name: str) -> None:
    x = Tensor([[-1.5, 2.25], [3.0, 0.5]])
    results = [
        [f(x), grad(lambda x, f=f: f(x).sum())(x)] for f in (UNARY[name], getattr(ops, name))
    ]
    assert repr(results[0]) == repr(results[1])
    assert +x is x


# Where tensors come from.


def test_whatever_makes_a_tensor_makes_a_constant() -> None:
    array = np.ones(2, np.float32)
    made = [
        Tensor(array),
        Tensor.from_numpy(array),
        tensor(array),
        host_tensor(array),
        Parameter(array).value(),
        Tensor(shape=2, dtype=ms.float32, init=One()),
    ]
    assert [x._node for x in made] == [None] * len(made)

    def total(y: Tensor) -> Tensor:
        return sum(((x * y).sum() for x in made), Tensor(0.0))

    assert grad(total)(Tensor(1.0)).item() == 12.0


def test_an_initialiser_fills_zeros_of_the_shape_and_type() -> None:
    seen: list[Arrays] = []

    def first(array: Arrays) -> None:
        seen.append(array.copy())
        array[0] = 2**31 - 1

    for make in (Tensor, tensor):
        x = make(shape=(2, 1), dtype=ms.int32, init=first)
        assert (x.dtype, x.tolist()) == (ms.int32, [[2**31 - 1], [0]])
        assert same(seen.pop(), np.zeros((2, 1), np.int32))


def test_the_tensor_function_makes_tensors() -> None:
    assert tensor([1, 2], ms.float16).dtype is ms.float16
