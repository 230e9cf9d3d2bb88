"""Rules of inverses, determinants and decompositions of matrices, which may be stacked.

Several results of a decomposition are one array, as `Namespace.decompose` returns them. The
derivatives are those of Giles (2008) and of Walter and Lehmann (2018).
"""

from minispore.engine.array import A, namespace
from minispore.engine.rules import Unary


def inverse(x: A) -> Unary[A]:
    """Return x⁻¹."""
    value = namespace(x).decompose(x, kind="inv")
    return value, (lambda g: -(value.mT @ g @ value.mT),)


def det(x: A) -> Unary[A]:
    """Return the determinant; the derivative is the value times x⁻ᵀ, so it needs an inverse."""
    value = namespace(x).decompose(x, kind="det")
    return value, (lambda g: _as_factors(g * value) * _inverse(x).mT,)


def slogdet(x: A) -> Unary[A]:
    """Return the sign of the determinant, and the logarithm of its absolute value."""
    value = namespace(x).decompose(x, kind="slogdet")
    return value, (lambda g: _as_factors(g[1, ...]) * _inverse(x).mT,)


def cholesky(x: A) -> Unary[A]:
    """Return L with L Lᵀ = (x + xᵀ) / 2, a lower triangle."""
    xp = namespace(x)
    value = xp.decompose((x + x.mT) / 2.0, kind="cholesky")

    def pullback(g: A) -> A:
        inverse = _inverse(value)
        inner = _lower(value.mT @ g, diagonal=0.5)
        outer = inverse.mT @ inner @ inverse
        return (outer + outer.mT) / 2.0

    return value, (pullback,)


def qr(x: A) -> Unary[A]:
    """Return Q above Rᵀ, with Q R = x, of matrices with no more columns than rows."""
    xp = namespace(x)
    value = xp.decompose(x, kind="qr")
    rows = x.shape[-2]

    def pullback(g: A) -> A:
        q, r = value[..., :rows, :], value[..., rows:, :].mT
        by_q, by_r = g[..., :rows, :], g[..., rows:, :].mT
        lower = _lower(r @ by_r.mT - by_q.mT @ q, diagonal=1.0)
        symmetric = lower + _lower(lower, diagonal=0.0).mT
        return (by_q + q @ symmetric) @ _inverse(r).mT

    return value, (pullback,)


def singular_values(x: A) -> Unary[A]:
    """Return the singular values, in descending order."""
    xp = namespace(x)
    rows = x.shape[-2]

    def pullback(g: A) -> A:
        parts = xp.decompose(x, kind="svd")
        u, v = parts[..., :rows, :], parts[..., rows + 1 :, :]
        return (u * xp.expand_dims(g, axis=-2)) @ v.mT

    return xp.decompose(x, kind="svdvals"), (pullback,)


def svd(x: A) -> Unary[A]:
    """Return U above the row of the singular values, and that above V, with U S Vᵀ = x.

    The derivative by U and V is infinite where two singular values are equal.
    """
    xp = namespace(x)
    value = xp.decompose(x, kind="svd")
    rows = x.shape[-2]

    def pullback(g: A) -> A:
        u, s, v = value[..., :rows, :], value[..., rows : rows + 1, :], value[..., rows + 1 :, :]
        by_u, by_s, by_v = g[..., :rows, :], g[..., rows : rows + 1, :], g[..., rows + 1 :, :]
        ones = xp.ones_like(u.mT @ u)
        diagonal = _lower(ones, diagonal=1.0) - _lower(ones, diagonal=0.0)
        # The differences of the squares, with ones on the diagonal, where nothing is divided.
        gaps = (s - s.mT) * (s + s.mT) + diagonal
        turn_u, turn_v = ((z.mT @ by_z - by_z.mT @ z) / gaps for z, by_z in ((u, by_u), (v, by_v)))
        inner = turn_u * s + s.mT * turn_v + diagonal * by_s
        total = u @ inner @ v.mT
        if rows > s.shape[-1]:
            total += (by_u - u @ (u.mT @ by_u)) / s @ v.mT
        if x.shape[-1] > s.shape[-1]:
            total += u / s @ (by_v - v @ (v.mT @ by_v)).mT
        return total

    return value, (pullback,)


def _inverse(x: A) -> A:
    try:
        return namespace(x).decompose(x, kind="inv")
    except ValueError:
        raise RuntimeError(
            "The gradient of a determinant or decomposition needs the inverse of a matrix that is "
            "singular."
        ) from None


def _as_factors(g: A) -> A:
    """Return a number for each matrix, with two more axes."""
    xp = namespace(g)
    return xp.expand_dims(xp.expand_dims(g, axis=-1), axis=-1)


def _lower(x: A, *, diagonal: float) -> A:
    """Return the lower triangles of square matrices, with the diagonal times a number."""
    xp = namespace(x)
    ones = xp.ones_like(x)
    row, column = (xp.cumulative_sum(ones, axis=x.ndim - i) for i in (2, 1))
    below = xp.astype(row > column, x.dtype)
    if diagonal:
        below = below + diagonal * xp.astype(xp.equal(row, column), x.dtype)
    return x * below
