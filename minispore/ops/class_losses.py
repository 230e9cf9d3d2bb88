"""Losses of classes: the cross entropy, and the negative log-likelihood."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import nan
from typing import Literal, NamedTuple, TypeAlias

from minispore.engine import dtypes
from minispore.engine.array import (
    Array,
    device_namespace,
    host_branch,
    is_host,
    to_host,
)
from minispore.engine.dispatch import (
    apply1,
    apply2,
    as_float,
    cast_to,
    check_shape,
    check_tensor,
    dtype_of,
    half_to_float32,
    in_float32,
    promote_operands,
)
from minispore.engine.rules import indexing
from minispore.engine.rules.losses import cross_entropy as cross_entropy_rule
from minispore.engine.rules.losses import softmax_cross_entropy as softmax_cross_entropy_rule
from minispore.ops.arithmetic import add, div, mul, neg, where
from minispore.ops.comparison import (
    equal,
    greater_equal,
    less,
    logical_and,
    logical_not,
    logical_or,
)
from minispore.ops.indexing import one_hot
from minispore.ops.manipulation import check_nonempty, permute
from minispore.ops.reduction import mean, sum
from minispore.ops.tensors import Tensor
from minispore.utils.checks import caller, check_int, check_one_of, check_type, value_error

__all__ = ["cross_entropy", "nll_loss", "softmax_cross_entropy"]

Reduction: TypeAlias = Literal["mean", "sum", "none"]
REDUCTIONS = ("mean", "sum", "none")
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


def apply_reduction(losses: Tensor, reduction: Reduction) -> Tensor:
    """Return the mean or the sum of losses, in their type, or the losses themselves."""
    if reduction == "mean":
        return mean(losses)
    return sum(losses, dtype=dtype_of(losses)) if reduction == "sum" else losses


class ClassificationLossOptions(NamedTuple):
    """The options of a classification loss, and the names of its arguments in errors."""

    names: tuple[str, str]
    weight: Tensor | None
    ignore_index: int | None
    reduction: Reduction
    label_smoothing: float


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return −log of the probability that softmax gives to the target class.

    Args:
        input: The logits, of shape (C,), (N, C) or (N, C, d₁, …) for C classes.
        target: Class labels, integers of the shape of `input` without C; or probabilities of its
            shape.
        weight: The weight of each class, of shape (C,).
        ignore_index: A class label that is ignored.
        reduction: "mean", "sum", or "none" for the loss of each row. The mean over class labels is
            weighted by `weight`; that over probabilities is over the rows.
        label_smoothing: The probability, in [0, 1], that is taken from the target and spread evenly
            over all classes.

    Returns:
        A tensor without axes; with "none" of the shape of `input` without C.

    Raises:
        ValueError: The shapes do not match, or a label is not a class. On a GPU the loss is NaN for
            such a label, since a check would synchronize with the device.

    Examples:
        >>> from minispore import Tensor, ops
        >>> round(ops.cross_entropy(Tensor([[0.0, 0.0], [0.0, 100.0]]), Tensor([0, 1])).item(), 4)
        0.3466

    Source: MindSpore's `mindspore.ops.cross_entropy`.
    """
    names = ("input", "target")
    options = ClassificationLossOptions(names, weight, ignore_index, reduction, label_smoothing)
    check_settings(options)
    return from_logits(input, target, options)


@in_float32
def softmax_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Return −Σ targets · log_softmax(logits) over the last axis.

    Args:
        logits: Of shape (n, classes).
        targets: A distribution over the classes for each row, of the same shape.

    Returns:
        The loss of each row, of shape (n,).

    Raises:
        ValueError: The shapes differ, or there are no classes.

    Examples:
        >>> from minispore import Tensor, ops
        >>> ops.softmax_cross_entropy(Tensor([[0.0, 0.0]]), Tensor([[0.0, 1.0]])).tolist()
        [0.6931471824645996]
    """
    x, y = promote_operands(as_float(logits, "logits"), as_float(targets, "targets"))
    if x.shape != y.shape or x.ndim == 0:
        raise shapes_differ(x, y, "logits", "targets")
    check_nonempty(x.shape, -1)
    return apply2(softmax_cross_entropy_rule, x, y)


def nll_loss(
    inputs: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the negative log-likelihood of the target class, from log-probabilities.

    Args:
        inputs: Log-probabilities, such as `log_softmax` returns, of shape (C,), (N, C) or (N, C,
            d₁, …).
        target: Class labels, integers of the shape of `inputs` without C.
        weight: As in `cross_entropy`.
        ignore_index: As in `cross_entropy`.
        reduction: As in `cross_entropy`.
        label_smoothing: As in `cross_entropy`.

    Returns:
        As `cross_entropy`.

    Raises:
        ValueError: As `cross_entropy`.

    Examples:
        >>> from minispore import Tensor, ops
        >>> log_probabilities = ops.log_softmax(Tensor([[0.0, 0.0], [0.0, 100.0]]))
        >>> round(ops.nll_loss(log_probabilities, Tensor([0, 1])).item(), 4)
        0.3466

    Source: MindSpore's `mindspore.ops.nll_loss`.
    """
    names = ("inputs", "target")
    options = ClassificationLossOptions(names, weight, ignore_index, reduction, label_smoothing)
    check_settings(options)
    x = as_float(inputs, "inputs")
    check_tensor(target, "target")
    _check_kind(target, dtypes.INTEGER, "integers: the classes", options)
    _check_shapes(x, target, options)
    if target.shape == x.shape:
        raise _shape_error(x, target, options)
    rows = _classes_last(half_to_float32(x))
    losses = _loss_of_labels(rows, target, options, _nll, _nll_of_probabilities)
    return cast_to(losses, dtype_of(x))


