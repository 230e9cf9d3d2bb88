"""Random calls of classification losses, each with PyTorch's equivalent."""

from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from minispore.testing import strategies as mst
from tests.helpers.random_op_calls import Call, generators, numbers, positive

torch: Any = import_module("torch")
functional = torch.nn.functional

Theirs: TypeAlias = Any
reductions = st.sampled_from(["mean", "sum", "none"])


@st.composite
def of_classes(draw: st.DrawFn) -> Call:
    """Draw logits, class indices of which some are ignored, weights and options."""
    rng, count = draw(generators), draw(st.integers(2, 4))
    first, *spatial = draw(mst.shapes(1, 3, 1))
    labels = np.asarray(rng.integers(0, count, (first, *spatial)))
    labels.flat[0] = 0  # at least one label is not ignored
    operands = (numbers(rng, (first, count, *spatial)), labels, positive(rng, (count,)))
    smoothing = draw(st.sampled_from([0.0, 0.25]))
    return Call(operands, (draw(st.sampled_from([-100, count - 1])), draw(reductions), smoothing))


def cross_entropy(
    x: Theirs, y: Theirs, w: Theirs, ignored: int, reduction: str, smoothing: float
) -> Theirs:
    return nll(torch.log_softmax(x, 1), y, w, ignored, reduction, smoothing)


def nll(x: Theirs, y: Theirs, w: Theirs, ignored: int, reduction: str, smoothing: float) -> Theirs:
    """PyTorch's own has no smoothing, and no gradient by the weights."""
    hits = functional.one_hot(y, x.shape[1]).movedim(-1, 1).to(x.dtype)
    weights = w.reshape(-1, *[1] * (x.ndim - 2)) * (y != ignored).unsqueeze(1)
    shares = hits * (1 - smoothing) + smoothing / x.shape[1]
    losses = -(shares * weights * x).sum(1)
    if reduction == "mean":
        return losses.sum() / (hits * weights).sum()
    return losses if reduction == "none" else losses.sum()


def mse(x: Theirs, y: Theirs, reduction: str) -> Theirs:
    return functional.mse_loss(x, y, reduction=reduction)


def l1(x: Theirs, y: Theirs, reduction: str) -> Theirs:
    return functional.l1_loss(x, y, reduction=reduction)
