"""Checks of predicted classes and labels, which several metrics share."""

import numpy as np

from minispore.utils.arrays import HostArray, IndexArray
from minispore.utils.checks import caller
from minispore.utils.warn import warn_at_caller


def check_eval_type(eval_type: object) -> None:
    """Raise TypeError unless `eval_type` is "classification" or "multilabel"."""
    if not isinstance(eval_type, str) or eval_type not in ("classification", "multilabel"):
        raise TypeError(
            f"For '{caller()}', the argument 'eval_type' must be 'classification' or "
            f"'multilabel', but got {eval_type!r}."
        )


def class_count(predicted: HostArray, previous: int) -> int:
    """Return the number of classes; ValueError unless it is `previous`, or that is 0."""
    if predicted.ndim < 2 or predicted.shape[1] == 0:
        raise ValueError(
            f"For '{caller()}', the predicted value must have a class in its second "
            f"dimension, but got shape {predicted.shape}."
        )
    classes: int = predicted.shape[1]
    if previous not in (0, classes):
        raise ValueError(
            f"For '{caller()}', class number not match: the last predicted value had "
            f"{previous} classes, this one has {classes}."
        )
    return classes


def check_several_classes(predicted: HostArray, axis: int = 1) -> None:
    """Raise ValueError if there is one score for each sample, which does not determine a class."""
    if predicted.shape[axis] == 1:
        raise ValueError(
            f"For '{caller()}', the predicted value must have scores of at least 2 classes, but "
            f"got shape {predicted.shape}. The output p of a binary classifier gives the scores "
            "[1 - p, p]; 'ConfusionMatrix' and 'ROC' take p."
        )


def without_single_column(scores: HostArray, label: HostArray) -> HostArray:
    """Return scores (N, 1, …) of a binary classifier in the shape (N, …) of their labels."""
    is_column = scores.shape[1:2] == (1,) and scores.shape[:1] + scores.shape[2:] == label.shape
    return scores.reshape(label.shape) if is_column else scores


def warn_of_nan(scores: HostArray) -> None:
    """Warn if a score is NaN, which cannot be ordered."""
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        warn_at_caller(
            f"For '{caller()}', some predicted values are NaN, which have no order, so "
            "the result is meaningless: the training may have diverged."
        )


def match_labels(predicted: HostArray, label: HostArray, *, column: bool = False) -> HostArray:
    """Return the labels in the shape of `predicted` without its second dimension.

    Args:
        predicted: Scores of shape (N, C, …).
        label: Class indices of shape (N, …), or one-hot of the shape of `predicted`.
        column: Whether class indices of shape (N, 1) are accepted for scores (N, C).
    """
    check_several_classes(predicted)
    if label.shape == predicted.shape and _is_one_hot(label):
        label = label.argmax(axis=1)
    elif column and predicted.ndim == 2 and label.shape == (len(predicted), 1):
        label = label[:, 0]
    if label.shape != predicted.shape[:1] + predicted.shape[2:]:
        raise ValueError(
            f"For '{caller()}', in classification case the true value must have the shape of "
            "the predicted value without its second dimension, or be one-hot, "
            f"but got predicted value {predicted.shape} and true value {label.shape}."
        )
    return label


def as_class_indices(label: HostArray, classes: int) -> IndexArray:
    """Return `label` as integers; ValueError if an element is not a class index."""
    with np.errstate(invalid="ignore"):  # NaN is rejected below
        indices = label.astype(np.intp)
    invalid = (indices != label) | (indices < 0) | (indices >= classes)
    if invalid.any():
        raise ValueError(
            f"For '{caller()}', the predicted value has {classes} classes, so the true value "
            f"must be an integer in [0, {classes}), but got {label[invalid].flat[0]}."
        )
    return indices


def check_multilabel(predicted: HostArray, label: HostArray) -> None:
    """Raise ValueError unless both have the same shape and all elements are 0 or 1."""
    if predicted.shape != label.shape:
        raise ValueError(
            f"For '{caller()}', in multilabel case predicted value and true value must have "
            f"one shape, but got {predicted.shape} and {label.shape}."
        )
    if not (is_binary(predicted) and is_binary(label)):
        raise ValueError(
            f"For '{caller()}', in multilabel case all elements of predicted value and "
            "true value must be 0 or 1."
        )


def is_binary(array: HostArray) -> bool:
    """Return whether all elements are 0 or 1."""
    return bool(((array == 0) | (array == 1)).all())


def _is_one_hot(label: HostArray) -> bool:
    return is_binary(label) and bool((label.sum(axis=1) == 1).all())
