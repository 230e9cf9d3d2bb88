"""Losses of elements: squares, absolute values, binary cross entropies and divergences."""

from __future__ import annotations

from typing import Literal, TypeAlias

from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    host_check,
    is_host,
    to_host,
)
from minispore.engine.dispatch import (
    apply1,
    apply2,
    as_float,
    broadcast_error,
    cast_to,
    check_numbers,
    check_tensor,
    dtype_of,
    in_float32,
    promote_operands,
)
from minispore.engine.rules import arithmetic, elementwise
from minispore.ops._primitive import Primitive
from minispore.ops.arithmetic import add, div, mul, neg, sub, where
from minispore.ops.class_losses import REDUCTIONS, Reduction, apply_reduction, shapes_differ
from minispore.ops.comparison import (
    greater,
)
from minispore.ops.elementwise import log
from minispore.ops.reduction import sum
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_one_of
from minispore.utils.warn import warn_at_caller

__all__ = [
    "BinaryCrossEntropy", "KLDivLoss", "SigmoidCrossEntropyWithLogits", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "l1_loss", "mse_loss",
]  # fmt: skip


DivergenceReduction: TypeAlias = Literal["mean", "sum", "none", "batchmean"]
DIVERGENCE_REDUCTIONS = (*REDUCTIONS, "batchmean")


@in_float32
def mse_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Return the squared difference of `input` and `target`, averaged by default.

    Args:
        input: The prediction; integers are computed as float32.
        target: The target, whose shape broadcasts with that of `input`; another shape than a
            scalar's gives a warning.
        reduction: "mean", "sum", or "none" for the elementwise losses.

    Returns:
        A tensor without axes; with "none" of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.mse_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
        2.0

    Source: MindSpore's `mindspore.ops.mse_loss`.
    """
    x = _difference(input, target, reduction)
    return apply_reduction(apply1(elementwise.square, x), reduction)


@in_float32
def l1_loss(input: Tensor, target: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Return the absolute difference of `input` and `target`, averaged by default.

    Args:
        input: The prediction; integers are computed as float32.
        target: The target, whose shape broadcasts with that of `input`; another shape than a
            scalar's gives a warning.
        reduction: "mean", "sum", or "none" for the elementwise losses.

    Returns:
        A tensor without axes, of the promoted float type; with "none" of the broadcast shape.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.l1_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])).item()
        1.0

    Source: MindSpore's `mindspore.ops.l1_loss`.
    """
    x = _difference(input, target, reduction)
    return apply_reduction(apply1(elementwise.absolute, x), reduction)


def warn_of_broadcasting(input: Tensor, target: Tensor) -> None:
    """Warn if two shapes differ, unless one of them is a scalar's.

    With outputs of shape (N, 1) and labels of shape (N,) every output is compared with every
    label: the training runs, and the network learns the mean of the labels.
    """
    if input.shape != target.shape and input.shape and target.shape:
        warn_at_caller(
            f"For '{caller()}', the predictions are of shape {input.shape} and the targets of "
            f"shape {target.shape}. They are broadcast, which is hardly what is meant: reshape one "
            "of them, so that the shapes are the same."
        )


def _difference(input: Tensor, target: Tensor, reduction: Reduction) -> Tensor:
    check_tensor(input)
    check_tensor(target, "target")
    check_one_of(reduction, REDUCTIONS, "reduction")
    return float_difference(input, target)


def float_difference(input: Tensor, target: Tensor) -> Tensor:
    """Return `input - target`, of integers in float32, with a warning if it is broadcast.

    Raises:
        TypeError: They are bools, or have no common type.
        ValueError: The shapes do not broadcast.
    """
    x, y = promote_operands(input, target)
    check_numbers(x)
    integers = dtype_of(x).category < dtypes.FLOAT
    if integers:
        # Unsigned integers have no negative difference, and float32 not that of large ones.
        x, y = cast_to(x, dtypes.float64), cast_to(y, dtypes.float64)
    try:
        difference = apply2(arithmetic.subtract, x, y)
    except ValueError:
        raise broadcast_error(input.shape, target.shape) from None
    warn_of_broadcasting(input, target)
    return cast_to(difference, dtypes.float32) if integers else difference


