"""Softmax and what is made of it."""

from minispore._array import A, namespace
from minispore._rules._types import Binary, Unary


def softmax(x: A, axis: int) -> Unary[A]:
    """eˣ / Σ eˣ along `axis`."""
    xp = namespace(x)
    powers = xp.exp(x - xp.constant(xp.max(x, axis=axis, keepdims=True)))
    value = powers / xp.sum(powers, axis=axis, keepdims=True)

    def pullback(g: A) -> A:
        return value * (g - xp.sum(g * value, axis=axis, keepdims=True))

    return value, (pullback,)


def log_softmax(x: A, axis: int) -> Unary[A]:
    """x − log Σ eˣ along `axis`."""
    xp = namespace(x)
    shifted = x - xp.constant(xp.max(x, axis=axis, keepdims=True))
    value = shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))

    def pullback(g: A) -> A:
        return g - xp.exp(value) * xp.sum(g, axis=axis, keepdims=True)

    return value, (pullback,)


def softmax_cross_entropy(logits: A, targets: A) -> Binary[A]:
    """−Σ targets · log softmax(logits) over the last axis: one loss for each row.

    One rule rather than the composition, because the derivative is simpler than the function.
    """
    xp = namespace(logits)
    value, _ = log_softmax(logits, -1)
    # Of 0 · log 0, the loss by a class that has no probability on either side, the limit is 0.
    costs = xp.where(xp.equal(targets, 0.0), 0.0, value)
    loss = -xp.sum(targets * costs, axis=-1)

    def to_logits(g: A) -> A:
        mass = xp.sum(targets, axis=-1, keepdims=True)
        return xp.expand_dims(g, axis=-1) * (xp.exp(value) * mass - targets)

    return loss, (to_logits, lambda g: xp.expand_dims(-g, axis=-1) * value)
