"""Rules of the cross entropy of logits, fused because the derivative is simpler than the loss."""

from math import prod

from minispore.engine.array import A, namespace
from minispore.engine.rules import Binary, Unary
from minispore.engine.rules.indexing import Index
from minispore.engine.rules.reduction import log_softmax, total_less_one


def cross_entropy(logits: A, index: Index, reduction: str) -> Unary[A]:
    """Return −log softmax(logits) over the last axis, at one class of each row.

    Args:
        logits: An array of shape (…, C).
        index: The index of the classes' logits: arrays of integers that broadcast to (…).
        reduction: "mean", "sum", or "none" for the loss of each row.

    Returns:
        The loss and the pullback: the gradient is softmax, less 1 at the class.
    """
    xp = namespace(logits)
    shifted = logits - xp.stop_gradient(xp.max(logits, axis=-1, keepdims=True))
    exponentials = xp.exp(shifted)
    rests = total_less_one(exponentials, -1)[..., 0]
    losses = xp.log1p(rests) - shifted[index]
    count = prod(losses.shape) if reduction == "mean" else 1

    def pullback(g: A) -> A:
        g = xp.broadcast_to(g / count, losses.shape)
        gradient = exponentials * xp.expand_dims(g / (rests + 1.0), axis=-1)
        gradient -= xp.scatter_add(g, index=index, shape=logits.shape)  # in place: the array is new
        return gradient

    if reduction == "none":
        return losses, (pullback,)
    return xp.mean(losses) if reduction == "mean" else xp.sum(losses), (pullback,)


def softmax_cross_entropy(logits: A, targets: A) -> Binary[A]:
    """Return −Σ targets · log softmax(logits) over the last axis: one loss for each row."""
    xp = namespace(logits)
    value, _ = log_softmax(logits, -1)
    # The limit of 0 · log 0, for a class with probability 0 in both, is 0.
    costs = xp.where(xp.equal(targets, 0.0), 0.0, value)
    loss = -xp.sum(targets * costs, axis=-1)

    def to_logits(g: A) -> A:
        mass = xp.sum(targets, axis=-1, keepdims=True)
        return xp.expand_dims(g, axis=-1) * (xp.exp(value) * mass - targets)

    return loss, (to_logits, lambda g: xp.expand_dims(-g, axis=-1) * value)
