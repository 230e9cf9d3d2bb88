"""The rule of standardization, to a mean of 0 and a variance of 1."""

from minispore.engine.array import A, namespace
from minispore.engine.rules import Unary


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
