"""numpy's functions of tensors are differentiable or raise an error."""

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import minispore as ms
from minispore import Parameter, Tensor, nn, ops
from minispore.ops import _numpy_protocol
from minispore.testing import gradcheck

Function = Callable[..., Any]

# Of one tensor of shape (2, 3) with elements above 0.
SAME_NAMES = """
    abs absolute negative exp expm1 log1p log2 log10 exp2 reciprocal sinh cosh ceil trunc log
    sqrt square sign sin cos tan atan asinh arctan arcsinh tanh floor rint round isnan isinf
    isfinite min ravel
"""
OF_ONE: dict[str, Function] = {
    **{name: getattr(np, name) for name in SAME_NAMES.split()},
    "asin": lambda x: np.asin(x / 4.0),
    "acos": lambda x: np.acos(x / 4.0),
    "acosh": lambda x: np.acosh(x + 1.0),
    "atanh": lambda x: np.atanh(x / 4.0),
    "arcsin": lambda x: np.arcsin(x / 4.0),
    "arccos": lambda x: np.arccos(x / 4.0),
    "arccosh": lambda x: np.arccosh(x + 1.0),
    "arctanh": lambda x: np.arctanh(x / 4.0),
    "clip": lambda x: np.clip(x, 0.5, 1.5),
    "sum": lambda x: np.sum(x, axis=1, keepdims=True),
    "mean": lambda x: np.mean(x, 0),
    "max": lambda x: np.max(x, axis=1),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x, 0),
    "var": lambda x: np.var(x, axis=1, ddof=1),
    "std": lambda x: np.std(x, 0, keepdims=True),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "transpose": lambda x: np.transpose(np.transpose(np.expand_dims(x, 0)), (2, 0, 1)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "squeeze": lambda x: np.squeeze(np.reshape(x, (1, 6, 1)), (0, 2)),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)),
    "concatenate": lambda x: np.concatenate((x, np.ones((2, 3), np.float32), x * 2.0), axis=1),
    "stack": lambda x: np.stack([x, x * 2.0], axis=1),
    "dot": lambda x: np.dot(x, np.ones((3, 2), np.float32)),
    "where": lambda x: np.where(np.isfinite(x), x, 0.0),
    "maximum": lambda x: np.maximum(x, 1.0),
    "minimum": lambda x: np.minimum(np.ones((2, 3), np.float32), x),
    "shape": lambda x: np.zeros(np.shape(x), np.float32) + x,
    "ndim": lambda x: np.ndim(x) * x,
}
CONSTANT = {
    *("floor", "ceil", "trunc", "rint", "round", "sign", "isnan", "isinf", "isfinite"),
    *("argmax", "argmin"),
}

values = st.integers(0, 2**31).map(
    lambda seed: np.random.default_rng(seed).permutation(np.arange(1, 13))[:6].reshape(2, 3) / 4.0
)


def computed(function: Function, x: Tensor) -> Tensor:
    """The value of `function` where its argument is being differentiated."""
    results: list[object] = []

    def fn(x: Tensor) -> Tensor:
        results.append(function(x))
        return x.sum()

    ms.grad(fn)(x)
    assert isinstance(results[0], Tensor)
    return results[0]


def test_all_supported_numpy_functions_have_cases() -> None:
    assert set(OF_ONE) == set(_numpy_protocol._FUNCTIONS)


@pytest.mark.parametrize("name", OF_ONE)
@given(array=values)
def test_value_equals_numpys(name: str, array: NDArray[np.float64]) -> None:
    function = OF_ONE[name]
    expected = np.asarray(function(array))
    actual = computed(function, Tensor(array))
    np.testing.assert_allclose(np.asarray(actual, np.float64), expected, rtol=1e-12)
    # Where nothing is differentiated the result is numpy's.
    plain = function(Tensor(array))
    assert np.sum(a=Tensor(array)) == array.sum()
    if name not in {"shape", "ndim"}:
        assert isinstance(plain, np.ndarray | np.generic)
        np.testing.assert_array_equal(np.asarray(plain), expected)


@pytest.mark.parametrize("name", sorted(set(OF_ONE) - CONSTANT))
@given(array=values)
def test_gradient_passes_gradcheck(name: str, array: NDArray[np.float64]) -> None:
    # Away from the corners of clip, maximum and minimum.
    function = OF_ONE[name]
    # Where nothing is differentiated, as in finite differences, `function` gives an array.
    gradcheck(lambda x: ops.square(Tensor(function(x))), Tensor(array + 0.1))