@in_float32
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Return −(y log p + (1 − y) log(1 − p)), where p is the sigmoid of `input` and y is `target`.

    Args:
        input: The logits.
        target: Probabilities, in [0, 1], of the same shape.
        weight: A factor of each element, broadcast to the shape of `input`.
        pos_weight: A factor of the term y log p, broadcast to the shape of `input`.
        reduction: "mean", "sum", or "none" for the elementwise losses.

    Returns:
        A tensor without axes; with "none" of the shape of `input`.

    Raises:
        ValueError: `input` and `target` differ in shape, or a factor does not broadcast to it.

    Examples:
        >>> from minispore import Tensor, ops
        >>> loss = ops.binary_cross_entropy_with_logits(Tensor([0.0, 100.0]), Tensor([1.0, 1.0]))
        >>> round(loss.item(), 4)
        0.3466

    Source: MindSpore's `mindspore.ops.binary_cross_entropy_with_logits`.
    """
    check_one_of(reduction, REDUCTIONS, "reduction")
    x, y = promote_operands(as_float(input), as_float(target, "target"))
    if x.shape != y.shape:
        raise shapes_differ(x, y, "input", "target")
    _check_factor(weight, x, "weight")
    _check_factor(pos_weight, x, "pos_weight")
    # -log sigmoid(x) = softplus(-x), and -log(1 - sigmoid(x)) = softplus(x).
    below = apply1(elementwise.softplus, neg(x))
    above = apply1(elementwise.softplus, x)
    right = y if pos_weight is None else mul(y, pos_weight)
    losses = add(mul(right, below), mul(sub(1, y), above))
    if weight is not None:
        losses = mul(losses, weight)
    return apply_reduction(losses, reduction)


class SigmoidCrossEntropyWithLogits(Primitive):
    """The primitive of `binary_cross_entropy_with_logits`, which does not reduce the losses.

    Examples:
        >>> from minispore import Tensor, ops
        >>> loss = ops.SigmoidCrossEntropyWithLogits()(Tensor([0.0, 100.0]), Tensor([1.0, 1.0]))
        >>> [round(x, 4) for x in loss.tolist()]
        [0.6931, 0.0]

    Source: MindSpore's `mindspore.ops.SigmoidCrossEntropyWithLogits`.
    """

    def __call__(self, logits: Tensor, label: Tensor) -> Tensor:
        """Apply the operation."""
        return binary_cross_entropy_with_logits(logits, label, reduction="none")


def binary_cross_entropy(
    logits: Tensor, labels: Tensor, weight: Tensor | None = None, reduction: Reduction = "mean"
) -> Tensor:
    """Return −(y log x + (1 − y) log(1 − x)) of probabilities x and targets y.

    The arguments of the logarithms are increased by 1e-12, so the loss of an element is at most
    27.6 instead of infinity.

    Args:
        logits: Probabilities, not logits: the name is MindSpore's.
        labels: The targets, in [0, 1], of the same shape.
        weight: A factor of each element, whose shape broadcasts with that of `logits`.
        reduction: "mean", "sum", or "none" for the elementwise losses.

    Returns:
        A tensor without axes; with "none" of the shape of `logits`.

    Raises:
        ValueError: The shapes differ.
        RuntimeError: A probability is not in [0, 1]. On a GPU the loss is NaN instead.

    Examples:
        >>> from minispore import Tensor, ops
        >>> round(ops.binary_cross_entropy(Tensor([0.5]), Tensor([1.0])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.ops.binary_cross_entropy`.
    """
    return binary_cross_entropy_as(logits, labels, weight, reduction)


@in_float32
def binary_cross_entropy_as(
    logits: Tensor, labels: Tensor, weight: Tensor | None, reduction: Reduction
) -> Tensor:
    """Return `binary_cross_entropy`; errors name that function, or the loss that calls this."""
    check_one_of(reduction, REDUCTIONS, "reduction")
    x = as_float(logits, "logits")
    y = as_float(labels, "labels")
    if x.shape != y.shape:
        raise shapes_differ(x, y, "logits", "labels")
    _check_factor(weight, x, "weight")
    # Not on a device, where the check would synchronize; the loss is NaN there.
    if is_host(x._data):
        host_check(_check_probabilities, x._data)
    epsilon = 1e-12
    positive = mul(y, log(add(x, epsilon)))
    negative = mul(sub(1, y), log(add(sub(1, x), epsilon)))
    losses = neg(add(positive, negative))
    if weight is not None:
        losses = mul(losses, as_float(weight, "weight"))
    return apply_reduction(losses, reduction)


def _check_probabilities(x: Array, function: str | None = None) -> None:
    host = to_host(x)
    if ((host < 0) | (host > 1)).any():
        function = function or caller()
        raise RuntimeError(f"For '{function}', 'logits' must be in [0, 1], but are not all.")


class BinaryCrossEntropy(Primitive):
    """The primitive of `binary_cross_entropy`.

    Args:
        reduction: "mean", "sum" or "none".

    Examples:
        >>> from minispore import Tensor, ops
        >>> round(ops.BinaryCrossEntropy()(Tensor([0.5]), Tensor([1.0])).item(), 4)
        0.6931

    Source: MindSpore's `mindspore.ops.BinaryCrossEntropy`.
    """

    def __init__(self, reduction: Reduction = "mean") -> None:
        check_one_of(reduction, REDUCTIONS, "reduction")
        self.reduction: Reduction = reduction

    def __call__(self, logits: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
        """Apply the operation."""
        return binary_cross_entropy(logits, labels, weight, self.reduction)


def kl_div(logits: Tensor, labels: Tensor, reduction: DivergenceReduction = "mean") -> Tensor:
    """Return the Kullback–Leibler divergence y · (log y − x) of probabilities y and logarithms x.

    Args:
        logits: Logarithms of probabilities.
        labels: Probabilities, of the same shape; those that are not above 0 do not count.
        reduction: "mean" over all elements, "batchmean" for the sum divided by the length of the
            first axis, "sum", or "none" for the elements.

    Returns:
        A tensor without axes; with "none" of the shape of `logits`.

    Raises:
        ValueError: The shapes differ.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.kl_div(Tensor([-1.0, -2.0]), Tensor([1.0, 0.0]), "sum").item()
        1.0

    Source: MindSpore's `mindspore.ops.kl_div`.
    """
    return kl_div_as(logits, labels, reduction)


@in_float32
def kl_div_as(logits: Tensor, labels: Tensor, reduction: DivergenceReduction) -> Tensor:
    """Return `kl_div`; errors name that function, or the loss that calls this."""
    check_one_of(reduction, DIVERGENCE_REDUCTIONS, "reduction")
    x = as_float(logits, "logits")
    y = as_float(labels, "labels")
    if x.shape != y.shape:
        raise shapes_differ(x, y, "logits", "labels")
    present = greater(y, 0)
    logarithms = log(where(present, y, 1.0))
    losses = where(present, mul(y, sub(logarithms, x)), 0.0)
    if reduction != "batchmean":
        return apply_reduction(losses, reduction)
    if not x.ndim:
        raise ValueError(f"For '{caller()}', 'logits' must have a first axis, but is a scalar.")
    return div(sum(losses), x.shape[0])


class KLDivLoss(Primitive):
    """The primitive of `kl_div`.

    Args:
        reduction: "mean", "batchmean", "sum" or "none".

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.KLDivLoss("sum")(Tensor([-1.0, -2.0]), Tensor([1.0, 0.0])).item()
        1.0

    Source: MindSpore's `mindspore.ops.KLDivLoss`.
    """

    def __init__(self, reduction: DivergenceReduction = "mean") -> None:
        check_one_of(reduction, DIVERGENCE_REDUCTIONS, "reduction")
        self.reduction: DivergenceReduction = reduction

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Apply the operation."""
        return kl_div(logits, labels, self.reduction)


def _check_factor(factor: Tensor | None, x: Tensor, name: str) -> None:
    if factor is None:
        return
    check_tensor(factor, name)
    padded = (1,) * (len(x.shape) - len(factor.shape)) + factor.shape
    if len(padded) != len(x.shape) or any(
        n not in (1, m) for n, m in zip(padded, x.shape, strict=True)
    ):
        raise ValueError(
            f"For '{caller()}', the shape of '{name}' must broadcast to that of 'input', "
            f"{x.shape}, but is {factor.shape}."
        )
