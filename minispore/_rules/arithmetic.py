"""Rules of arithmetic: two operands that broadcast against each other."""

from minispore._array import A, namespace
from minispore._rules._types import Binary, Choosing, Unary
from minispore._rules.broadcasting import unbroadcast


def add(x: A, y: A) -> Binary[A]:
    """x + y."""
    a, b = x.shape, y.shape
    return x + y, (lambda g: unbroadcast(g, a), lambda g: unbroadcast(g, b))


def subtract(x: A, y: A) -> Binary[A]:
    """x − y."""
    a, b = x.shape, y.shape
    return x - y, (lambda g: unbroadcast(g, a), lambda g: unbroadcast(-g, b))


def multiply(x: A, y: A) -> Binary[A]:
    """x · y."""
    return x * y, (
        lambda g: unbroadcast(g * y, x.shape),
        lambda g: unbroadcast(g * x, y.shape),
    )


def divide(x: A, y: A) -> Binary[A]:
    """x / y."""
    return x / y, (
        lambda g: unbroadcast(g / y, x.shape),
        lambda g: unbroadcast(-g * x / (y * y), y.shape),
    )


def remainder(x: A, y: A) -> Binary[A]:
    """x − ⌊x / y⌋ · y, exactly."""
    xp = namespace(x)
    return xp.remainder(x, y), (
        lambda g: unbroadcast(g, x.shape),
        lambda g: unbroadcast(-g * xp.floor_divide(x, y), y.shape),
    )


def pow(x: A, y: A) -> Binary[A]:
    """x to the power y."""
    xp = namespace(x)
    value = x**y

    def to_base(g: A) -> A:
        # x⁰ is 1 everywhere, so its slope is 0 even where 0 · 0⁻¹ would not be a number.
        slope = xp.where(xp.equal(y, xp.zeros_like(y)), 0.0, y * x ** (y - 1.0))
        return unbroadcast(g * slope, x.shape)

    def to_exponent(g: A) -> A:
        # 0ʸ is flat in y. A negative base has no slope in its exponent: NaN, as its logarithm.
        logarithm = xp.log(xp.where(xp.equal(x, xp.zeros_like(x)), 1.0, x))
        return unbroadcast(g * value * logarithm, y.shape)

    return value, (to_base, to_exponent)


def maximum(x: A, y: A) -> Binary[A]:
    """The larger of x and y; where they are equal, each takes half of the gradient."""
    return namespace(x).maximum(x, y), (
        lambda g: unbroadcast(g * _share(x, y), x.shape),
        lambda g: unbroadcast(g * _share(y, x), y.shape),
    )


def minimum(x: A, y: A) -> Binary[A]:
    """The smaller of x and y; where they are equal, each takes half of the gradient."""
    return namespace(x).minimum(x, y), (
        lambda g: unbroadcast(g * _share(y, x), x.shape),
        lambda g: unbroadcast(g * _share(x, y), y.shape),
    )


def _share(x: A, y: A) -> A:
    """1 where x > y, ½ where x = y, 0 where x < y, in the type of x."""
    xp = namespace(x)
    zero = xp.zeros_like(x)
    return xp.where(x > y, zero + 1.0, xp.where(xp.equal(x, y), zero + 0.5, zero))


def where(condition: A, x: A, y: A) -> Choosing[A]:
    """x where the condition holds, y elsewhere."""
    xp = namespace(x)
    return xp.where(condition, x, y), (
        None,
        lambda g: unbroadcast(xp.where(condition, g, 0.0), x.shape),
        lambda g: unbroadcast(xp.where(condition, 0.0, g), y.shape),
    )


def negative(x: A) -> Unary[A]:
    """−x."""
    return -x, (lambda g: -g,)
