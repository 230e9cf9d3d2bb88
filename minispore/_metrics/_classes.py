"""What predictions of classes and their labels must look like, whatever is measured of them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from minispore._warn import warn

Array = npt.NDArray[Any]


def check_eval_type(eval_type: object, owner: str) -> None:
    """Raise TypeError unless `eval_type` is one of MindSpore's two."""
    if eval_type not in ("classification", "multilabel"):
        raise TypeError(
            f"For '{owner}', the argument 'eval_type' must be 'classification' or "
            f"'multilabel', but got {eval_type!r}."
        )


def class_count(predicted: Array, before: int, owner: str) -> int:
    """Return the number of classes; ValueError if it is not the one `before` (0: there is none)."""
    if predicted.ndim < 2 or predicted.shape[1] == 0:
        raise ValueError(
            f"For '{owner}.update', the predicted value must have a class in its second "
            f"dimension, but got shape {predicted.shape}."
        )
    classes: int = predicted.shape[1]
    if before not in (0, classes):
        raise ValueError(
            f"For '{owner}.update', class number not match: the last predicted value had "
            f"{before} classes, this one has {classes}."
        )
    return classes


def warn_of_nan(scores: Array, owner: str) -> None:
    """Warn if a score is NaN: it is neither above nor below another."""
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        warn(
            f"For '{owner}.update', some of the predicted values are NaN, which have no order, so "
            "that the result means nothing: the training may have diverged."
        )


def labels_for(predicted: Array, label: Array, owner: str, *, column: bool = False) -> Array:
    """Return the labels in the shape of `predicted` without its second dimension.

    Args:
        predicted: scores of shape (N, C, …).
        label: class numbers of shape (N, …), or one-hot of the shape of `predicted`.
        owner: the metric that the error names.
        column: take class numbers of shape (N, 1) with scores (N, C), too.
    """
    if label.shape == predicted.shape and _is_one_hot(label):
        label = label.argmax(axis=1)
    elif column and predicted.ndim == 2 and label.shape == (len(predicted), 1):
        label = label[:, 0]
    if label.shape != predicted.shape[:1] + predicted.shape[2:]:
        raise ValueError(
            f"For '{owner}.update', in classification case the true value must have the shape of "
            "the predicted value without its second dimension, or be one-hot, "
            f"but got predicted value {predicted.shape} and true value {label.shape}."
        )
    return label


def class_numbers(label: Array, classes: int, owner: str) -> npt.NDArray[np.intp]:
    """Return `label` as indexes; ValueError if something in it is no class number."""
    with np.errstate(invalid="ignore"):  # a NaN is found below
        numbers = label.astype(np.intp)
    wrong = (numbers != label) | (numbers < 0) | (numbers >= classes)
    if wrong.any():
        raise ValueError(
            f"For '{owner}.update', the predicted value has {classes} classes, so the true value "
            f"must be an integer in [0, {classes}), but got {label[wrong].flat[0]}."
        )
    return numbers


def check_multilabel(predicted: Array, label: Array, owner: str) -> None:
    """Raise ValueError unless both are of one shape and of zeros and ones."""
    if predicted.shape != label.shape:
        raise ValueError(
            f"For '{owner}.update', in multilabel case predicted value and true value must have "
            f"one shape, but got {predicted.shape} and {label.shape}."
        )
    if not (is_binary(predicted) and is_binary(label)):
        raise ValueError(
            f"For '{owner}.update', in multilabel case all elements of predicted value and "
            "true value must be 0 or 1."
        )


def is_binary(array: Array) -> bool:
    """Return whether all elements are 0 or 1."""
    return bool(((array == 0) | (array == 1)).all())


def _is_one_hot(label: Array) -> bool:
    return is_binary(label) and bool((label.sum(axis=1) == 1).all())
