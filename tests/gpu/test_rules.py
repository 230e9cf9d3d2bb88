"""Rules and operations on a GPU, compared with numpy's results."""

from typing import cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minispore import Tensor, grad, ops
from minispore.engine.array import Array, current_namespace, from_host, is_ndarray, to_host
from minispore.utils.checks import map_items
from tests.helpers.rule_cases import CASES, Case, Floats, expected_of

pytestmark = pytest.mark.gpu
TOLERANCE = {np.float16: 1e-2, np.float32: 1e-4, np.float64: 1e-10}


def on_card(arg: object) -> object:
    """Return an argument with its index arrays on the device."""
    return from_host(arg) if is_ndarray(arg) else map_items(on_card, arg)


# The signs of singular vectors are arbitrary.
UNIQUE = CASES.keys() - {"decompositions.svd"}


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        pytest.param(CASES[name], dtype, id=f"{name} {dtype.__name__}")
        for name in sorted(UNIQUE)
        for dtype in TOLERANCE
        if dtype in CASES[name].dtypes
    ],
)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_rule(
    card: str, case: Case, dtype: type[np.floating], data: st.DataObject, seed: int
) -> None:
    drawn = data.draw(case.drawn)
    operands, gradient, expected = expected_of(case, drawn, dtype, np.random.default_rng(seed))
    there, their_pullbacks = case([from_host(x) for x in operands], tuple(map(on_card, drawn[1])))
    seed_there = cast("Floats", from_host(gradient))
    found = [there, *[None if p is None else p(seed_there) for p in their_pullbacks]]
    within = TOLERANCE[dtype]
    for mine, numpys in zip(found, expected, strict=True):
        assert (mine is None) == (numpys is None)
        if mine is not None and numpys is not None:
            host = to_host(cast("Array", mine))
            assert (host.shape, host.dtype) == (np.shape(numpys), numpys.dtype)
            np.testing.assert_allclose(
                host.astype(np.float64), numpys.astype(np.float64), rtol=within, atol=within
            )


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.int32, np.int64, np.uint8, np.float16, np.float32, np.float64]
)
def test_equal_indices_accumulate(card: str, dtype: type[np.generic]) -> None:
    values = np.array([1, 0, 1, 1], dtype)
    index = (np.array([2, 0, 2, 1]),)
    found = current_namespace().scatter_add(
        from_host(values), index=tuple(map(on_card, index)), shape=(4,)
    )
    expected = np.zeros(4, dtype)
    np.add.at(expected, cast("list[int]", index), values)
    np.testing.assert_array_equal(to_host(found), expected)


def test_scalars_take_the_dtype_of_the_array(card: str) -> None:
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.int64):
        x = Tensor(np.ones(3, dtype))
        for y in (x + 1, 2 * x, x - 1, x * x, ops.maximum(x, 0)):
            assert y.asnumpy().dtype == dtype
    assert (Tensor([1, 2]) * 0.5).asnumpy().dtype == np.float32


def test_reduction_returns_a_device_array_without_axes(card: str) -> None:
    x = Tensor(np.ones((3, 4), np.float32))
    for total in (x.sum(), x.mean(), x.max(), ops.logsumexp(x, (0, 1)), x[0, 0]):
        assert (total.shape, total.device) == ((), "GPU:0")


def test_masks_and_assignments(card: str) -> None:
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    x[x > 3] = 0
    x[0, 1:] = Tensor([7.0, 8.0])
    assert x.tolist() == [[0.0, 7.0, 8.0], [3.0, 0.0, 0.0]]
    assert x[[1, 0], [0, 2]].tolist() == [3.0, 8.0]


def test_second_derivatives(card: str) -> None:
    def f(x: Tensor) -> Tensor:
        return (ops.tanh(x) * ops.exp(x)).sum()

    x = np.linspace(-1, 1, 7, dtype=np.float32)
    found = grad(lambda x: grad(f)(x).sum())(Tensor(x)).asnumpy()
    t = np.tanh(x)
    slope, curve = 1 - t * t, -2 * t * (1 - t * t)
    np.testing.assert_allclose(
        found.astype(np.float64), np.exp(x) * (t + 2 * slope + curve), rtol=1e-4, atol=1e-5
    )
