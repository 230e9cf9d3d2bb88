"""Rules of functions that are applied to each element."""

import math

from minispore.engine.array import A, namespace
from minispore.engine.rules import Unary


def exp(x: A) -> Unary[A]:
    """Return eˣ."""
    value = namespace(x).exp(x)
    return value, (lambda g: g * value,)


def log(x: A) -> Unary[A]:
    """Return the natural logarithm."""
    return namespace(x).log(x), (lambda g: g / x,)


def sqrt(x: A) -> Unary[A]:
    """Return the square root."""
    value = namespace(x).sqrt(x)
    return value, (lambda g: g / (2.0 * value),)


def square(x: A) -> Unary[A]:
    """Return x²."""
    return x * x, (lambda g: g * (2.0 * x),)


def integer_power(x: A, exponent: int) -> Unary[A]:
    """Return x to a power other than 0 and 1, as products: numpy's power takes ten times as long.

    The relative error is at most as many roundings as the absolute value of the exponent.
    """
    if exponent > 0:
        lower = _by_squaring(x, exponent - 1)
        return lower * x, (lambda g: g * (exponent * lower),)
    value = 1.0 / _by_squaring(x, -exponent)
    return value, (lambda g: g * (exponent * (value / x)),)


def _by_squaring(x: A, exponent: int) -> A:
    """Return x to a power of at least 1."""
    if exponent == 1:
        return x
    half = _by_squaring(x, exponent // 2)
    return half * half * x if exponent % 2 else half * half


def absolute(x: A) -> Unary[A]:
    """Return |x|; the derivative at 0 is 0."""
    xp = namespace(x)
    return xp.abs(x), (lambda g: g * xp.sign(x),)


def sign(x: A) -> Unary[A]:
    """Return −1, 0 or 1; the derivative is 0."""
    xp = namespace(x)
    return xp.sign(x), (xp.zeros_like,)


def tanh(x: A) -> Unary[A]:
    """Return the hyperbolic tangent."""
    value = namespace(x).tanh(x)
    return value, (lambda g: g * (1.0 - value * value),)


def sin(x: A) -> Unary[A]:
    """Return the sine of radians."""
    xp = namespace(x)
    return xp.sin(x), (lambda g: g * xp.cos(x),)


def cos(x: A) -> Unary[A]:
    """Return the cosine of radians."""
    xp = namespace(x)
    return xp.cos(x), (lambda g: g * -xp.sin(x),)


def tan(x: A) -> Unary[A]:
    """Return the tangent of `x`, in radians."""
    value = namespace(x).sin(x) / namespace(x).cos(x)
    return value, (lambda g: g * (value * value + 1.0),)


def asin(x: A) -> Unary[A]:
    """Return the inverse of the sine, in radians."""
    xp = namespace(x)
    return xp.asin(x), (lambda g: g / xp.sqrt(1.0 - x * x),)


def acos(x: A) -> Unary[A]:
    """Return the inverse of the cosine, in radians."""
    xp = namespace(x)
    return xp.acos(x), (lambda g: -g / xp.sqrt(1.0 - x * x),)


def atan(x: A) -> Unary[A]:
    """Return the inverse of the tangent, in radians."""
    return namespace(x).atan(x), (lambda g: g / (x * x + 1.0),)


def asinh(x: A) -> Unary[A]:
    """Return the inverse of the hyperbolic sine."""
    xp = namespace(x)

    def pullback(g: A) -> A:
        # √(x² + 1), of which x² may be infinite although x is not.
        size = xp.maximum(xp.where(xp.isfinite(x), xp.abs(x), 1.0), 1.0)
        size = xp.stop_gradient(size)
        near, one = x / size, 1.0 / size
        return g / (xp.sqrt(near * near + one * one) * size)

    return xp.asinh(x), (pullback,)


def acosh(x: A) -> Unary[A]:
    """Return the inverse of the hyperbolic cosine."""
    xp = namespace(x)
    # Two roots: a product of two negative factors would be positive.
    return xp.acosh(x), (lambda g: g / (xp.sqrt(x - 1.0) * xp.sqrt(x + 1.0)),)


def atanh(x: A) -> Unary[A]:
    """Return the inverse of the hyperbolic tangent."""
    return namespace(x).atanh(x), (lambda g: g / (1.0 - x * x),)


def sigmoid(x: A) -> Unary[A]:
    """Return 1 / (1 + e⁻ˣ), computed with tanh, which does not overflow."""
    value = 0.5 * namespace(x).tanh(0.5 * x) + 0.5
    return value, (lambda g: g * (value * (1.0 - value)),)


def erf(x: A) -> Unary[A]:
    """Return the error function 2/√π ∫₀ˣ exp(−t²) dt, by the Fourier series of Strecok (1968)."""
    xp = namespace(x)
    # The series is exact to 15 digits up to 6, where erf is 1.
    near = clip(x, -6.0, 6.0)[0]
    value = near / 5.0
    for n in range(1, 31):
        value = value + math.exp(-n * n / 25.0) / n * xp.sin(0.4 * n * near)
    slope = 2.0 / math.sqrt(math.pi)
    return 2.0 / math.pi * value, (lambda g: g * (slope * xp.exp(-(x * x))),)


def erfc(x: A) -> Unary[A]:
    """Return 1 − erf(x), which is as accurate for large x: the sum of Matta and Reichel (1971)."""
    xp = namespace(x)
    # The integral of exp(−t²) / (t² + x²) by the trapezoidal rule of step 1/2. Up to 6, the pole of
    # the integrand adds a term that matters; from 30 on, the result is 0.
    far = clip(x, 1.0, 30.0)[0]
    square = far * far
    total = 0.5 / square
    for n in range(1, 13):
        total = total + math.exp(-n * n / 4.0) / (square + n * n / 4.0)
    pole = xp.exp(clip(far, 1.0, 6.0)[0] * (-4.0 * math.pi))
    residue = xp.where(far < 6.0, 2.0 * pole / (1.0 - pole), 0.0)
    tail = far * xp.exp(-square) * total / math.pi - residue
    slope = 2.0 / math.sqrt(math.pi)
    value = xp.where(x > 1.0, tail, 1.0 - erf(x)[0])
    return value, (lambda g: g * (-slope * xp.exp(-(x * x))),)


def expm1(x: A) -> Unary[A]:
    """Return eˣ − 1, which is as accurate for small x: tanh(x/2) (eˣ + 1)."""
    power = namespace(x).exp(x)
    return namespace(x).tanh(0.5 * x) * (power + 1.0), (lambda g: g * power,)


def log1p(x: A) -> Unary[A]:
    """Return log(1 + x), which is as accurate for small x: the rounding of 1 + x is added."""
    xp = namespace(x)
    total = x + 1.0
    rounded = total - 1.0
    exact = xp.equal(rounded, x)
    value = xp.log(total) + xp.where(exact, 0.0, (x - rounded) / xp.where(exact, 1.0, total))
    return value, (lambda g: g / (x + 1.0),)


def softplus(x: A) -> Unary[A]:
    """Return log(1 + eˣ) without overflow; the derivative is the sigmoid."""
    xp = namespace(x)
    value = xp.maximum(x, 0.0) + xp.log(xp.exp(-xp.abs(x)) + 1.0)
    return value, (lambda g: g * sigmoid(x)[0],)


def relu(x: A) -> Unary[A]:
    """Return max(x, 0); the derivative at 0 is 0."""
    xp = namespace(x)
    # The zero is an int, since a float would convert integers to floats. A product with the mask
    # takes a fifth of the time of `where`, which is 5 % of the tutorial's step.

    def pullback(g: A) -> A:
        masked = xp.astype(x > 0, g.dtype)
        masked *= g  # in place, since the mask is a new array
        return masked

    return xp.maximum(x, 0), (pullback,)


def clip(x: A, low: float | None, high: float | None) -> Unary[A]:
    """Return x limited to [low, high]; the derivative at the bounds is 1."""
    xp = namespace(x)
    value = x
    if low is not None:
        value = xp.where(value < low, low, value)
    if high is not None:
        value = xp.where(value > high, high, value)
    return value, (lambda g: xp.where(xp.equal(value, x), g, 0.0),)


def cast(x: A, dtype: object) -> Unary[A]:
    """Return x in another type; the gradient has the type of x."""
    xp = namespace(x)
    original = x.dtype
    return xp.astype(x, dtype), (lambda g: xp.astype(g, original),)


def copy(x: A) -> Unary[A]:
    """Return a copy of x."""
    return namespace(x).astype(x, x.dtype), (lambda g: g,)


def identity(x: A) -> Unary[A]:
    """Return x itself, with a new node in the graph."""
    return x, (lambda g: g,)
