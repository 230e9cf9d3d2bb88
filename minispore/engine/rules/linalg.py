"""Rules of matrix multiplication."""

from collections.abc import Callable

from minispore.engine.array import A, Array, is_by_columns, namespace
from minispore.engine.rules import Binary, Ternary
from minispore.engine.rules.broadcasting import unbroadcast

# Functions that are called with the operands of every product, for example to count operations.
gemm_observers: list[Callable[[Array, Array], None]] = []


def gemm(x: A, y: A) -> A:
    """Return x @ y: the only function of the engine that multiplies matrices."""
    count_product(x, y)
    # The gradient of the weights at one row: numpy's `@` takes five times as long for it.
    return x * y if x.shape[-1] == 1 == y.shape[-2] else x @ y


def count_product(x: Array, y: Array) -> None:
    """Call the observers with the operands of a product, or of what could be computed as one."""
    for observer in gemm_observers:
        observer(x, y)


def matmul(x: A, y: A) -> Binary[A]:
    """Return x @ y for stacks of matrices, whose leading axes broadcast."""
    return gemm(x, y), (
        # (y gᵀ)ᵀ rather than g yᵀ: for few rows and many columns, as in a convolution with few
        # kernels, BLAS needs half the time for the transposed product; 7 % of LeNet's step.
        lambda g: unbroadcast(gemm(y, g.mT).mT, x.shape),
        lambda g: unbroadcast(gemm(x.mT, g), y.shape),
    )


def dense(x: A, weight: A, bias: A) -> Ternary[A]:
    """Return x @ weightᵀ + bias for x (n, in), weight (out, in) and bias (out,).

    A fused rule, which saves two nodes and the pullback of the transpose, compared with the
    composition of transpose, matmul and add.
    """
    xp = namespace(x)
    # For few rows BLAS takes up to twice as long for x weightᵀ as for weight xᵀ, whose transpose
    # has its columns one after the other in memory. The gradient has the layout of x, since
    # operations on arrays of two layouts are slow.
    if x.shape[0] < min(weight.shape[0], _MANY_ROWS):
        value = gemm(weight, x.mT).mT
    else:
        value = gemm(x, weight.mT)
    value += bias  # in place, since the product is a new array
    by_columns = is_by_columns(x)
    return value, (
        lambda g: gemm(weight.mT, g.mT).mT if by_columns else gemm(g, weight),
        lambda g: gemm(g.mT, x),
        lambda g: xp.sum(g, axis=0),
    )


_MANY_ROWS = 256
