"""Parameters: names, memory, copies and tuples."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore as ms
from minispore import Parameter, ParameterTuple, Tensor, grad, nn
from minispore.common.dtype import from_array_dtype
from minispore.common.initializer import One, initializer
from minispore.ops.parameter import parameter_from_memory
from tests.common.strategies import Arrays, arrays


@pytest.fixture
def weight() -> Parameter:
    return Parameter(Tensor([1.0, 2.0]), name="weight")


@given(arrays())
def test_parameter_copies_its_values(array: Arrays) -> None:
    for values in (array, Tensor(array), Tensor.from_numpy(array)):
        p = Parameter(values, name="p")
        assert p.asnumpy().tobytes() == array.tobytes()
        assert not np.shares_memory(p.asnumpy(), array)


def test_parameter_of_a_python_int_is_int32() -> None:
    """As in MindSpore; a tensor of one is int64."""
    assert Parameter(1).dtype is ms.int32
    assert Parameter([1]).dtype is ms.int64
    assert Parameter(1.0).dtype is ms.float32


def test_parameter_names() -> None:
    first, second = Parameter(Tensor(1.0)), Parameter(Tensor(1.0), name="")
    assert first.has_default_name
    assert second.has_default_name
    assert first.name != second.name
    first.name = "weight"
    assert (first.name, first.has_default_name) == ("weight", False)
    with pytest.raises(ValueError, match=r"'name' must be a string or None, but got 3 of type int"):
        Parameter(Tensor(1.0), name=3)  # type: ignore[arg-type]


def test_parameter_from_memory_does_not_copy() -> None:
    x = Tensor([1.0, 2.0])
    p = parameter_from_memory(x, "weight")
    assert repr(p) == repr(Parameter(x, name="weight"))
    assert (p.requires_grad, p.has_default_name) == (True, False)
    assert np.shares_memory(p.asnumpy(), x.asnumpy())


def test_operations_on_parameters_return_tensors(weight: Parameter) -> None:
    for result in (weight + 1, -weight, weight[0], weight.sum(), weight.T, weight.value()):
        assert type(result) is Tensor


def test_parameter_without_requires_grad_is_a_constant(weight: Parameter) -> None:
    def f(x: Tensor) -> Tensor:
        return (x * weight).sum()

    assert grad(f, None, weight)(Tensor(3.0)).tolist() == [3.0, 3.0]
    weight.requires_grad = False
    assert grad(f)(Tensor(3.0)).item() == 3.0
    with pytest.raises(TypeError, match="'requires_grad' must be a bool, but got 1"):
        weight.requires_grad = 1  # type: ignore[assignment]


@given(arrays(), st.booleans())
def test_set_data_copies_and_keeps_the_dtype(array: Arrays, same: bool) -> None:
    p = Parameter(Tensor([1.0], from_array_dtype(array.dtype) if same else ms.float64))
    dtype, x = p.dtype, Tensor(array)
    assert p.set_data(x) is p
    assert p.dtype is dtype
    assert p.asnumpy().tobytes() == array.astype(dtype.numpy_dtype).tobytes()
    assert (p.shape, np.shares_memory(p.asnumpy(), x.asnumpy())) == (x.shape, False)
    p.data = Tensor([5])
    assert p.tolist() == Tensor([5], dtype).tolist()


def test_set_data_needs_a_tensor_or_number(weight: Parameter) -> None:
    for wrong in ([1.0], np.ones(2), "a", None):
        with pytest.raises(TypeError, match="For 'set_data', the type of 'data'"):
            weight.set_data(wrong)  # type: ignore[arg-type]
    assert weight.tolist() == [1.0, 2.0]


def test_requires_grad_that_is_set_again_keeps_the_node(weight: Parameter) -> None:
    def f(x: Tensor) -> Tensor:
        weight.requires_grad = True
        return x * weight

    assert grad(f, None, weight)(Tensor(3.0)).tolist() == [3.0, 3.0]


def test_data_shares_memory(weight: Parameter) -> None:
    weight.data[0] = 9.0
    assert weight.tolist() == [9.0, 2.0]
    assert not isinstance(weight.data, Parameter)


def test_assignment_to_parameter_is_not_recorded(weight: Parameter) -> None:
    def f(x: Tensor) -> Tensor:
        weight[0] = x
        weight.add_(1)
        return (weight * x).sum()

    assert grad(f)(Tensor(3.0)).item() == 4.0 + 3.0
    assert weight.tolist() == [4.0, 3.0]


def test_clone_has_the_name_and_new_memory(weight: Parameter) -> None:
    weight.requires_grad = False
    for clone in (weight.clone(), weight.copy(), copy.copy(weight), copy.deepcopy(weight)):
        assert repr(clone) == repr(weight)
        assert not clone.has_default_name
        assert clone.tolist() == weight.tolist()
        assert not np.shares_memory(clone.asnumpy(), weight.asnumpy())
    assert repr(pickle.loads(pickle.dumps(weight))) == repr(weight)
    assert weight.clone("zeros").tolist() == [0.0, 0.0]
    assert weight.clone(One()).tolist() == weight.clone(1).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="foo"):
        weight.clone("foo")


def test_clone_without_name_is_named_by_its_cell() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.scale = copy.deepcopy(Parameter(Tensor(1.0)))
            self.shift = pickle.loads(pickle.dumps(Parameter(Tensor(1.0))))

    assert [p.name for p in Net().get_parameters()] == ["scale", "shift"]


def test_deepcopy_keeps_shared_parameters() -> None:
    class Tied(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.one = nn.Dense(2, 2)
            self.two = nn.Dense(2, 2)
            self.two.weight = self.one.weight

    net = Tied()
    other = copy.deepcopy(net)
    assert other.one.weight is other.two.weight
    assert other.one.weight is not net.one.weight
    assert [repr(p) for p in other.get_parameters()] == [repr(p) for p in net.get_parameters()]
    other.one.weight.zero_()
    assert net.one.weight.asnumpy().any()


def test_parameter_tuple_requires_different_names(weight: Parameter) -> None:
    bias = Parameter(initializer("zeros", [2]), name="bias")
    pair = ParameterTuple([weight, bias])
    assert [p.name for p in pair] == ["weight", "bias"]
    assert [p.name for p in pair.clone("m", "ones")] == ["m.weight", "m.bias"]
    assert [p.tolist() for p in pair.clone("m", "ones")] == [[1.0, 1.0], [1.0, 1.0]]
    assert ParameterTuple((weight, weight)) == (weight, weight)
    with pytest.raises(ValueError, match="two Parameters have the name 'weight'"):
        ParameterTuple((weight, weight.clone()))
    with pytest.raises(TypeError, match="each item must be a Parameter"):
        ParameterTuple((weight, Tensor(1)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'prefix' must not be empty"):
        pair.clone("")
    with pytest.raises(TypeError, match="'prefix'"):
        pair.clone(3)  # type: ignore[arg-type]


def test_parameter_tuple_is_copied_and_pickled(weight: Parameter) -> None:
    pair = ParameterTuple([weight])
    for other in (copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert type(other) is ParameterTuple
        assert repr(other) == repr(pair)
