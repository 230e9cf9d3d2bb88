"""Rules of reductions: what one result gathers from many elements goes back to each of them."""

from math import prod

from minispore._array import A, Axis, Shape, namespace
from minispore._rules._types import Unary


def sum(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """The sum over `axis`: every summand has slope 1."""
    value = namespace(x).sum(x, axis=axis, keepdims=keepdims)
    return value, (lambda g: spread(g, x.shape, axis, keepdims),)


def mean(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """The mean over `axis`."""
    value = namespace(x).mean(x, axis=axis, keepdims=keepdims)
    count = prod(x.shape) if axis is None else prod(x.shape[i] for i in _axes(axis, x.ndim))
    return value, (lambda g: spread(g / count, x.shape, axis, keepdims),)


def cumsum(x: A, axis: int) -> Unary[A]:
    """The sums up to each element along `axis`: one counts in its own and in all that follow."""
    xp = namespace(x)
    turned = (slice(None),) * axis + (slice(None, None, -1),) + (slice(None),) * (x.ndim - 1 - axis)

    def pullback(g: A) -> A:
        return xp.cumulative_sum(g[turned], axis=axis)[turned]

    return xp.cumulative_sum(x, axis=axis), (pullback,)


def max(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """The largest element over `axis`; equal ones share the gradient equally."""
    value = namespace(x).max(x, axis=axis, keepdims=keepdims)
    return value, (lambda g: _to_extremes(g, x, value, axis, keepdims),)


def min(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """The smallest element over `axis`; equal ones share the gradient equally."""
    value = namespace(x).min(x, axis=axis, keepdims=keepdims)
    return value, (lambda g: _to_extremes(g, x, value, axis, keepdims),)


def logsumexp(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """log Σ eˣ over `axis`, shifted by the maximum so that it cannot overflow."""
    xp = namespace(x)
    # The shift cancels, so it is a constant to the derivative; by infinity nothing can be shifted.
    top = xp.constant(xp.max(x, axis=axis, keepdims=True))
    top = xp.where(xp.isfinite(top), top, 0.0)
    total = xp.log(xp.sum(xp.exp(x - top), axis=axis, keepdims=True)) + top
    value = total if keepdims else xp.squeeze(total, _axes(axis, x.ndim))

    def pullback(g: A) -> A:
        return spread(g, x.shape, axis, keepdims) * xp.exp(x - total)

    return value, (pullback,)


def spread(g: A, shape: Shape, axis: Axis, keepdims: bool) -> A:
    """Repeat a reduced `g` over the axes that were reduced from `shape`."""
    xp = namespace(g)
    if axis is not None and not keepdims:
        gone = _axes(axis, len(shape))
        g = xp.reshape(g, tuple(1 if i in gone else n for i, n in enumerate(shape)))
    return xp.broadcast_to(g, shape)


def _to_extremes(g: A, x: A, value: A, axis: Axis, keepdims: bool) -> A:
    xp = namespace(x)
    reached = xp.equal(x, spread(value, x.shape, axis, keepdims))
    hits = xp.where(reached, xp.ones_like(x), 0.0)
    share = hits / xp.sum(hits, axis=axis, keepdims=True)
    return spread(g, x.shape, axis, keepdims) * share


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    named = axis if isinstance(axis, tuple) else (axis,)
    return tuple(i % ndim for i in named)
