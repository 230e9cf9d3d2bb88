"""From a loss for each element to one number; and the losses that go element by element."""

from typing import Literal, TypeAlias

from minispore._checks import check_one_of
from minispore._functional.apply import apply1, apply2, unfit
from minispore._functional.operands import as_float, check_numbers, dtype_of, pair
from minispore._functional.reduction import mean, sum
from minispore._functional.variable import T, Variable, check_tensor
from minispore._rules import arithmetic, elementwise
from minispore._warn import warn

Reduction: TypeAlias = Literal["mean", "sum", "none"]
REDUCTIONS = ("mean", "sum", "none")


def mse_loss(input: T, target: T, reduction: Reduction = "mean") -> T:
    """The square of the difference; integers count as float32.

    >>> from minispore import Tensor, ops
    >>> ops.mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
    Tensor(shape=[], dtype=Float32, value= 2)

    Source: MindSpore's `mindspore.ops.mse_loss`.

    Args:
        input: What was predicted.
        target: What it should be. Shapes broadcast, with a warning unless one is that of a number.
        reduction: "mean", "sum", or "none" to leave the elements as they are.

    Raises:
        TypeError: An argument is no tensor, or of bools.
        ValueError: The shapes do not broadcast, or `reduction` is none of these.
    """
    x = _difference(input, target, reduction, "mse_loss")
    return reduced(apply1(elementwise.square, as_float(x, "mse_loss")), reduction)


def l1_loss(input: T, target: T, reduction: Reduction = "mean") -> T:
    """The absolute difference, in the common type of both (the mean of integers is cut to one).

    >>> from minispore import Tensor, ops
    >>> ops.l1_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
    Tensor(shape=[], dtype=Float32, value= 1)

    Source: MindSpore's `mindspore.ops.l1_loss`.

    Args:
        input: What was predicted.
        target: What it should be. Shapes broadcast, with a warning unless one is that of a number.
        reduction: "mean", "sum", or "none" to leave the elements as they are.

    Raises:
        TypeError: An argument is no tensor, or of bools.
        ValueError: The shapes do not broadcast, or `reduction` is none of these.
    """
    x = _difference(input, target, reduction, "l1_loss")
    return reduced(apply1(elementwise.absolute, x), reduction)


def warn_of_broadcasting(input: Variable, target: Variable, owner: str) -> None:
    """Warn if two shapes differ, unless one of them is a single number's.

    With outputs of shape (N, 1) and labels of shape (N,), every output is compared with every
    label: training runs, and learns the mean of the labels.
    """
    if input.shape != target.shape and input.shape and target.shape:
        warn(
            f"For '{owner}', the predictions are of shape {input.shape} and the targets of shape "
            f"{target.shape}. They are broadcast, which is hardly what is meant: reshape one of "
            "them, so that the shapes are the same."
        )


def reduced(losses: T, reduction: Reduction) -> T:
    """The mean or the sum of losses, in their type, or they themselves."""
    if reduction == "mean":
        return mean(losses)
    return sum(losses, dtype=dtype_of(losses)) if reduction == "sum" else losses


def _difference(input: T, target: T, reduction: Reduction, owner: str) -> T:
    check_tensor(input, owner)
    check_tensor(target, owner, "target")
    check_one_of(reduction, REDUCTIONS, "reduction", owner)
    x, y = pair(input, target, owner)
    check_numbers(x, owner)
    try:
        difference = apply2(arithmetic.subtract, x, y)
    except ValueError:
        raise unfit(owner, input.shape, target.shape) from None
    warn_of_broadcasting(input, target, owner)
    return difference
