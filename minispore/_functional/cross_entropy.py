"""Binary cross entropy: the loss between a sigmoid and what it should be."""

from minispore._checks import check_one_of
from minispore._functional.apply import apply1
from minispore._functional.arithmetic import add, mul, neg, sub
from minispore._functional.losses import REDUCTIONS, Reduction, reduced
from minispore._functional.operands import as_float, pair
from minispore._functional.variable import T, Variable, check_tensor
from minispore._rules import elementwise as rules


def binary_cross_entropy_with_logits(
    input: T,
    target: T,
    weight: T | None = None,
    pos_weight: T | None = None,
    reduction: Reduction = "mean",
) -> T:
    """−(y log p + (1 − y) log (1 − p)), where p is the sigmoid of `input` and y is `target`.

    >>> from minispore import Tensor, ops
    >>> ops.binary_cross_entropy_with_logits(Tensor([0.0, 100.0]), Tensor([1.0, 1.0]))
    Tensor(shape=[], dtype=Float32, value= 0.346574)

    Args:
        input: What the sigmoid is taken of.
        target: What that should be, in [0, 1], of the same shape.
        weight: A factor for each element; its shape must broadcast with theirs.
        pos_weight: A factor for the part of the loss where the label is 1, to broadcast likewise.
        reduction: "mean", "sum", or "none" to leave the elements as they are.

    Raises:
        TypeError: An argument is no tensor.
        ValueError: `input` and `target` differ in shape, a weight does not broadcast to them, or
            `reduction` is none of these.
    """
    owner = "binary_cross_entropy_with_logits"
    check_one_of(reduction, REDUCTIONS, "reduction", owner)
    x, y = pair(as_float(input, owner), as_float(target, owner, "target"), owner)
    if x.shape != y.shape:
        raise ValueError(
            f"For '{owner}', 'input' and 'target' must be of one shape, "
            f"but got {x.shape} and {y.shape}."
        )
    _check_factor(weight, x, "weight", owner)
    _check_factor(pos_weight, x, "pos_weight", owner)
    # -log sigmoid(x) = softplus(-x), and -log(1 - sigmoid(x)) = softplus(-x) + x.
    below = apply1(rules.softplus, neg(x))
    right = y if pos_weight is None else mul(y, pos_weight)
    losses = add(mul(right, below), mul(sub(1, y), add(below, x)))
    if weight is not None:
        losses = mul(losses, weight)
    return reduced(losses, reduction)


def _check_factor(factor: Variable | None, x: Variable, name: str, owner: str) -> None:
    if factor is None:
        return
    check_tensor(factor, owner, name)
    own = (1,) * (len(x.shape) - len(factor.shape)) + factor.shape
    if len(own) != len(x.shape) or any(n not in (1, m) for n, m in zip(own, x.shape, strict=True)):
        raise ValueError(
            f"For '{owner}', the shape of '{name}' must broadcast to that of 'input', {x.shape}, "
            f"but is {factor.shape}."
        )
