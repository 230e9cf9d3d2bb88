"""The rules of standardization, to a mean of 0 and a variance of 1, and of batch normalization."""

from collections.abc import Callable
from math import prod

from minispore.engine.array import A, namespace
from minispore.engine.rules import Ternary, Unary


def standardize(x: A, axes: tuple[int, ...], epsilon: float) -> Unary[A]:
    """Return (x − mean) / √(variance + ε), with mean and variance over `axes`.

    A fused rule: the derivative needs only the value and the standard deviation. New arrays are
    computed in place, since most of the time is that of reading and writing memory.
    """
    xp = namespace(x)
    value = x - xp.mean(x, axis=axes, keepdims=True)
    variance = xp.mean(value * value, axis=axes, keepdims=True)
    scale = 1.0 / xp.sqrt(variance + epsilon)
    value *= scale

    def pullback(g: A) -> A:
        gradient = value * -xp.mean(g * value, axis=axes, keepdims=True)
        gradient -= xp.mean(g, axis=axes, keepdims=True)
        gradient += g
        gradient *= scale
        return gradient

    return value, (pullback,)


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
    standard = x - mean
    variance = xp.mean(standard * standard, axis=axes, keepdims=True)
    scale = 1.0 / xp.sqrt(variance + epsilon)
    standard *= scale
    report((mean, variance))
    value = standard * weight
    value += bias

    def to_weight(g: A) -> A:
        return xp.sum(g * standard, axis=axes, keepdims=True)

    def to_bias(g: A) -> A:
        return xp.sum(g, axis=axes, keepdims=True)

    def to_x(g: A) -> A:
        gradient = standard * (to_weight(g) / -count)
        gradient -= to_bias(g) / count
        gradient += g
        gradient *= weight * scale
        return gradient

    return value, (to_x, to_weight, to_bias)
