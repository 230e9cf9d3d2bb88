"""Tensors: construction, and conversion to Python's and numpy's values."""

import copy
import inspect
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Never

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

import minispore as ms
from minispore import Parameter, Tensor, grad, ops
from minispore.common.initializer import One
from minispore.engine.array import device
from minispore.ops.tensors import tensor, tensor_of
from tests.common.strategies import Arrays, arrays, float_types, number_types

scalars = arrays(shapes=st.just(()))


def same(x: Arrays, y: Arrays) -> bool:
    """Return whether types, shapes and elements are equal; NaN equals NaN."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


# Values in, values out.


@given(arrays())
def test_tensor_copies_an_array(array: Arrays) -> None:
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


@given(arrays(), st.booleans())
def test_dlpack_shares_memory_both_ways(array: Arrays, reverse: bool) -> None:
    given_array: NDArray[Any] = array
    x = Tensor.from_dlpack(given_array)
    assert same(x.asnumpy(), array)
    assert np.shares_memory(x.asnumpy(), array) or not array.size
    turned = x[::-1] if reverse and x.ndim else x
    shared = np.from_dlpack(turned)
    assert same(shared, turned.asnumpy())
    if turned is x:
        assert np.shares_memory(shared, array) or not array.size
    # Other libraries end the process at a negative stride.
    assert min(shared.strides, default=0) >= 0


def test_dlpack_errors() -> None:
    with pytest.raises(TypeError, match="'__dlpack__'"):
        Tensor.from_dlpack([1.0])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="complex"):
        Tensor.from_dlpack(np.ones(2, np.complex64))
    with pytest.raises(BufferError, match="negative stride"):
        Tensor([1.0, 2.0])[::-1].__dlpack__(copy=False)
    with pytest.raises(TypeError, match="differentiated"):
        grad(lambda x: ops.sum(Tensor.from_dlpack(x)))(Tensor([1.0]))

    class OnGpu:
        def __dlpack__(self, *, stream: None = None) -> Never:
            raise AssertionError

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    if "GPU" not in device._backends:
        with pytest.raises(RuntimeError, match="'GPU'"):
            Tensor.from_dlpack(OnGpu())


class OtherArray:
    """An array of another library, which numpy converts."""

    def __init__(self, values: Arrays) -> None:
        self.values = values

    def __array__(self, dtype: object = None, copy: object = None) -> Arrays:
        return self.values


@given(arrays())
def test_tensor_copies_an_array_of_another_library(array: Arrays) -> None:
    x = Tensor(OtherArray(array))
    assert same(x.asnumpy(), array)
    assert not np.shares_memory(x.asnumpy(), array)


def test_ndarray_subclass_is_accepted() -> None:
    matrix = np.ones((2, 2)).view(np.matrix)
    for x in (Tensor(matrix), Tensor.from_numpy(matrix), Tensor(np.ma.masked_array(matrix))):
        assert type(x.asnumpy()) is np.ndarray
        assert (x * x).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert np.shares_memory(Tensor.from_numpy(matrix).asnumpy(), matrix)


@given(arrays())
def test_tolist_returns_the_list(array: Arrays) -> None:
    x = Tensor(array)
    assert repr(x.tolist()) == repr(array.tolist())
    again = Tensor(x.tolist(), x.dtype)
    assert again.asnumpy().shape == array.shape or not array.size
    assert np.array_equal(again.asnumpy().ravel(), array.ravel(), equal_nan=array.dtype.kind == "f")


@given(scalars)
def test_tensor_of_one_element_converts_to_a_number(array: Arrays) -> None:
    x = Tensor(array.reshape(1, 1))
    assert repr(x.item()) == repr(array.item())
    assert repr(float(x)) == repr(float(array.item()))
    assert bool(x) == bool(array.item())


@pytest.mark.parametrize("convert", [float, int, bool, Tensor.item])
@pytest.mark.parametrize("values", [[], [1, 2]])
def test_other_tensors_do_not_convert_to_a_number(
    convert: Callable[[Tensor], object], values: list[int]
) -> None:
    with pytest.raises(ValueError, match="one element"):
        convert(Tensor(values))


@given(arrays())
def test_copies_are_equal_and_share_no_memory(array: Arrays) -> None:
    x = Tensor(array)
    for y in (copy.copy(x), copy.deepcopy(x), x.copy(), Tensor(x)):
        assert same(y.asnumpy(), array)
        assert not np.shares_memory(y.asnumpy(), x.asnumpy())
    assert same(pickle.loads(pickle.dumps(x)).asnumpy(), array)


def test_deepcopy_keeps_identity_of_shared_tensors() -> None:
    x = Tensor([1.0])
    first, second = copy.deepcopy([x, x])
    assert first is second


@given(st.floats(allow_nan=False))
def test_python_numbers_keep_their_digits(number: float) -> None:
    zero, listed = Tensor([0.0], ms.float64), [number]
    assert Tensor(number, ms.float64).item() == number
    for x in (Tensor(listed, ms.float64), zero + number, zero + listed):
        assert x.tolist() == listed


@given(st.integers(2**63, 2**64 - 1))
@example(2**63)
@example(2**64 - 1)
def test_large_ints_are_uint64(number: int) -> None:
    assert Tensor(number).dtype is ms.uint64
    assert Tensor([number, 0]).tolist() == [number, 0]
    assert Tensor([float(number), 0]).dtype is ms.float32
    for wrong in (number + 2**63, [number, -1]):
        with pytest.raises(TypeError, match="numbers of at most 64 bits"):
            Tensor(wrong)


# Python's protocols.


@given(arrays())
def test_length_and_iteration_are_those_of_the_first_axis(array: Arrays) -> None:
    x = Tensor(array)
    if array.ndim == 0:
        with pytest.raises(TypeError, match="no length"):
            len(x)
        with pytest.raises(TypeError, match="cannot be iterated"):
            iter(x)
        return
    assert len(x) == len(array)
    assert repr([row.tolist() for row in x]) == repr([row.tolist() for row in array])
    assert repr([row.tolist() for row in reversed(x)]) == repr(array.tolist()[::-1])


@given(st.integers(0, 9), st.booleans())
def test_integer_tensor_is_an_index(number: int, nested: bool) -> None:
    x = Tensor([[number]] if nested else number)
    assert [*range(10)][x] == number
    assert list(range(x)) == list(range(number))
    with pytest.raises(TypeError, match="integer"):
        range(Tensor(float(number)))


@given(arrays(number_types), st.integers(-3, 3))
def test_in_compares_numbers(array: Arrays, number: int) -> None:
    x = Tensor(array)
    if not (array.dtype.kind == "u" and number < 0):
        assert (number in x) == bool((array == number).any())
    assert "a" not in x
    assert None not in x


def test_tensors_hash_by_identity() -> None:
    x, y = Tensor(1), Tensor(1)
    assert {x: "x", y: "y"}[x] == "x"
    assert hash(x) != hash(y)


@pytest.mark.parametrize("other", ["a", None, object(), {}])
def test_comparison_with_other_objects_is_false(other: object) -> None:
    x = Tensor([1, 2])
    assert repr((x == other, x != other)) == "(False, True)"


# numpy's protocols.


@given(arrays())
def test_numpy_functions_accept_tensors(array: Arrays) -> None:
    x = Tensor(array)
    assert same(np.asarray(x), array)
    assert np.shares_memory(np.asarray(x), x.asnumpy()) or not array.size
    assert not np.shares_memory(np.array(x), x.asnumpy())
    assert x.__array__(np.dtype(np.float64)).dtype == np.float64


@pytest.mark.parametrize("factor", [np.float32(3), np.array([3.0], np.float32), np.array(3.0)])
def test_numpy_operands_keep_the_graph(factor: object) -> None:
    def left(x: Tensor) -> Tensor:
        return factor * x  # type: ignore[operator]

    def right(x: Tensor) -> Tensor:
        return x * factor  # type: ignore[operator]

    for f in (left, right):
        assert isinstance(f(Tensor([2.0])), Tensor)
        assert grad(f)(Tensor([2.0])).tolist() == [3.0]


# In place and under a gradient.


@given(st.sampled_from(["add", "sub", "mul", "div"]), st.integers(-8, 8), st.integers(1, 8))
def test_in_place_method_writes_into_the_memory(name: str, first: int, second: int) -> None:
    array = np.array([first, second], np.float32)
    x = Tensor.from_numpy(array)
    for operand in (second, Tensor([2.0, 4.0]), Tensor(0.5)):
        expected = getattr(ops, name)(Tensor(array), operand).tolist()
        assert getattr(x, f"{name}_")(operand) is x
        assert array.tolist() == expected
    assert x.fill_(first) is x.copy_(Tensor([first, first])) is x
    assert array.tolist() == [first, first]
    assert x.zero_().tolist() == array.tolist() == [0.0, 0.0]


@given(st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=4))
def test_in_place_methods_are_differentiable(values: list[float]) -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 1
        y.mul_(x)
        y.add_(1)
        return y.sum()

    assert grad(f)(Tensor(values)).tolist() == [2 * value for value in values]


@given(arrays(shapes=hnp.array_shapes(min_dims=2, max_dims=4, max_side=3)))
def test_transposes_equal_numpys(array: Arrays) -> None:
    x = Tensor(array)
    assert same(x.T.asnumpy(), array.T)
    assert same(x.mT.asnumpy(), array.mT)


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


matrices = hnp.arrays(np.float32, (2, 2), elements=st.integers(1, 9).map(lambda n: n / 4))


@pytest.mark.filterwarnings("ignore:The gradients are all zero")
@pytest.mark.parametrize("name", [*BINARY, *UNARY])
@given(first=matrices, second=matrices, sign=st.sampled_from([-1, 1]))
def test_operator_equals_the_operation_and_its_gradient(
    name: str, first: Arrays, second: Arrays, sign: int
) -> None:
    operands = (Tensor(first), Tensor(second)) if name in BINARY else (Tensor(first) * sign,)
    by = tuple(range(len(operands)))

    def outcome(function: Callable[..., Tensor]) -> str:
        def total(*xs: Tensor) -> Tensor:
            return function(*xs).astype(ms.float32).sum()

        return repr((function(*operands), grad(total, by)(*operands)))

    assert outcome(BINARY.get(name) or UNARY[name]) == outcome(getattr(ops, name))
    assert +operands[0] is operands[0]


# Where tensors come from.


def test_constant_operand_may_be_any_tensor_argument() -> None:
    array = np.ones(2, np.float32)
    made = [
        Tensor(array),
        Tensor.from_numpy(array),
        tensor(array),
        tensor_of(array),
        Parameter(array).value(),
        Tensor(shape=2, dtype=ms.float32, init=One()),
    ]
    assert [x._node for x in made] == [None] * len(made)

    def total(y: Tensor) -> Tensor:
        return sum(((x * y).sum() for x in made), Tensor(0.0))

    assert grad(total)(Tensor(1.0)).item() == 12.0


def test_tensor_with_initializer_is_filled_in_place() -> None:
    initialized: list[Arrays] = []

    def first(array: Arrays) -> None:
        initialized.append(array.copy())
        array[0] = 2**31 - 1

    for make in (Tensor, tensor):
        x = make(shape=(2, 1), dtype=ms.int32, init=first)
        assert (x.dtype, x.tolist()) == (ms.int32, [[2**31 - 1], [0]])
        assert same(initialized.pop(), np.zeros((2, 1), np.int32))


def test_tensor_function_returns_tensors() -> None:
    assert tensor([1, 2], ms.float16).dtype is ms.float16


# The two names of an argument, and values that are not its defaults.
BOTH: dict[tuple[str, str], object] = {
    ("axis", "dim"): 1,
    ("keepdims", "keepdim"): True,
    ("keep_dims", "keepdim"): True,
    ("ddof", "correction"): 2,
    ("other", "divisor"): 2,
    ("other", "x"): 2,
}
FURTHER: dict[str, object] = {
    "split_size_or_sections": 1,
    "chunks": 1,
    "index": Tensor([0]),
    "source": Tensor([0.0]),
}


def methods() -> Iterator[tuple[str, tuple[str, str]]]:
    for name, method in vars(Tensor).items():
        if callable(method) and not name.startswith("_"):
            names = inspect.signature(method).parameters
            yield from ((name, both) for both in BOTH if {*both} <= {*names})


@pytest.mark.parametrize(("name", "both"), [*methods()])
def test_argument_given_by_both_of_its_names_is_refused(name: str, both: tuple[str, str]) -> None:
    method: Callable[..., object] = getattr(Tensor([1.0]), name)
    accepted = inspect.signature(method).parameters
    others = {parameter: value for parameter, value in FURTHER.items() if parameter in accepted}
    message = f"^For '{name}', an argument was given by both of its names: (.+) and \\1\\.$"
    with pytest.raises(TypeError, match=message):
        method(**others, **dict.fromkeys(both, BOTH[both]))


@pytest.mark.parametrize("name", ["add", "add_", "sub", "sub_"])
def test_alpha_is_a_number_of_the_operands_kind(name: str) -> None:
    method: Callable[..., object] = getattr(Tensor([1]), name)
    with pytest.raises(TypeError, match=f"^For '{name}', .*'alpha' must be one of int, float"):
        method(1, alpha="a")
    with pytest.raises(TypeError, match=f"^For '{name}', the argument 'alpha' must be an int for"):
        method(1, alpha=0.5)
