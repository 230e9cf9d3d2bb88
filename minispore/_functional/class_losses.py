"""Losses of classes: −log of the probability of the right one, from logits or from logarithms."""

from typing import Generic, NamedTuple

from minispore import _dtype
from minispore._array import device_namespace, is_host, to_host
from minispore._checks import check_int, check_one_of, check_type
from minispore._functional.arithmetic import add, div, maximum, mul, neg, where
from minispore._functional.axes import check_elements
from minispore._functional.comparison import (
    equal,
    greater_equal,
    less,
    logical_and,
    logical_not,
    logical_or,
)
from minispore._functional.indexing import one_hot
from minispore._functional.losses import REDUCTIONS, Reduction, reduced
from minispore._functional.operands import as_float, cast_to, dtype_of
from minispore._functional.reduction import sum
from minispore._functional.shape import expand_dims, permute
from minispore._functional.softmax import softmax_cross_entropy
from minispore._functional.variable import T, Variable, check_tensor

_LOW, _HIGH = -(1 << 63), (1 << 63) - 1


class Settings(NamedTuple, Generic[T]):
    """What is said of such a loss besides its two tensors, and what it and these are called."""

    owner: str
    names: tuple[str, str]
    weight: T | None
    ignore_index: int
    reduction: Reduction
    label_smoothing: float