def check_settings(options: ClassificationLossOptions) -> None:
    """Raise TypeError or ValueError unless the options are valid."""
    if options.weight is not None:
        check_tensor(options.weight, "weight")
    check_int(options.ignore_index, "ignore_index", low=_INT64_MIN, high=_INT64_MAX)
    check_one_of(options.reduction, REDUCTIONS, "reduction")
    check_type(options.label_smoothing, float, "label_smoothing")
    if not 0 <= options.label_smoothing <= 1:
        raise value_error(options.label_smoothing, "label_smoothing", "be in [0, 1]")


def from_logits(logits: Tensor, labels: Tensor, options: ClassificationLossOptions) -> Tensor:
    """Return the cross entropy of logits and labels, as `cross_entropy` defines it."""
    x = as_float(logits, options.names[0])
    check_tensor(labels, options.names[1])
    _check_shapes(x, labels, options)
    rows = _classes_last(half_to_float32(x))
    if labels.shape == x.shape:
        _check_kind(labels, dtypes.FLOAT, "floats: the probabilities of the classes", options)
        targets = _weighted(_classes_last(labels), rows, options)
        losses = apply_reduction(softmax_cross_entropy(rows, targets), options.reduction)
    else:
        _check_kind(labels, dtypes.INTEGER, "integers: the classes", options)
        losses = _loss_of_labels(rows, labels, options, _cross_entropy, softmax_cross_entropy)
    return cast_to(losses, dtype_of(x))


def _labels_in_range(labels: Array, classes: int, ignored: int | None) -> bool:
    """Return whether all labels are classes and none is `ignored`."""
    x = to_host(labels)
    if ignored is not None and 0 <= ignored < classes and ignored in x:
        return False
    # Read without a sign, negative numbers are larger than all classes: one pass finds both.
    return x.size == 0 or int(x.view(f"u{x.itemsize}").max()) < classes


def _any_wrong(labels: Array, classes: int, ignored: int | None) -> bool:
    """Return whether a label is neither a class nor `ignored`."""
    xp = device_namespace(labels)
    x = xp.astype(labels, dtypes.int64.numpy_dtype)
    wrong = xp.logical_or(x < 0, x >= classes)
    if ignored is not None:
        wrong = xp.logical_and(wrong, xp.logical_not(xp.equal(x, ignored)))
    return bool(to_host(xp.any(wrong)))


def _on_host(test: Callable[..., bool], labels: Tensor, classes: int, ignored: int | None) -> bool:
    """Return what a test says of labels on the host; False of others, without waiting for them."""
    data = labels._data
    return is_host(data) and host_branch(partial(test, classes=classes, ignored=ignored), data)


def _check_shapes(x: Tensor, labels: Tensor, options: ClassificationLossOptions) -> None:
    shape = x.shape
    axis = min(len(shape) - 1, 1)
    if not shape or labels.shape not in (shape, shape[:axis] + shape[axis + 1 :]):
        raise _shape_error(x, labels, options)
    if 0 in shape:
        check_nonempty(shape, axis)
    if options.weight is not None:
        check_shape(options.weight, shape[axis : axis + 1], "weight")


def _shape_error(x: Tensor, labels: Tensor, options: ClassificationLossOptions) -> ValueError:
    first, second = options.names
    also = "" if first == "inputs" else f" or that of '{first}'"
    return ValueError(
        f"For '{caller()}', '{first}' must be of shape (N, C, …) and '{second}' of shape "
        f"(N, …){also}, but got {x.shape} and {labels.shape}."
    )


