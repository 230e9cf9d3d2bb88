"""Rules of sliding windows along an axis: `unfold`, its transpose `fold`, and their maximum.

`unfold` and `fold` are each other's pullback, so the set of rules is closed under differentiation.
Windows in two dimensions are unfolded along one axis after the other. A convolution is `unfold` and
a matrix product; a pooling is `unfold` and a mean or a maximum.
"""

from functools import reduce

from minispore.engine.array import A, namespace
from minispore.engine.rules import Unary


def unfold(x: A, axis: int, kernel_size: int, stride: int, dilation: int) -> Unary[A]:
    """Return the windows along `axis`, as two axes (count, kernel_size) in its place."""
    xp = namespace(x)
    length = x.shape[axis]
    value = xp.unfold(x, axis=axis, kernel_size=kernel_size, stride=stride, dilation=dilation)
    return value, (
        lambda g: xp.fold(g, axis=axis, length=length, stride=stride, dilation=dilation),
    )


def fold(x: A, axis: int, length: int, stride: int, dilation: int) -> Unary[A]:
    """Return the sum of the windows (count, kernel_size) at `axis`, in an axis of `length`.

    The windows must be all that fit into the length.
    """
    xp = namespace(x)
    kernel_size = x.shape[axis + 1]
    value = xp.fold(x, axis=axis, length=length, stride=stride, dilation=dilation)

    def pullback(g: A) -> A:
        return xp.unfold(g, axis=axis, kernel_size=kernel_size, stride=stride, dilation=dilation)

    return value, (pullback,)


def max_over_window(x: A, axis: int) -> Unary[A]:
    """Return the largest element along `axis`; the first of equal ones receives the gradient.

    PyTorch and MindSpore pool in this way. `reduction.max` divides the gradient between them.
    """
    xp = namespace(x)
    before = (slice(None),) * axis
    parts = [x[(*before, i, ...)] for i in range(x.shape[axis])]
    value = reduce(xp.maximum, parts)

    def pullback(g: A) -> A:
        contributions: list[A] = []
        for part in parts[:-1]:
            # Each part takes what the parts before it have left; the last one takes the rest.
            contribution = g * xp.astype(xp.equal(part, value), g.dtype)
            g = g - contribution
            contributions.append(contribution)
        return xp.stack([*contributions, g], axis=axis)

    return value, (pullback,)
