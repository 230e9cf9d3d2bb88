"""Rules of windows that slide along an axis: taking them out, their transpose, and their maximum.

`windows` and `fold` are each other's pullback, so they close differentiation between them. What
slides along two axes is the one after the other; a convolution is windows and a matrix product, a
pooling is windows and a sum or a maximum.
"""

from functools import reduce

from minispore._array import A, namespace
from minispore._rules._types import Unary


def windows(x: A, axis: int, size: int, step: int, spread: int) -> Unary[A]:
    """x with two axes, (count, size), in the place of `axis`."""
    xp = namespace(x)
    length = x.shape[axis]
    value = xp.windows(x, axis=axis, size=size, step=step, spread=spread)
    return value, (lambda g: xp.fold(g, axis=axis, length=length, step=step, spread=spread),)


def fold(x: A, axis: int, length: int, step: int, spread: int) -> Unary[A]:
    """Zeros of `length` along `axis`, to which the windows (count, size) at `axis` are added.

    The windows are all that fit into the length.
    """
    xp = namespace(x)
    size = x.shape[axis + 1]
    value = xp.fold(x, axis=axis, length=length, step=step, spread=spread)
    return value, (lambda g: xp.windows(g, axis=axis, size=size, step=step, spread=spread),)


def largest(x: A, axis: int) -> Unary[A]:
    """The largest element along `axis`; of equal ones the first has the gradient.

    That is how PyTorch and MindSpore pool. `reduction.max` shares it between them.
    """
    xp = namespace(x)
    before = (slice(None),) * axis
    parts = [x[(*before, i, ...)] for i in range(x.shape[axis])]
    value = reduce(xp.maximum, parts)

    def pullback(g: A) -> A:
        taken: list[A] = []
        for part in parts[:-1]:
            # Each takes what those before it have left, and the last one all that is left then.
            share = g * xp.astype(xp.equal(part, value), g.dtype)
            g = g - share
            taken.append(share)
        return xp.stack([*taken, g], axis=axis)

    return value, (pullback,)
