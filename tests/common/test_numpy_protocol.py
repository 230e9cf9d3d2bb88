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
from minispore.ops import _numpy_functions
from minispore.testing import gradcheck

Function = Callable[..., Any]

# Of one tensor of shape (2, 3) with elements above 0.
SAME_NAMES = """
    abs absolute negative exp expm1 log1p log2 log10 exp2 reciprocal sinh cosh ceil trunc log
    sqrt square sign sin cos tan atan asinh arctan arcsinh tanh floor rint round isnan isinf
    isfinite min ravel positive fabs degrees radians deg2rad rad2deg logical_not amax amin prod any
    all count_nonzero ptp cumprod argsort copy diagonal trace atleast_1d atleast_2d atleast_3d
    flipud fliplr matrix_transpose diagflat nan_to_num
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
    "dot": lambda x: np.dot(np.dot(x, np.ones((3, 2), np.float32)), np.ones((4, 2, 3))),
    "inner": lambda x: np.inner(x, np.ones((4, 2, 3)) * x),
    "vdot": lambda x: np.vdot(x, x * 2.0),
    "outer": lambda x: np.outer(x, x[0]),
    "tensordot": lambda x: (
        np.tensordot(x, np.ones((3, 4, 2)), ((0, -1), (2, 0))) * np.tensordot(x, x)
    ),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "kron": lambda x: np.kron(x, x[:1]),
    "cross": lambda x: np.cross(x, x[0] + 1.0),
    "linalg.matmul": lambda x: np.linalg.matmul(x, np.transpose(x)),
    "linalg.matrix_transpose": np.linalg.matrix_transpose,
    "linalg.outer": lambda x: np.linalg.outer(x[0], x[1]),
    "linalg.svdvals": np.linalg.svdvals,
    "meshgrid": lambda x: np.meshgrid(x[0], x[1])[1],
    "zeros_like": lambda x: np.zeros_like(x),
    "ones_like": lambda x: np.ones_like(x),
    "full_like": lambda x: np.full_like(x, 7),
    "linalg.norm": lambda x: np.linalg.norm(x, axis=1) + np.linalg.norm(x, 2),
    "linalg.det": lambda x: np.linalg.det(x[:, :2]),
    "linalg.slogdet": lambda x: np.linalg.slogdet(x[:, :2] @ np.transpose(x[:, :2]) + np.eye(2))[1],
    "linalg.inv": lambda x: np.linalg.inv(x[:, :2] + 4.0 * np.eye(2)),
    "linalg.cholesky": lambda x: np.linalg.cholesky(x @ np.transpose(x) + np.eye(2)),
    "linalg.qr": lambda x: np.linalg.qr(np.transpose(x))[1],
    "linalg.svd": lambda x: np.linalg.svd(x, full_matrices=False)[1],
    "arctan2": lambda x: np.arctan2(x, 1.5),
    "fmod": lambda x: np.fmod(-x, 1.7),
    "logaddexp": lambda x: np.logaddexp(x, 1.0),
    "logical_and": lambda x: np.logical_and(x, x > 1.0),
    "logical_or": lambda x: np.logical_or(x, x > 1.0),
    "logical_xor": lambda x: np.logical_xor(x, x > 1.0),
    "isclose": lambda x: np.isclose(x, np.ones(3), rtol=0.5),
    "allclose": lambda x: np.allclose(x, x) * x,
    "average": lambda x: np.average(x, 1, weights=np.array([1.0, 2.0, 3.0])) + np.average(x),
    "median": lambda x: np.median(x) + np.median(x, axis=1, keepdims=True),
    "cumsum": lambda x: np.cumsum(x) + np.cumsum(x, 1)[0, 0],
    "diff": lambda x: np.diff(x, 2, axis=1),
    "sort": lambda x: np.sort(x, 0),
    "searchsorted": lambda x: np.searchsorted(np.array([1.0, 2.0]), x, "right"),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "vstack": lambda x: np.vstack([x, x[0] * 2.0]),
    "hstack": lambda x: np.hstack([x, x * 2.0]),
    "dstack": lambda x: np.dstack([x, x * 2.0]),
    "column_stack": lambda x: np.column_stack([x, x[:, 0]]),
    "append": lambda x: np.append(np.append(x, x[:1], axis=0), np.ones(2)),
    "split": lambda x: np.split(x, 3, axis=1)[1],
    "array_split": lambda x: np.array_split(x, [1, 2], 1)[2] * np.array_split(x, 2, axis=1)[1],
    "vsplit": lambda x: np.vsplit(x, 2)[1],
    "hsplit": lambda x: np.hsplit(x, 3)[1] * np.hsplit(x[0], 3)[0],
    "dsplit": lambda x: np.dsplit(x[None], 3)[1],
    "tile": lambda x: np.tile(np.tile(x, 2), (2, 1)),
    "repeat": lambda x: np.repeat(np.repeat(x, [1, 2], axis=0), 2),
    "flip": lambda x: np.flip(np.flip(x), 1),
    "roll": lambda x: np.roll(np.roll(x, 1), -1, axis=1),
    "take": lambda x: np.take(x, np.array([0, 2]), axis=1) * np.take(x, 4),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[0], [2]]), axis=1),
    "nonzero": lambda x: np.nonzero(x)[1],
    "tril": lambda x: np.tril(x, -1),
    "triu": lambda x: np.triu(x, k=1),
    "diag": lambda x: np.diag(np.diag(x), 1),
    "size": lambda x: np.size(x) * np.size(x, 1) * x,
    "where": lambda x: np.where(np.isfinite(x), x, 0.0),
    "maximum": lambda x: np.maximum(x, 1.0),
    "minimum": lambda x: np.minimum(np.ones((2, 3), np.float32), x),
    "shape": lambda x: np.zeros(np.shape(x), np.float32) + x,
    "ndim": lambda x: np.ndim(x) * x,
}
CONSTANT = {
    *("floor", "ceil", "trunc", "rint", "round", "sign", "isnan", "isinf", "isfinite"),
    *("argmax", "argmin", "argsort", "searchsorted", "nonzero", "count_nonzero", "any", "all"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "isclose"),
    *("zeros_like", "ones_like", "full_like"),
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
    assert set(OF_ONE) == set(_numpy_functions.FUNCTIONS)


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
    if name not in {"shape", "ndim", "size", "allclose"}:
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
    "cumsum with dtype": lambda x: np.cumsum(x, dtype=np.float64),
    "linalg.eigh": lambda x: np.linalg.eigh(np.diag(x)),
    "linalg.diagonal": lambda x: np.linalg.diagonal(np.diag(x)),
    "add reduced": np.add.reduce,
    "exp with where": lambda x: np.exp(x, where=np.array([True, False])),
    "sum with dtype": lambda x: np.sum(x, dtype=np.float64),
    "var in numpy's order": lambda x: np.var(x, 0, np.float64),
    "quantile": lambda x: np.quantile(x, 0.5),
    "quantile by name": lambda x: np.quantile(a=x, q=0.5),
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
