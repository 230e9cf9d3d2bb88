"""Rules of matrix products."""

from minispore._array import A, namespace
from minispore._rules._types import Binary, Ternary
from minispore._rules.broadcasting import unbroadcast


def matmul(x: A, y: A) -> Binary[A]:
    """x @ y for stacks of matrices, whose leading axes broadcast."""
    return x @ y, (
        lambda g: unbroadcast(g @ y.mT, x.shape),
        lambda g: unbroadcast(x.mT @ g, y.shape),
    )


def dense(x: A, weight: A, bias: A) -> Ternary[A]:
    """x @ weightᵀ + bias for rows x (n, in), weight (out, in) and bias (out,).

    One rule rather than three: of the composition transpose, matmul, add it saves two nodes and
    the pullback of the transpose.
    """
    xp = namespace(x)
    value = x @ weight.mT
    value += bias  # into the memory that the product has just been given
    return value, (
        lambda g: g @ weight,
        lambda g: g.mT @ x,
        lambda g: xp.sum(g, axis=0),
    )