def _loss_of_labels(
    x: Tensor,
    labels: Tensor,
    options: ClassificationLossOptions,
    loss_at_labels: Callable[[Tensor, Tensor, Reduction], Tensor],
    loss_of_probabilities: Callable[[Tensor, Tensor], Tensor],
) -> Tensor:
    """Return the reduced loss of class labels.

    Args:
        x: Logits or log-probabilities, of shape (…, C).
        labels: The labels, of shape (…).
        options: The options.
        loss_at_labels: Returns the reduced loss of `x` and labels, all of which are classes.
        loss_of_probabilities: Returns the loss of each row of `x` and of probabilities.
    """
    names, weight, ignore_index, reduction, label_smoothing = options
    classes, is_plain = x.shape[-1], weight is None and not label_smoothing
    if is_plain and _on_host(_labels_in_range, labels, classes, ignore_index):
        return loss_at_labels(x, labels, reduction)
    has_wrong = _on_host(_any_wrong, labels, classes, ignore_index)
    # In a type that holds each number they are compared with.
    labels = cast_to(labels, dtypes.int64)
    wrong = logical_or(less(labels, 0), greater_equal(labels, classes))
    counted = logical_not(wrong)
    if ignore_index is not None:
        ignored = equal(labels, ignore_index)
        wrong = logical_and(wrong, logical_not(ignored))
        counted = logical_and(counted, logical_not(ignored))
    if has_wrong:
        also = "" if ignore_index is None else f" or the 'ignore_index' {ignore_index}"
        raise ValueError(
            f"For '{caller()}', '{names[1]}' must be in [0, {classes}){also}, but got {labels}."
        )
    chosen = where(counted, labels, 0)
    weights = cast_to(counted, dtype_of(x))
    if label_smoothing:
        targets = one_hot(chosen, classes, 1.0, 0.0)
        losses = loss_of_probabilities(x, _weighted(targets, x, options))
    else:
        losses = loss_at_labels(x, chosen, "none")
    if weight is not None:
        at_labels = apply1(indexing.getitem, weight, (chosen._data,))
        losses = losses if label_smoothing else mul(losses, at_labels)
        weights = mul(weights, at_labels)
    losses = where(counted, losses, 0)
    if not is_host(labels._data):
        # An error would require to synchronize with the device in each step.
        losses = where(wrong, nan, losses)
    if reduction == "mean":
        losses = div(sum(losses), sum(weights))
    else:
        losses = apply_reduction(losses, reduction)
    return cast_to(losses, dtype_of(x))


def _cross_entropy(logits: Tensor, labels: Tensor, reduction: Reduction) -> Tensor:
    return apply1(cross_entropy_rule, logits, _index_of_labels(labels), reduction)


def _nll(x: Tensor, labels: Tensor, reduction: Reduction) -> Tensor:
    picked = apply1(indexing.getitem, x, _index_of_labels(labels))
    return apply_reduction(neg(picked), reduction)


def _nll_of_probabilities(x: Tensor, targets: Tensor) -> Tensor:
    # A class with probability 0 does not count, even if its logarithm is infinite.
    return sum(mul(where(equal(targets, 0), 0, neg(x)), targets), -1)


def _index_of_labels(labels: Tensor) -> tuple[Array, ...]:
    """Return the index of the labels' elements in an array with the classes as the last axis."""
    xp, shape = device_namespace(labels._data), labels.shape
    index = [xp.arange(0, n, 1, dtypes.int64.numpy_dtype) for n in shape]
    if len(shape) > 1:
        index = [xp.reshape(x, (-1, *(1,) * (len(shape) - 1 - i))) for i, x in enumerate(index)]
    return (*index, labels._data)


def _weighted(targets: Tensor, x: Tensor, options: ClassificationLossOptions) -> Tensor:
    """Return target probabilities with label smoothing and the weights of the classes."""
    if options.label_smoothing:
        # In the finer of the two types: one-hot targets are float32.
        finer = dtypes.promote(dtype_of(targets), dtype_of(x))
        even = options.label_smoothing / x.shape[-1]
        targets = add(mul(cast_to(targets, finer), 1 - options.label_smoothing), even)
    return targets if options.weight is None else mul(targets, options.weight)


def _check_kind(
    labels: Tensor, category: int, expected: str, options: ClassificationLossOptions
) -> None:
    if dtype_of(labels).category != category:
        raise TypeError(
            f"For '{caller()}', '{options.names[1]}' of shape {labels.shape} must be "
            f"{expected}, but got {dtype_of(labels)!r}."
        )


def _classes_last(x: Tensor) -> Tensor:
    return x if x.ndim <= 2 else permute(x, (0, *range(2, x.ndim), 1))


def shapes_differ(x: Tensor, y: Tensor, x_name: str, y_name: str) -> ValueError:
    return ValueError(
        f"For '{caller()}', '{x_name}' and '{y_name}' must be of one shape, "
        f"but got {x.shape} and {y.shape}."
    )
