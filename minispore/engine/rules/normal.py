"""Rules of the error functions and of the normal distribution."""

import math
from collections.abc import Sequence

from minispore.engine import dtypes
from minispore.engine.array import A, Array, namespace
from minispore.engine.rules import Unary


def erf(x: A) -> Unary[A]:
    """Return the error function 2/√π ∫₀ˣ exp(−t²) dt."""
    xp = namespace(x)
    slope = 2.0 / math.sqrt(math.pi) * _gaussian(x, 1.0)
    if _is_single(x):
        # As far as 4, where it is 1, it is 1 − exp(s) with a smooth s. By a product with x it has
        # the sign of x, and an x near 0 is not lost.
        near = xp.clip(x, -4.0, 4.0)
        size = -1e-30 - xp.abs(near)
        value = near * (xp.expm1(size * _fraction(size, *_LOG_ERFC)) / size)
    else:
        value = xp.where(xp.abs(x) < 0.5, _erf_near(x), 1.0 - erfc(x)[0])
    return value, (lambda g: g * slope,)


def erfc(x: A) -> Unary[A]:
    """Return 1 − erf(x), which is as accurate for large x."""
    xp = namespace(x)
    density = math.sqrt(0.5 / math.pi) * _gaussian(x, 1.0)
    tail = _normal_tail(math.sqrt(2.0) * xp.abs(xp.clip(x, -40.0, 40.0)), density)
    value = 2.0 * xp.abs(xp.astype(x < 0, x.dtype) - tail)
    return value, (lambda g: g * (-math.sqrt(8.0) * density),)


def normal_cdf(x: A) -> Unary[A]:
    """Return the probability that a number of the normal distribution is at most x."""
    xp = namespace(x)
    density = math.sqrt(0.5 / math.pi) * _gaussian(x, 0.5)
    tail = _normal_tail(xp.abs(xp.clip(x, -40.0, 40.0)), density)
    return xp.abs(xp.astype(x > 0, x.dtype) - tail), (lambda g: g * density,)


# Coefficients of falling powers of fractions that were fitted for float32: of log(erfc(−x)) / x
# between −4 and 0, and of the normal distribution's density divided by its tail, less x.
_LOG_ERFC = (-0.112594042, 0.595333172, -1.28146158, 1.12837908), (
    0.114169339, -0.571470405, 1.0,
)  # fmt: skip
_HAZARD = (0.99917224, 8.8928915, 34.488275, 69.117867), (
    1.0, 8.8620613, 36.966256, 82.676634, 86.626404,
)  # fmt: skip


def _is_single(x: Array) -> bool:
    """Return whether x is an array or a tensor of float32."""
    return str(x.dtype).lower() == "float32"


def _polynomial(x: A, coefficients: Sequence[float]) -> A:
    """Return a polynomial of at least the second degree by Horner's method."""
    first, second, *others = coefficients
    total = x + second if first == 1.0 else first * x + second
    for coefficient in others:
        total *= x
        total += coefficient
    return total


def _fraction(x: A, above: Sequence[float], below: Sequence[float]) -> A:
    """Return the quotient of two polynomials."""
    return _polynomial(x, above) / _polynomial(x, below)


def _gaussian(x: A, factor: float) -> A:
    """Return exp(−factor · x²), as accurate for large x.

    The rounding of x² would be multiplied by the slope of the exponential. So it is computed in
    float64, and there by a number near x, of which the square is exact.
    """
    xp = namespace(x)
    if _is_single(x):
        wide = xp.astype(x, dtypes.float64.numpy_dtype)
        return xp.astype(xp.exp(wide * wide * -factor), x.dtype)
    near = xp.clip(x, -40.0, 40.0)
    short = xp.floor(64.0 * near) / 64.0
    square = near * near
    rest = (short * short - square) + (near - short) * (near + short)
    return xp.exp(-factor * square) * (1.0 - factor * xp.stop_gradient(rest))


def _normal_tail(x: A, density: A) -> A:
    """Return the probability that a normal number exceeds x ≥ 0, given the density at x."""
    if _is_single(x):
        return density / (_fraction(x, *_HAZARD) + x)
    x = math.sqrt(0.5) * x
    gaussian = math.sqrt(2.0 * math.pi) * density
    far = _erfc_far(x, gaussian)
    return 0.5 * namespace(x).where(x < 0.5, 1.0 - _erf_near(x), far)


def _erf_near(x: A) -> A:
    """Return erf of x in [−1/2, 1/2] by its power series."""
    xp = namespace(x)
    near = xp.clip(x, -0.5, 0.5)
    series = [(-1.0) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(12, -1, -1)]
    return 2.0 / math.sqrt(math.pi) * near * _polynomial(near * near, series)


def _erfc_far(x: A, gaussian: A) -> A:
    """Return erfc of x > 1/2, given exp(−x²): the sum of Matta and Reichel (1971)."""
    xp = namespace(x)
    # The integral of exp(−t²) / (t² + x²) by the trapezoidal rule of step 1/2. Up to 6, the pole of
    # the integrand adds a term that matters; from 30 on, the result is 0.
    far = xp.clip(x, 0.5, 30.0)
    square = far * far
    total = 0.5 / square
    for n in range(1, 13):
        total += math.exp(-n * n / 4.0) / (square + n * n / 4.0)
    pole = xp.exp(-4.0 * math.pi * xp.minimum(far, 6.0))
    residue = 2.0 * pole / (1.0 - pole) * xp.astype(far < 6.0, far.dtype)
    return far * total / math.pi * gaussian - residue
