"""Rules of reductions and of softmax.

The gradient of a reduction is repeated over the reduced axes.
"""

from math import prod

from minispore.engine.array import A, Axis, Shape, namespace
from minispore.engine.rules import Unary


def sum(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """Return the sum over `axis`."""
    value = namespace(x).sum(x, axis=axis, keepdims=keepdims)
    return value, (lambda g: repeat_to_match_shape(g, x.shape, axis, keepdims),)


def mean(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """Return the mean over `axis`."""
    value = namespace(x).mean(x, axis=axis, keepdims=keepdims)
    count = prod(x.shape) if axis is None else prod(x.shape[i] for i in _axes(axis, x.ndim))
    return value, (lambda g: repeat_to_match_shape(g / count, x.shape, axis, keepdims),)


def cumsum(x: A, axis: int) -> Unary[A]:
    """Return the cumulative sum along `axis`."""
    xp = namespace(x)
    reverse = (*(slice(None),) * axis, slice(None, None, -1), ...)

    def pullback(g: A) -> A:
        return xp.cumulative_sum(g[reverse], axis=axis)[reverse]

    return xp.cumulative_sum(x, axis=axis), (pullback,)


def max(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """Return the largest element over `axis`; the gradient is divided between equal ones."""
    value = namespace(x).max(x, axis=axis, keepdims=keepdims)
    return value, (lambda g: _grad_of_extremum(g, x, value, axis, keepdims),)


def min(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """Return the smallest element over `axis`; the gradient is divided between equal ones."""
    value = namespace(x).min(x, axis=axis, keepdims=keepdims)
    return value, (lambda g: _grad_of_extremum(g, x, value, axis, keepdims),)


def logsumexp(x: A, axis: Axis, keepdims: bool) -> Unary[A]:
    """Return log Σ eˣ over `axis`, shifted by the maximum, so that it does not overflow."""
    xp = namespace(x)
    # The shift cancels, so the gradient may treat it as a constant. It must be finite.
    top = xp.stop_gradient(xp.max(x, axis=axis, keepdims=True))
    exponentials = xp.exp(x - xp.where(xp.isfinite(top), top, 0.0))
    exponentials = xp.where(xp.isfinite(exponentials), exponentials, 1.0)
    rest = total_less_one(exponentials, axis)
    value = xp.log1p(rest) + top
    if not keepdims:
        value = xp.squeeze(value, _axes(axis, x.ndim))

    def pullback(g: A) -> A:
        # Not by the exponential of x less the value, in which a large x leaves no logarithm.
        return repeat_to_match_shape(g, x.shape, axis, keepdims) * (exponentials / (rest + 1.0))

    return value, (pullback,)


def softmax(x: A, axis: int) -> Unary[A]:
    """Return eˣ / Σ eˣ along `axis`."""
    xp = namespace(x)
    value = xp.exp(x - xp.stop_gradient(xp.max(x, axis=axis, keepdims=True)))
    value /= xp.sum(value, axis=axis, keepdims=True)  # in place, since the array is new

    def pullback(g: A) -> A:
        return value * (g - xp.inner(g, value, axis=axis, keepdims=True))

    return value, (pullback,)


def log_softmax(x: A, axis: int) -> Unary[A]:
    """Return x − log Σ eˣ along `axis`."""
    xp = namespace(x)
    shifted = x - xp.stop_gradient(xp.max(x, axis=axis, keepdims=True))
    exponentials = xp.exp(shifted)
    rest = total_less_one(exponentials, axis)

    def pullback(g: A) -> A:
        return g - exponentials * (xp.sum(g, axis=axis, keepdims=True) / (rest + 1.0))

    return shifted - xp.log1p(rest), (pullback,)


def total_less_one(terms: A, axis: Axis) -> A:
    """Return Σ terms − 1, accurate also where the largest term is 1, and the others almost 0.

    Args:
        terms: Numbers of at most 1.
        axis: The axis or axes over which they are added; they stay with the length 1.
    """
    xp = namespace(terms)
    ones = xp.floor(terms)
    others = xp.inner(terms, 1.0 - ones, axis=axis, keepdims=True)
    return others + (xp.inner(terms, ones, axis=axis, keepdims=True) - 1.0)


def repeat_to_match_shape(g: A, shape: Shape, axis: Axis, keepdims: bool) -> A:
    """Repeat a reduced `g` over the axes that were reduced from `shape`."""
    xp = namespace(g)
    if axis is not None and not keepdims:
        reduced = _axes(axis, len(shape))
        g = xp.reshape(g, tuple(1 if i in reduced else n for i, n in enumerate(shape)))
    return xp.broadcast_to(g, shape)


def _grad_of_extremum(g: A, x: A, value: A, axis: Axis, keepdims: bool) -> A:
    xp = namespace(x)
    is_extremum = xp.equal(x, repeat_to_match_shape(value, x.shape, axis, keepdims))
    ones = xp.astype(is_extremum, x.dtype)
    weights = ones / xp.sum(ones, axis=axis, keepdims=True)
    return repeat_to_match_shape(g, x.shape, axis, keepdims) * weights


def _axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(i % ndim for i in (axis if isinstance(axis, tuple) else (axis,)))
