"""Rules of arithmetic, whose operands broadcast against each other."""

from minispore.engine.array import A, namespace
from minispore.engine.rules import Binary, TernaryWithMask, Unary
from minispore.engine.rules.broadcasting import unbroadcast


def add(x: A, y: A) -> Binary[A]:
    """Return x + y."""
    a, b = x.shape, y.shape
    return x + y, (lambda g: unbroadcast(g, a), lambda g: unbroadcast(g, b))


def subtract(x: A, y: A) -> Binary[A]:
    """Return x − y."""
    a, b = x.shape, y.shape
    return x - y, (lambda g: unbroadcast(g, a), lambda g: unbroadcast(-g, b))


def multiply(x: A, y: A) -> Binary[A]:
    """Return x · y."""
    return x * y, (
        lambda g: unbroadcast(g * y, x.shape),
        lambda g: unbroadcast(g * x, y.shape),
    )


def divide(x: A, y: A) -> Binary[A]:
    """Return x / y."""
    value = x / y
    return value, (
        lambda g: unbroadcast(g / y, x.shape),
        # Not by y², which is infinite or 0 for more y than the gradient is.
        lambda g: unbroadcast(-(g / y) * value, y.shape),
    )


def remainder(x: A, y: A) -> Binary[A]:
    """Return x − ⌊x / y⌋ · y, computed exactly."""
    xp = namespace(x)
    return xp.remainder(x, y), (
        lambda g: unbroadcast(g, x.shape),
        lambda g: unbroadcast(-g * xp.floor_divide(x, y), y.shape),
    )


def pow(x: A, y: A) -> Binary[A]:
    """Return xʸ."""
    xp = namespace(x)
    value = x**y

    def to_base(g: A) -> A:
        # x⁰ is 1 everywhere, so its derivative is 0, also at x = 0, where 0 · 0⁻¹ is NaN.
        both_zero = xp.equal(xp.maximum(xp.abs(x), xp.abs(y)), 0.0)
        return unbroadcast(g * (y * xp.where(both_zero, 1.0, x) ** (y - 1.0)), x.shape)

    def to_exponent(g: A) -> A:
        # The derivative of 0ʸ is 0, and −∞ for y < 0. That of a negative base is NaN, as its
        # logarithm is.
        logarithm = xp.log(xp.where(xp.equal(x, 0.0), xp.sign(y) + 1.0, x))
        return unbroadcast(g * value * logarithm, y.shape)

    return value, (to_base, to_exponent)


def maximum(x: A, y: A) -> Binary[A]:
    """Return the larger of x and y; where they are equal, each receives half of the gradient."""
    return namespace(x).maximum(x, y), (
        lambda g: unbroadcast(g * _balanced_eq(x, y), x.shape),
        lambda g: unbroadcast(g * _balanced_eq(y, x), y.shape),
    )


def minimum(x: A, y: A) -> Binary[A]:
    """Return the smaller of x and y; where they are equal, each receives half of the gradient."""
    return namespace(x).minimum(x, y), (
        lambda g: unbroadcast(g * _balanced_eq(y, x), x.shape),
        lambda g: unbroadcast(g * _balanced_eq(x, y), y.shape),
    )


def _balanced_eq(x: A, y: A) -> A:
    """Return 1 where x > y, ½ where x = y and 0 where x < y, in the type of x."""
    xp = namespace(x)
    # By a sum, since `where` takes up to forty times as long.
    return 0.5 * (xp.astype(x > y, x.dtype) + xp.astype(x >= y, x.dtype))


def where(condition: A, x: A, y: A) -> TernaryWithMask[A]:
    """Return x where the condition is true, and y elsewhere."""
    xp = namespace(x)
    return xp.where(condition, x, y), (
        None,
        lambda g: unbroadcast(xp.where(condition, g, 0.0), x.shape),
        lambda g: unbroadcast(xp.where(condition, 0.0, g), y.shape),
    )


def negative(x: A) -> Unary[A]:
    """Return −x."""
    return -x, (lambda g: -g,)
