"""Rules of matrix products."""

from collections.abc import Callable

from minispore._array import A, namespace
from minispore._rules._types import Binary, Ternary
from minispore._rules.broadcasting import unbroadcast

# Who is told the operands of every product: nobody, unless something counts them.
watchers: list[Callable[[object, object], None]] = []


def product(x: A, y: A) -> A:
    """x @ y. All multiply-adds of the engine that are not elementwise happen here."""
    if watchers:
        for watcher in watchers:
            watcher(x, y)
    return x @ y


def matmul(x: A, y: A) -> Binary[A]:
    """x @ y for stacks of matrices, whose leading axes broadcast."""
    return product(x, y), (
        # Not g yᵀ: BLAS takes half the time for a product of many rows and few columns as for its
        # transpose, of few rows, as in a convolution of few kernels; 7 % of LeNet's step.
        lambda g: unbroadcast(product(y, g.mT).mT, x.shape),
        lambda g: unbroadcast(product(x.mT, g), y.shape),
    )


def dense(x: A, weight: A, bias: A) -> Ternary[A]:
    """x @ weightᵀ + bias for rows x (n, in), weight (out, in) and bias (out,).

    One rule rather than three: of the composition transpose, matmul, add it saves two nodes and
    the pullback of the transpose.
    """
    xp = namespace(x)
    value = product(x, weight.mT)
    value += bias  # into the memory that the product has just been given
    return value, (
        lambda g: product(g, weight),
        lambda g: product(g.mT, x),
        lambda g: xp.sum(g, axis=0),
    )
