"""The rule of normalisation: numbers with a mean of 0 and a variance of 1."""

from minispore._array import A, namespace
from minispore._rules._types import Unary


def standardize(x: A, axes: tuple[int, ...], epsilon: float) -> Unary[A]:
    """(x − mean) / √(variance + ε) over `axes`.

    One rule rather than the composition: all that the derivative needs is the value itself.
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
