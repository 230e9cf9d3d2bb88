"""Rules that move elements without changing them: the gradient moves back the same way."""

from collections.abc import Sequence

from minispore._array import A, Axis, Shape, namespace
from minispore._rules._types import Nary, Pullback, Unary
from minispore._rules.broadcasting import unbroadcast


def reshape(x: A, shape: Shape) -> Unary[A]:
    """The same elements in another shape."""
    xp = namespace(x)
    own = x.shape
    return xp.reshape(x, shape), (lambda g: xp.reshape(g, own),)


def permute(x: A, axes: tuple[int, ...]) -> Unary[A]:
    """The axes in another order."""
    xp = namespace(x)
    back = tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes)))
    return xp.permute_dims(x, axes), (lambda g: xp.permute_dims(g, back),)


def broadcast_to(x: A, shape: Shape) -> Unary[A]:
    """x repeated to a larger shape."""
    own = x.shape
    return namespace(x).broadcast_to(x, shape), (lambda g: unbroadcast(g, own),)


def expand_dims(x: A, axis: int) -> Unary[A]:
    """A new axis of length 1 at `axis`."""
    xp = namespace(x)
    return xp.expand_dims(x, axis=axis), (lambda g: xp.squeeze(g, axis),)


def squeeze(x: A, axis: Axis) -> Unary[A]:
    """Without the axes of length 1 named by `axis`, or without any."""
    xp = namespace(x)
    own = x.shape
    gone = tuple(i for i, n in enumerate(own) if n == 1) if axis is None else axis
    return xp.squeeze(x, gone), (lambda g: xp.reshape(g, own),)


def concat(arrays: Sequence[A], axis: int) -> Nary[A]:
    """Arrays one behind the other along `axis`; each takes its own part of the gradient."""
    axis %= arrays[0].ndim
    value = namespace(arrays[0]).concat(arrays, axis=axis)
    pullbacks: list[Pullback[A]] = []
    start = 0
    for array in arrays:
        stop = start + array.shape[axis]
        pullbacks.append(_taking(axis, slice(start, stop)))
        start = stop
    return value, pullbacks


def stack(arrays: Sequence[A], axis: int) -> Nary[A]:
    """Arrays side by side along a new `axis`."""
    axis %= arrays[0].ndim + 1
    value = namespace(arrays[0]).stack(arrays, axis=axis)
    return value, [_taking(axis, i) for i in range(len(arrays))]


def _taking(axis: int, part: int | slice) -> Pullback[A]:
    index = (slice(None),) * axis + (part, ...)
    return lambda g: g[index]
