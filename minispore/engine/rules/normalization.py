"""The rule of standardization, to a mean of 0 and a variance of 1."""

from minispore.engine.array import A, namespace
from minispore.engine.rules import Unary


def standardize(x: A, axes: tuple[int, ...], epsilon: float) -> Unary[A]:
    """Return (x − mean) / √(variance + ε), with mean and variance over `axes`.

    A fused rule: the derivative needs only the value and the standard deviation.
    """
    xp = namespace(x)
    centered = x - xp.mean(x, axis=axes, keepdims=True)
    variance = xp.mean(centered * centered, axis=axes, keepdims=True)
    deviation = xp.sqrt(variance + epsilon)
    value = centered / deviation

    def pullback(g: A) -> A:
        along = value * xp.mean(g * value, axis=axes, keepdims=True)
        return (g - xp.mean(g, axis=axes, keepdims=True) - along) / deviation

    return value, (pullback,)