@pytest.mark.parametrize("name", sorted(CONSTANT))
def test_nondifferentiable_functions_have_no_gradient(name: str) -> None:
    function = OF_ONE[name]
    x = Tensor([[1.25, 2.5, 0.75], [3.5, 1.5, 2.25]])

    def fn(x: Tensor) -> Tensor:
        constant: Tensor = function(x)
        return x.sum() + ops.cast(constant, ms.float32).sum()

    actual = ms.grad(fn)(x)
    np.testing.assert_array_equal(actual.asnumpy(), np.ones((2, 3), np.float32))


UNKNOWN: dict[str, Function] = {
    "cbrt": np.cbrt,
    "cumsum": np.cumsum,
    "linalg.norm": lambda x: np.linalg.norm(np.asarray(x)),
    "svd": np.linalg.svd,
    "add reduced": np.add.reduce,
    "exp with where": lambda x: np.exp(x, where=np.array([True, False])),
    "sum with dtype": lambda x: np.sum(x, dtype=np.float64),
    "var in numpy's order": lambda x: np.var(x, 0, np.float64),
    "dot of three axes": lambda x: np.dot(np.reshape(x, (1, 1, 2)), x),
    "median": np.median,
    "median by name": lambda x: np.median(a=x),
    "array": np.array,
    "asarray": np.asarray,
    "array of a list": lambda x: np.array([x, x]),
    "array of items": lambda x: np.array([x[0], x[1]]),
    "add in place": lambda x: np.add(np.ones(2), x, out=np.ones(2)),
    "out": lambda x: np.exp(np.ones(2, np.float32), out=x),
    "Tensor of a list": lambda x: Tensor([x[0], x[1]]),
    "operand": lambda x: x * [x[0], 2.0],
    "block": lambda x: np.block([x, x]),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unsupported_numpy_function_error_suggests_stop_gradient(name: str) -> None:
    def fn(x: Tensor) -> Tensor:
        UNKNOWN[name](x)
        return x.sum()

    message = "stop_gradient" if name != "out" else "returned NotImplemented"
    with pytest.raises(TypeError, match=message) as caught:
        ms.grad(fn)(Tensor([1.0, 2.0]))
    named = re.match("For numpy's '(.*)' of a tensor", str(caught.value))
    assert named is None or named[1] == name.partition(" ")[0]


def test_parameters_are_differentiated_too() -> None:
    dense = nn.Dense(2, 1)

    def fn(x: Tensor) -> Tensor:
        return (dense(x) * float(np.sum(np.asarray(dense.weight)))).sum()

    with pytest.raises(TypeError, match="does not become a numpy array implicitly"):
        ms.value_and_grad(fn, None, dense.trainable_params())(Tensor([[1.0, 2.0]]))
    assert np.asarray(dense.weight).shape == (1, 2)


def test_unrecorded_tensors_convert_to_arrays() -> None:
    constant = Tensor([3.0, 4.0])

    def fn(x: Tensor) -> Tensor:
        stopped = ops.stop_gradient(x)
        return (
            x * Tensor(sum(np.asarray(y, np.float32) for y in (constant, stopped, x.asnumpy())))
        ).sum()

    assert ms.grad(fn)(Tensor([1.0, 2.0])).tolist() == [5.0, 8.0]


@given(array=values)
def test_tensor_of_a_tensor_is_differentiable(array: NDArray[np.float64]) -> None:
    gradcheck(lambda x: Tensor(x) * Tensor(x, ms.float64), Tensor(array))
    assert ms.grad(lambda x: Parameter(x) * x)(Tensor([3.0])).tolist() == [3.0]


BITWISE = ["and_", "or_", "xor"]
ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]


@pytest.mark.parametrize("name", [*ARITHMETIC, *BITWISE, "eq", "ne", "lt", "le", "gt", "ge"])
@given(a=values, b=values)
def test_operator_of_array_and_tensor_returns_a_tensor(
    name: str, a: NDArray[np.float64], b: NDArray[np.float64]
) -> None:
    function: Function = getattr(operator, name)
    dtype = np.int64 if name in BITWISE else np.float64
    left, right = a.astype(dtype), (b.T if name == "matmul" else b).astype(dtype)
    expected = np.asarray(function(left, right))
    for x, y in ((left, Tensor(right)), (Tensor(left), right)):
        actual = function(x, y)
        assert isinstance(actual, Tensor)
        np.testing.assert_allclose(np.asarray(actual, np.float64), expected, rtol=1e-12)


def test_in_place_operator_on_array_keeps_the_array() -> None:
    array = np.array([1.0, 2.0], np.float32)
    same = array
    array += Tensor([1.0, 1.0])
    assert array is same
    assert array.tolist() == [2.0, 3.0]
