"""Reductions of one, two or all axes equal numpy's, in values, shapes and kinds of types."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minispore import Tensor, ops

Axes = int | tuple[int, ...] | None
Ours = Callable[[Tensor, Axes, bool], Tensor]
# numpy's annotations tell the values of `keepdims` apart.
Theirs = Callable[..., object]
argmin: Callable[..., npt.NDArray[np.intp]] = np.argmin
total: Callable[..., npt.NDArray[np.float64]] = np.sum


def logsumexp(x: npt.NDArray[np.float64], axis: Axes, *, keepdims: bool) -> object:
    return np.log(total(np.exp(x), axis, keepdims=keepdims))


REDUCTIONS: dict[str, tuple[Ours, Theirs]] = {
    "sum": (lambda x, a, k: ops.sum(x, a, k), np.sum),
    "mean": (lambda x, a, k: ops.mean(x, a, k), np.mean),
    "prod": (lambda x, a, k: ops.prod(x, a, k), np.prod),
    "amax": (lambda x, a, k: ops.amax(x, a, k), np.max),
    "amin": (lambda x, a, k: ops.amin(x, a, k), np.min),
    "std": (lambda x, a, k: ops.std(x, a, 0, k), np.std),
    "var": (lambda x, a, k: ops.var(x, a, 0, k), np.var),
    "logsumexp": (lambda x, a, k: ops.logsumexp(x, a, k), logsumexp),
    "all": (lambda x, a, k: ops.all(x, a, k), np.all),
    "any": (lambda x, a, k: ops.any(x, a, k), np.any),
    "count_nonzero": (lambda x, a, k: ops.count_nonzero(x, a, k), np.count_nonzero),
}
shapes = hnp.array_shapes(min_dims=2, max_dims=4, min_side=1, max_side=3)


@pytest.mark.parametrize("name", REDUCTIONS)
@given(data=st.data(), shape=shapes, keep=st.booleans())
def test_reductions_equal_those_of_numpy(
    name: str, data: st.DataObject, shape: tuple[int, ...], keep: bool
) -> None:
    ours, theirs = REDUCTIONS[name]
    x = data.draw(hnp.arrays(np.float64, shape, elements=st.integers(-3, 3)))
    axes = data.draw(st.none() | hnp.valid_tuple_axes(len(shape), min_size=1))
    expected = np.asarray(theirs(x, axes, keepdims=keep))
    result = ours(Tensor(x), axes, keep).asnumpy()
    assert result.dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    assert result.shape == expected.shape


@given(data=st.data(), shape=shapes, keep=st.booleans())
def test_extrema_with_indices_are_those_of_one_axis(
    data: st.DataObject, shape: tuple[int, ...], keep: bool
) -> None:
    """For several axes, MindSpore returns no indices."""
    x = Tensor(data.draw(hnp.arrays(np.float64, shape, elements=st.integers(-3, 3))))
    axes = data.draw(hnp.valid_tuple_axes(len(shape), min_size=1))
    several = x.max(axes, keep, return_indices=True)
    assert several.tolist() == x.amax(axes, keep).tolist()
    values, indices = x.min(axes[0], keep, return_indices=True)
    assert values.tolist() == x.amin(axes[0], keep).tolist()
    assert indices.tolist() == argmin(x.asnumpy(), axes[0], keepdims=keep).tolist()


@given(data=st.data(), shape=shapes, keep=st.booleans())
def test_norms_equal_those_of_numpy(
    data: st.DataObject, shape: tuple[int, ...], keep: bool
) -> None:
    x = data.draw(hnp.arrays(np.float64, shape, elements=st.integers(-3, 3)))
    axes = data.draw(hnp.valid_tuple_axes(len(shape), min_size=1, max_size=2))
    matrix = len(axes) == 2
    orders: list[float | str | None] = [1, -1, np.inf, -np.inf, "fro" if matrix else 2]
    order = data.draw(st.sampled_from(orders if matrix else [*orders, None, 0, 3, 2.5]))
    axis = axes if matrix else axes[0]
    with np.errstate(divide="ignore"):
        expected = np.asarray(np.linalg.norm(x, order, axis, keepdims=keep))  # type: ignore[arg-type]
        result = ops.norm(Tensor(x), order, axis, keep).asnumpy()
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert result.shape == expected.shape


@given(data=st.data(), stack=hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
def test_products_of_stacks_of_matrices_equal_those_of_numpy(
    data: st.DataObject, stack: tuple[int, ...]
) -> None:
    rows, inner, columns = data.draw(st.tuples(*[st.integers(1, 3)] * 3))
    x = data.draw(hnp.arrays(np.float64, (*stack, rows, inner), elements=st.integers(-3, 3)))
    y = data.draw(hnp.arrays(np.float64, (*stack, inner, columns), elements=st.integers(-3, 3)))
    result = ops.bmm(Tensor(x), Tensor(y))
    assert np.array_equal(result.asnumpy(), x @ y)
