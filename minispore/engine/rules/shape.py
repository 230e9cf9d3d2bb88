"""Rules that move elements without changing them, and the gradients back."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from minispore.engine.array import A, Axis, Shape, namespace
from minispore.engine.rules import Nary, Pullback, Unary
from minispore.engine.rules.broadcasting import unbroadcast


def reshape(x: A, shape: Shape) -> Unary[A]:
    """Return the elements in another shape."""
    xp = namespace(x)
    original = x.shape
    return xp.reshape(x, shape), (lambda g: xp.reshape(g, original),)


def permute(x: A, axes: tuple[int, ...]) -> Unary[A]:
    """Return x with its axes in the order `axes`."""
    xp = namespace(x)
    back = tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes)))
    return xp.permute_dims(x, axes), (lambda g: xp.permute_dims(g, back),)


def broadcast_to(x: A, shape: Shape) -> Unary[A]:
    """Return x repeated to a larger shape."""
    original = x.shape
    return namespace(x).broadcast_to(x, shape), (lambda g: unbroadcast(g, original),)


def expand_dims(x: A, axis: int) -> Unary[A]:
    """Return x with a new axis of length 1 at `axis`."""
    xp = namespace(x)
    return xp.expand_dims(x, axis=axis), (lambda g: xp.squeeze(g, axis),)


def squeeze(x: A, axis: Axis) -> Unary[A]:
    """Return x without the axes of length 1 in `axis`, or without all of them if it is None."""
    xp = namespace(x)
    original = x.shape
    removed = tuple(i for i, n in enumerate(original) if n == 1) if axis is None else axis
    return xp.squeeze(x, removed), (lambda g: xp.reshape(g, original),)


def concat(arrays: Sequence[A], axis: int) -> Nary[A]:
    """Return the arrays joined along `axis`; each receives its part of the gradient."""
    axis %= arrays[0].ndim
    value = namespace(arrays[0]).concat(arrays, axis=axis)
    stops = list(accumulate(array.shape[axis] for array in arrays))
    return value, [_getter(axis, slice(i, j)) for i, j in pairwise([0, *stops])]


def stack(arrays: Sequence[A], axis: int) -> Nary[A]:
    """Return the arrays joined along a new axis `axis`."""
    axis %= arrays[0].ndim + 1
    value = namespace(arrays[0]).stack(arrays, axis=axis)
    return value, [_getter(axis, i) for i in range(len(arrays))]


def _getter(axis: int, part: int | slice) -> Pullback[A]:
    index = (slice(None),) * axis + (part, ...)
    return lambda g: g[index]
