"""Inverses, determinants and decompositions: their products, gradients at limits, and refusals."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minispore import Tensor, grad, ops
from minispore.testing import gradcheck

Floats = NDArray[np.float64]
sides = st.integers(1, 4)


@st.composite
def matrices(draw: st.DrawFn) -> Tensor:
    shape = (*draw(st.sampled_from([(), (2,), (0,)])), draw(sides), draw(sides))
    return Tensor(np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape))


def close(actual: Tensor, expected: Tensor | Floats) -> None:
    np.testing.assert_allclose(actual.asnumpy(), np.asarray(expected), atol=1e-10)


def identity(like: Tensor) -> Floats:
    return np.broadcast_to(np.eye(like.shape[-1]), (*like.shape[:-2], *like.shape[-1:] * 2))


@given(x=matrices(), complete=st.booleans())
def test_product_of_qr_is_the_matrix(x: Tensor, complete: bool) -> None:
    q, r = ops.qr(x, "complete" if complete else "reduced")
    rows, columns = x.shape[-2:]
    count = rows if complete else min(rows, columns)
    assert (q.shape[-2:], r.shape[-2:]) == ((rows, count), (count, columns))
    close(q @ r, x)
    close(q.mT @ q, identity(q))
    close(ops.tril(r, -1), np.zeros(r.shape))


@given(x=matrices(), full=st.booleans())
def test_product_of_svd_is_the_matrix(x: Tensor, full: bool) -> None:
    values, u, v = ops.svd(x, full)
    rows, columns = x.shape[-2:]
    count = min(rows, columns)
    assert values.shape == (*x.shape[:-2], count)
    assert (u.shape[-1], v.shape[-1]) == ((rows, columns) if full else (count, count))
    close(ops.expand_dims(values, -2) * u[..., :count] @ v[..., :count].mT, x)
    close(u.mT @ u, identity(u))
    close(v.mT @ v, identity(v))
    close(ops.svd(x, full, compute_uv=False), values)


@given(seed=st.integers(0, 99), side=sides, upper=st.booleans())
def test_functions_of_a_definite_matrix_agree(seed: int, side: int, upper: bool) -> None:
    factor = Tensor(np.random.default_rng(seed).normal(size=(2, side, side)) + 2 * np.eye(side))
    x = factor @ factor.mT + Tensor(0.1 * np.eye(side))
    triangle = ops.cholesky(x, upper)
    close(triangle.mT @ triangle if upper else triangle @ triangle.mT, x)
    close(x @ ops.inverse(x), identity(x))
    sign, logarithm = ops.slogdet(x)
    close(sign * ops.exp(logarithm) / ops.det(x), np.ones(2))
    close(ops.logdet(x), logarithm)
    assert np.isnan(ops.logdet(x[:, :1, :1] * -1.0).asnumpy()).all()


@pytest.mark.parametrize("rows", [2, 3])
def test_gradients_of_wide_and_tall_matrices_pass_gradcheck(rows: int) -> None:
    x = Tensor(np.random.default_rng(0).normal(size=(rows, 5 - rows)))
    weights = Tensor(np.random.default_rng(1).normal(size=(rows, 5 - rows)))

    def of_svd(x: Tensor) -> Tensor:
        _, u, v = ops.svd(x)
        return (u @ v.mT * weights).sum()

    def of_qr(x: Tensor) -> Tensor:
        q, r = ops.qr(x)
        return (q[:, :1] * r[:1] * weights).sum() + (r * r).sum()

    for function in (of_svd, of_qr):
        gradcheck(function, x)
        gradcheck(grad(function), x)


SINGULAR = Tensor([[1.0, 2.0], [2.0, 4.0]])
# Where a derivative or an inverse does not exist; zeros or other numbers would be wrong.
WITHOUT: dict[str, tuple[Callable[[Tensor], Tensor], str]] = {
    "inverse": (ops.inverse, "^For 'inverse', the matrices must be invertible"),
    "det": (ops.det, "^The gradient of a determinant or decomposition needs the inverse"),
    "slogdet": (lambda x: ops.slogdet(x)[1], "^The gradient of a determinant or decomposition"),
    "qr": (lambda x: ops.qr(x * 0.0)[0], "^The gradient of a determinant or decomposition"),
    "cholesky": (ops.cholesky, "^For 'cholesky', the matrices must be symmetric and positive"),
    "complete": (lambda x: ops.qr(x[:, :1], "complete")[0], "^For 'qr', the further columns"),
    "full": (lambda x: ops.svd(x[:1], True)[1], "^For 'svd', the further columns"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_what_a_singular_matrix_has_not_is_refused(name: str) -> None:
    function, message = WITHOUT[name]
    with pytest.raises(RuntimeError, match=message):
        grad(function)(SINGULAR - Tensor(np.eye(2)) * (name == "cholesky"))
    if name in {"det", "slogdet", "qr", "complete", "full"}:
        assert isinstance(function(SINGULAR), Tensor)


def test_cholesky_refuses_matrices_that_are_not_symmetric() -> None:
    assert ops.cholesky(Tensor([[4.0, 2.0], [2.001, 2.0]])).shape == (2, 2)
    with pytest.raises(RuntimeError, match="^For 'cholesky', the matrices must be symmetric, but"):
        ops.cholesky(Tensor([[4.0, 2.0], [2.1, 2.0]]))
