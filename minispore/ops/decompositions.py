"""Inverses, determinants and decompositions of matrices, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, overload

import numpy as np

from minispore.engine.array import Array, HostArray, host_check, is_host, to_device_of, to_host
from minispore.engine.dispatch import (
    apply1,
    as_float,
    cast_to,
    dtype_of,
    half_to_float32,
    is_recorded,
    shape_error,
    wrap,
)
from minispore.engine.rules import Unary, indexing
from minispore.engine.rules import decompositions as rules
from minispore.ops.arithmetic import where
from minispore.ops.linalg import matmul
from minispore.ops.manipulation import concat, swapaxes
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_bool, check_one_of

__all__ = [
    "cholesky", "det", "inverse", "log_matrix_determinant", "logdet", "matrix_determinant", "qr",
    "slogdet", "svd",
]  # fmt: skip


def inverse(input: Tensor) -> Tensor:
    """Return the inverses of square matrices.

    Args:
        input: Of shape (…, n, n); integers and bools are computed as float32.

    Returns:
        A tensor of the same shape, of a float type.

    Raises:
        ValueError: The matrices are not square.
        RuntimeError: A matrix is singular.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.inverse(Tensor([[2.0, 1.0], [0.0, 4.0]])).tolist()
        [[0.5, -0.125], [0.0, 0.25]]

    Source: MindSpore's `mindspore.ops.inverse`.
    """
    x = _square(input)
    return _apply(rules.inverse, x, "invertible")


def det(input: Tensor) -> Tensor:
    """Return the determinants of square matrices.

    Args:
        input: Of shape (…, n, n); integers and bools are computed as float32.

    Returns:
        A tensor of shape (…), of a float type.

    Raises:
        ValueError: The matrices are not square.
        RuntimeError: In the backward pass, a matrix is singular.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.det(Tensor([[2.0, 1.0], [0.0, 4.0]])).item()
        8.0

    Source: MindSpore's `mindspore.ops.det`.
    """
    return apply1(rules.det, _square(input))


matrix_determinant = det


def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """Return the signs of determinants, and the logarithms of their absolute values.

    Args:
        input: Of shape (…, n, n); integers and bools are computed as float32.

    Returns:
        Two tensors of shape (…), of a float type: the signs, 0 for a singular matrix, and the
        logarithms, -inf for a singular matrix.

    Raises:
        ValueError: The matrices are not square.
        RuntimeError: In the backward pass, a matrix is singular.

    Examples:
        >>> from minispore import Tensor, ops
        >>> sign, logarithm = ops.slogdet(Tensor([[0.0, 1.0], [1.0, 0.0]]))
        >>> sign.item(), logarithm.item()
        (-1.0, 0.0)

    Source: MindSpore's `mindspore.ops.slogdet`.
    """
    both = apply1(rules.slogdet, _square(input))
    sign, logarithm = (apply1(indexing.getitem, both, (i,)) for i in range(2))
    # The sign has no derivative.
    return wrap(sign._data, sign), logarithm


log_matrix_determinant = slogdet


def logdet(input: Tensor) -> Tensor:
    """Return the logarithms of determinants; NaN where one is negative.

    Args:
        input: Of shape (…, n, n); integers and bools are computed as float32.

    Returns:
        A tensor of shape (…), of a float type.

    Raises:
        ValueError: The matrices are not square.
        RuntimeError: In the backward pass, a matrix is singular.

    Examples:
        >>> from minispore import Tensor, ops
        >>> f"{ops.logdet(Tensor([[2.0, 1.0], [0.0, 4.0]])):.4f}"
        '2.0794'

    Source: MindSpore's `mindspore.ops.logdet`.
    """
    sign, logarithm = slogdet(_square(input))
    return where(sign < 0, float("nan"), logarithm)


def cholesky(input_x: Tensor, upper: bool = False) -> Tensor:
    """Return the Cholesky decomposition of symmetric positive definite matrices.

    Args:
        input_x: Of shape (…, n, n); integers and bools are computed as float32.
        upper: Whether to return the upper triangle.

    Returns:
        A tensor of the same shape, of a float type: the lower triangle L with L Lᵀ = `input_x`, or
        its transpose.

    Raises:
        ValueError: The matrices are not square.
        RuntimeError: A matrix is not symmetric or not positive definite.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.cholesky(Tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
        [[2.0, 0.0], [1.0, 1.0]]

    Source: MindSpore's `mindspore.ops.cholesky`.
    """
    x = _square(input_x, "input_x")
    check_bool(upper, "upper")
    # Not on a device, where the check would synchronize.
    if is_host(x._data):
        host_check(_check_symmetric, x._data)
    triangle = _apply(rules.cholesky, x, "symmetric and positive definite")
    return _transposed(triangle) if upper else triangle


def _check_symmetric(x: Array, function: str | None = None) -> None:
    values = np.asarray(to_host(x), np.float64)
    size = np.abs(values).max(initial=0.0)
    if not np.allclose(values, values.mT, rtol=0.0, atol=1e-3 * size, equal_nan=True):
        raise RuntimeError(
            f"For '{function or caller()}', the matrices must be symmetric, but one is not."
        )


def qr(input: Tensor, mode: Literal["reduced", "complete"] = "reduced") -> tuple[Tensor, Tensor]:
    """Return the QR decomposition of matrices: Q R = `input`, with orthonormal columns of Q.

    Args:
        input: Of shape (…, m, n); integers and bools are computed as float32.
        mode: "reduced" for the first k = min(m, n) columns of Q and rows of R, or "complete" for
            all m; the others have no derivative.

    Returns:
        Q of shape (…, m, k), and R of shape (…, k, n), upper triangles; with "complete" of shapes
        (…, m, m) and (…, m, n).

    Raises:
        ValueError: `input` has fewer than two axes.
        RuntimeError: In the backward pass, R has a 0 on its diagonal; or with "complete" a matrix
            has more rows than columns.

    Examples:
        >>> from minispore import Tensor, ops
        >>> q, r = ops.qr(Tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> (q @ r).asnumpy().round(4).tolist()
        [[3.0, 1.0], [4.0, 2.0]]

    Source: MindSpore's `mindspore.ops.qr`.
    """
    given = _matrices(input)
    check_one_of(mode, ("reduced", "complete"), "mode")
    x = half_to_float32(given)
    rows, columns = x.shape[-2:]
    if mode == "complete" and rows > columns:
        q, r = _on_host(x, lambda matrices: np.linalg.qr(matrices, "complete"))
    else:
        both = _apply(rules.qr, _columns(x, slice(rows)), "finite")
        q, r = _rows(both, slice(rows)), _transposed(_rows(both, slice(rows, None)))
        if columns > rows:
            r = concat([r, matmul(_transposed(q), _columns(x, slice(rows, None)))], -1)
    return cast_to(q, dtype_of(given)), cast_to(r, dtype_of(given))


@overload
def svd(
    input: Tensor, full_matrices: bool = False, compute_uv: Literal[True] = True
) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def svd(input: Tensor, full_matrices: bool = False, *, compute_uv: Literal[False]) -> Tensor: ...
@overload
def svd(input: Tensor, full_matrices: bool, compute_uv: Literal[False]) -> Tensor: ...
def svd(
    input: Tensor, full_matrices: bool = False, compute_uv: bool = True
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """Return the singular value decomposition of matrices: U S Vᵀ = `input`.

    Its derivative by U and V is infinite or NaN where two singular values are equal, or one is 0.

    Args:
        input: Of shape (…, m, n); integers and bools are computed as float32.
        full_matrices: Whether U and V are square. Further columns than min(m, n) have no
            derivative.
        compute_uv: Whether to return U and V.

    Returns:
        The k = min(m, n) singular values in descending order, of shape (…, k), or a tuple of these,
        U of shape (…, m, k) and V of shape (…, n, k), which have orthonormal columns.

    Raises:
        ValueError: `input` has fewer than two axes.
        RuntimeError: A number is not finite; or in a gradient, U or V has further columns.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.svd(Tensor([[0.0, 2.0], [-3.0, 0.0]]), compute_uv=False).tolist()
        [3.0, 2.0]

    Source: MindSpore's `mindspore.ops.svd`.
    """
    given = _matrices(input)
    check_bool(full_matrices, "full_matrices")
    check_bool(compute_uv, "compute_uv")
    if not compute_uv:
        return singular_values(given)
    x = half_to_float32(given)
    rows, columns = x.shape[-2:]
    if full_matrices and rows != columns:
        u, values, v = _on_host(x, np.linalg.svd)
        v = _transposed(v)
    else:
        parts = _apply(rules.svd, x, "finite")
        values = apply1(indexing.getitem, parts, (..., rows, slice(None)))
        u, v = _rows(parts, slice(rows)), _rows(parts, slice(rows + 1, None))
    dtype = dtype_of(given)
    return cast_to(values, dtype), cast_to(u, dtype), cast_to(v, dtype)


def singular_values(x: Tensor) -> Tensor:
    """Return the singular values of matrices of floats, in descending order."""
    return _apply(rules.singular_values, x, "finite")


_RULES: dict[str, Callable[[Array], Unary[Array]]] = {
    "inv": rules.inverse,
    "det": rules.det,
    "slogdet": rules.slogdet,
    "cholesky": rules.cholesky,
    "qr": rules.qr,
    "svdvals": rules.singular_values,
    "svd": rules.svd,
}


def decompose(x: Tensor, kind: str) -> Tensor:
    """Return `Namespace.decompose` of a tensor."""
    return apply1(_RULES[kind], x)


def _matrices(input: Tensor, name: str = "input") -> Tensor:
    """Return matrices as floats."""
    x = as_float(input, name)
    if x.ndim < 2:
        raise shape_error(x, name, "have two axes or more")
    return x


def _square(input: Tensor, name: str = "input") -> Tensor:
    """Return square matrices as floats."""
    x = _matrices(input, name)
    if x.shape[-1] != x.shape[-2]:
        raise shape_error(x, name, "hold square matrices")
    return x


def _apply(rule: Callable[[Array], Unary[Array]], x: Tensor, must_be: str) -> Tensor:
    try:
        return apply1(rule, x)
    except np.linalg.LinAlgError:
        raise RuntimeError(
            f"For '{caller()}', the matrices must be {must_be}, but one is not."
        ) from None


def _on_host(x: Tensor, decomposition: Callable[[HostArray], Sequence[HostArray]]) -> list[Tensor]:
    """Return the results of a decomposition that has no derivative."""
    if is_recorded(x):
        raise RuntimeError(
            f"For '{caller()}', the further columns of an orthogonal matrix have no gradient: "
            "compute without them, or of ops.stop_gradient(x)."
        )
    try:
        results = decomposition(to_host(x._data))
    except np.linalg.LinAlgError:
        raise RuntimeError(
            f"For '{caller()}', the matrices must be finite, but one is not."
        ) from None
    return [wrap(to_device_of(result, x._data), x) for result in results]


def _rows(x: Tensor, part: slice) -> Tensor:
    return apply1(indexing.getitem, x, (..., part, slice(None)))


def _columns(x: Tensor, part: slice) -> Tensor:
    return apply1(indexing.getitem, x, (..., part))


def _transposed(x: Tensor) -> Tensor:
    return swapaxes(x, -1, -2)
