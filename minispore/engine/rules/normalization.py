"""The rules of standardization, to a mean of 0 and a variance of 1, and of batch normalization."""

from collections.abc import Callable
from math import prod

from minispore.engine.array import A, namespace
from minispore.engine.rules import Ternary, Unary
from minispore.engine.rules.joint import jointly


def standardize(x: A, axes: tuple[int, ...], epsilon: float) -> Unary[A]:
    """Return (x − mean) / √(variance + ε), with mean and variance over `axes`.

    A fused rule: the derivative needs only the value and the standard deviation. New arrays are
    computed in place, since most of the time is that of reading and writing memory.
    """
    xp = namespace(x)
    count = prod(x.shape[i] for i in axes)
    value = x - xp.mean(x, axis=axes, keepdims=True)
    variance = xp.inner(value, value, axis=axes, keepdims=True) / count
    scale = 1.0 / xp.sqrt(variance + epsilon)
    value *= scale

    def pullback(g: A) -> A:
        gradient = value * (xp.inner(g, value, axis=axes, keepdims=True) / -count)
        gradient -= xp.mean(g, axis=axes, keepdims=True)
        gradient += g
        gradient *= scale
        return gradient

    return value, (pullback,)


def layer_norm(x: A, weight: A, bias: A, first: int, epsilon: float) -> Ternary[A]:
    """Return the standardized x · weight + bias, where the axes from `first` on are standardized.

    Weight and bias have the shape of the last axes.
    """
    xp = namespace(x)
    samples = tuple(range(x.ndim - weight.ndim))
    standard, (to_standardized,) = standardize(x, tuple(range(first, x.ndim)), epsilon)
    value = standard * weight
    value += bias
    return value, (
        lambda g: to_standardized(g * weight),
        lambda g: xp.inner(g, standard, axis=samples),
        lambda g: xp.sum(g, axis=samples),
    )


def batch_norm(
    x: A,
    weight: A,
    bias: A,
    axes: tuple[int, ...],
    epsilon: float,
    report: Callable[[tuple[A, A]], object],
) -> Ternary[A]:
    """Return the standardized x · weight + bias, where these have the length 1 along `axes`.

    A fused rule: the gradient by x needs the sums that are those by weight and bias. `report` is
    called with the mean and the variance, for the running statistics.
    """
    xp = namespace(x)
    count = prod(x.shape[i] for i in axes)
    mean = xp.mean(x, axis=axes, keepdims=True)
    centered = x - mean
    variance = xp.inner(centered, centered, axis=axes, keepdims=True) / count
    scale = 1.0 / xp.sqrt(variance + epsilon)
    report((mean, variance))
    value = centered * (scale * weight)
    value += bias

    def sums(g: A) -> list[tuple[A, A]]:
        """Return for each operand the sum of g and that of its products."""
        total = xp.sum(g, axis=axes, keepdims=True)
        return [(total, xp.inner(g, centered, axis=axes, keepdims=True))] * 3

    for_x, for_weight, for_bias = jointly(sums, 3)

    def to_x(g: A) -> A:
        total, product = for_x(g)
        gradient = centered * (product * (scale * scale) / -count)
        gradient -= total / count
        gradient += g
        gradient *= weight * scale
        return gradient

    return value, (to_x, lambda g: for_weight(g)[1] * scale, lambda g: for_bias(g)[0])