def cross_entropy(
    input: T,
    target: T,
    weight: T | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> T:
    """−log of the probability that softmax gives to the right class.

    >>> from minispore import Tensor, ops
    >>> ops.cross_entropy(Tensor([[0.0, 0.0], [0.0, 100.0]]), Tensor([0, 1]))
    Tensor(shape=[], dtype=Float32, value= 0.346574)

    Source: MindSpore's `mindspore.ops.cross_entropy`.

    Args:
        input: The logits, of shape (C,), (N, C) or (N, C, d₁, …), C being the number of classes.
        target: Classes, integers of the shape without C; or probabilities, of the same shape.
        weight: The importance of each class, of shape (C,).
        ignore_index: A class that does not count.
        reduction: "mean", "sum", or "none" for a loss for each row. The mean of classes is
            weighted by `weight`; that of probabilities is over the rows.
        label_smoothing: The share of probability, in [0, 1], taken from the target and spread
            over all classes.

    Raises:
        TypeError: An argument is of the wrong type, or `target` of one that does not fit its shape.
        ValueError: The shapes do not fit, `reduction` is none of these, `label_smoothing` out of
            range, or a target no class. On a GPU the loss is NaN for such a target, since looking
            for it would wait for the device.
    """
    names = ("input", "target")
    how = Settings("cross_entropy", names, weight, ignore_index, reduction, label_smoothing)
    check_settings(how)
    return from_logits(input, target, how)


def nll_loss(
    inputs: T,
    target: T,
    weight: T | None = None,
    ignore_index: int = -100,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
) -> T:
    """`cross_entropy` from the logarithms of probabilities, such as `log_softmax` gives.

    >>> from minispore import Tensor, ops
    >>> ops.nll_loss(ops.log_softmax(Tensor([[0.0, 0.0], [0.0, 100.0]])), Tensor([0, 1]))
    Tensor(shape=[], dtype=Float32, value= 0.346574)

    Source: MindSpore's `mindspore.ops.nll_loss`.

    Args:
        inputs: The logarithms, of shape (C,), (N, C) or (N, C, d₁, …).
        target: Classes, integers of the shape without C.
        weight: As in `cross_entropy`.
        ignore_index: As in `cross_entropy`.
        reduction: As in `cross_entropy`.
        label_smoothing: As in `cross_entropy`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: As `cross_entropy`.
    """
    names = ("inputs", "target")
    how = Settings("nll_loss", names, weight, ignore_index, reduction, label_smoothing)
    check_settings(how)
    x = as_float(inputs, "nll_loss", "inputs")
    check_tensor(target, "nll_loss", "target")
    _check_kind(target, _dtype.INTEGER, "integers: the classes", how)
    axis = _axis_of_classes(x, target, how)
    if target.shape == x.shape:
        raise _unfit(x, target, how)
    targets, counts = _targets(target, x, axis, how)
    # What has no probability does not count, even if its logarithm is infinite.
    costs = where(equal(targets, 0), 0, neg(_classes_last(x, axis)))
    return _averaged(sum(mul(costs, targets), -1), counts, x, how)


def check_settings(how: Settings[T]) -> None:
    """Raise TypeError or ValueError unless each of the settings is one."""
    check_type(how.weight, Variable, "weight", how.owner, none=True)
    check_int(how.ignore_index, "ignore_index", how.owner, low=_LOW, high=_HIGH)
    check_one_of(how.reduction, REDUCTIONS, "reduction", how.owner)
    check_type(how.label_smoothing, float, "label_smoothing", how.owner)
    if not 0 <= how.label_smoothing <= 1:
        raise ValueError(
            f"For '{how.owner}', the argument 'label_smoothing' must be in [0, 1], "
            f"but got {how.label_smoothing}."
        )


def from_logits(logits: T, labels: T, how: Settings[T]) -> T:
    """The loss, as `cross_entropy` says.

    Raises:
        TypeError: An argument is no tensor, or of a type that does not fit its shape.
        ValueError: The shapes do not fit, or a label is no class.
    """
    x = as_float(logits, how.owner, how.names[0])
    check_tensor(labels, how.owner, how.names[1])
    axis = _axis_of_classes(x, labels, how)
    targets, counts = _targets(labels, x, axis, how)
    return _averaged(softmax_cross_entropy(_classes_last(x, axis), targets), counts, x, how)


def are_classes(labels: Variable, classes: int, ignored: int = -1) -> bool:
    """Whether all labels are classes, and none is the ignored one; cheap, as nearly always true."""
    if 0 in labels.shape:
        return True
    data = labels._data
    xp = device_namespace(data)
    low, high = to_host(xp.min(data)).item(), to_host(xp.max(data)).item()
    return low >= 0 and high < classes and not low <= ignored <= high


def marked(targets: T, excused: T | None = None) -> T:
    """One-hot targets on a device, with NaN in the row of each label that is no class.

    So the loss is NaN; to look whether there are any would wait for the device at every step.
    """
    right = sum(targets, -1, True)  # 0 for what is no class
    if excused is not None:
        right = maximum(right, expand_dims(cast_to(excused, dtype_of(targets)), -1))
    return div(targets, right)


def _axis_of_classes(x: T, labels: T, how: Settings[T]) -> int:
    """Along which axis the classes are; ValueError unless the shapes fit."""
    shape = x.shape
    axis = min(len(shape) - 1, 1)
    if not shape or labels.shape not in (shape, shape[:axis] + shape[axis + 1 :]):
        raise _unfit(x, labels, how)
    check_elements(shape, axis, how.owner)
    if how.weight is not None and how.weight.shape != shape[axis : axis + 1]:
        raise ValueError(
            f"For '{how.owner}', 'weight' must be of shape ({shape[axis]},), "
            f"but got {how.weight.shape}."
        )
    return axis


def _unfit(x: T, labels: T, how: Settings[T]) -> ValueError:
    first, second = how.names
    also = "" if how.owner == "nll_loss" else f" or that of '{first}'"
    return ValueError(
        f"For '{how.owner}', '{first}' must be of shape (N, C, …) and '{second}' of shape "
        f"(N, …){also}, but got {x.shape} and {labels.shape}."
    )


def _targets(labels: T, x: T, axis: int, how: Settings[T]) -> tuple[T, T | None]:
    """What the probabilities should be, weighted, with the classes last; and how much rows count.

    The second is None where that is 1 for all.
    """
    classes, counts = x.shape[axis], None
    if labels.shape == x.shape:
        _check_kind(labels, _dtype.FLOAT, "floats: the probabilities of the classes", how)
        targets = _classes_last(labels, axis)
    else:
        _check_kind(labels, _dtype.INTEGER, "integers: the classes", how)
        targets, counts = _from_classes(labels, classes, x, how)
    if how.label_smoothing:
        even = how.label_smoothing / classes
        # In the finer of the two types: one-hot targets are float32.
        finer = _dtype.promote(dtype_of(targets), dtype_of(x), how.owner)
        targets = add(mul(cast_to(targets, finer), 1 - how.label_smoothing), even)
        if counts is not None:
            # What is ignored has no probability to spread.
            some = logical_not(equal(counts, 0))
            targets = mul(targets, expand_dims(cast_to(some, dtype_of(x)), -1))
    return targets if how.weight is None else mul(targets, how.weight), counts


def _from_classes(labels: T, classes: int, x: T, how: Settings[T]) -> tuple[T, T | None]:
    """One-hot targets, and how much each label counts if that is not 1 for all."""
    seen = is_host(labels._data)
    if seen and how.weight is None and are_classes(labels, classes, how.ignore_index):
        return one_hot(labels, classes, 1.0, 0.0), None
    # In a type that holds each number they are compared with.
    labels = cast_to(labels, _dtype.int64)
    ignored = equal(labels, how.ignore_index)
    wrong = logical_or(less(labels, 0), greater_equal(labels, classes))
    wrong = logical_and(wrong, logical_not(ignored))
    if seen and to_host(device_namespace(wrong._data).any(wrong._data)).item():
        raise ValueError(
            f"For '{how.owner}', '{how.names[1]}' must be in [0, {classes}) or the 'ignore_index' "
            f"{how.ignore_index}, but got {labels}."
        )
    targets = one_hot(labels, classes, 1.0, 0.0)
    counts = cast_to(logical_not(ignored), dtype_of(x))
    targets = mul(targets if seen else marked(targets, ignored), expand_dims(counts, -1))
    if how.weight is not None:
        counts = sum(mul(targets, how.weight), -1)
    return targets, counts


def _averaged(losses: T, counts: T | None, x: T, how: Settings[T]) -> T:
    """The losses, reduced, in the type of the logits `x`."""
    if how.reduction == "mean" and counts is not None:
        losses = div(sum(losses), sum(counts))
    else:
        losses = reduced(losses, how.reduction)
    return cast_to(losses, dtype_of(x))


def _check_kind(labels: Variable, category: int, wanted: str, how: Settings[T]) -> None:
    if dtype_of(labels).category != category:
        raise TypeError(
            f"For '{how.owner}', '{how.names[1]}' of shape {labels.shape} must be {wanted}, "
            f"but got {dtype_of(labels)!r}."
        )


def _classes_last(x: T, axis: int) -> T:
    if axis == x.ndim - 1:
        return x
    return permute(x, (0, *range(2, x.ndim), 1))
