"""ROC: hits against false alarms, at every threshold."""

from typing import Any

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int
from minispore._metrics._classes import warn_of_nan
from minispore._metrics._metric import Metric, rearrange_inputs

Array = npt.NDArray[Any]
Curve = tuple[Array, Array, Array]
Curves = tuple[list[Array], list[Array], list[Array]]


class ROC(Metric):
    """The receiver operating characteristic: what each threshold lets through.

    A binary classifier has one curve: scores and labels are of one shape. One of `class_num`
    classes has a curve for each of them: scores are of shape (N, class_num, …), labels (N, …).

    Args:
        class_num: the number of classes; None or 1 for a binary classifier.
        pos_label: the positive label of a binary classifier; by default 1.

    Raises:
        TypeError: for an argument that is no int.
        ValueError: if `class_num` is below 1.

    Source: mindspore.train.ROC.

    Examples:
        >>> fpr, tpr, thresholds = ROC()([3, 1, 4, 2], [1, 1, 1, 0])
        >>> fpr
        array([0., 0., 0., 1., 1.])
        >>> tpr.round(2)
        array([0.  , 0.33, 0.67, 0.67, 1.  ])
        >>> thresholds
        array([5, 4, 3, 2, 1])
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        if class_num is not None:
            check_int(class_num, "class_num", "ROC", low=1)
        if pos_label is not None:
            check_int(pos_label, "pos_label", "ROC")
        self.class_num = class_num
        self.pos_label = pos_label
        self._many = class_num not in (None, 1)
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        # One flat array of labels for each batch, and a row of scores for each of its curves.
        self._labels: list[Array] = []
        self._scores: list[Array] = []

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: scores and labels, each a Tensor, array or list.

        Raises:
            ValueError: if there are not two, or their shapes do not fit each other, `class_num`
                and `pos_label`.
        """
        scores, label = self._predicted_and_true(inputs)
        if scores.shape[:1] + scores.shape[2:] == label.shape and scores.shape[1:2] == (1,):
            scores = scores.reshape(label.shape)  # a binary classifier's only column
        self._check_shapes(scores, label)
        warn_of_nan(scores, "ROC")
        # Copies: what was given is the caller's.
        self._labels.append(label.flatten())
        self._scores.append(_by_class(scores) if self._many else scores.reshape(1, -1).copy())

    def eval(self) -> Curve | Curves:
        """Return the curves.

        Returns:
            The shares of false alarms among the negatives and of hits among the positives, and
            the thresholds, from above the highest score downwards: three arrays, or three lists of
            an array for each class.

        Raises:
            RuntimeError: if there were no samples.
            ValueError: if nothing is positive, or nothing negative.
        """
        if not any(label.size for label in self._labels):
            raise self._no_samples()
        label, scores = np.concatenate(self._labels), np.concatenate(self._scores, axis=1)
        if not self._many:
            return _curve(scores[0], label == (1 if self.pos_label is None else self.pos_label))
        fpr, tpr, thresholds = zip(
            *(_curve(row, label == number) for number, row in enumerate(scores)), strict=True
        )
        return list(fpr), list(tpr), list(thresholds)

    def _check_shapes(self, scores: Array, label: Array) -> None:
        if scores.shape == label.shape:
            if self._many:
                raise ValueError(
                    "For 'ROC', the argument 'class_num' must be None or 1 if predicted value and "
                    f"true value have the same shape {label.shape}, but got {self.class_num}."
                )
            return
        if scores.shape[:1] + scores.shape[2:] != label.shape:
            raise ValueError(
                "For 'ROC.update', the true value must have the shape of the predicted value, or "
                "that without its second dimension, "
                f"but got predicted value {scores.shape} and true value {label.shape}."
            )
        if scores.shape[1] != self.class_num:
            raise ValueError(
                f"For 'ROC', the argument 'class_num' must be {scores.shape[1]} for a predicted "
                f"value of shape {scores.shape}, but got {self.class_num}."
            )
        if self.pos_label is not None:
            raise ValueError(
                "For 'ROC', the argument 'pos_label' must be None if there are several classes, "
                f"but got {self.pos_label}."
            )


def _by_class(scores: Array) -> Array:
    """Return scores of shape (N, C, …) as (C, N·…)."""
    return np.moveaxis(scores, 1, 0).copy().reshape(scores.shape[1], -1)


def _curve(scores: Array, positive: npt.NDArray[np.bool_]) -> Curve:
    for present, name, rate in ((~positive, "negative", "false"), (positive, "positive", "true")):
        if not present.any():
            raise ValueError(
                f"For 'ROC.eval', there is no {name} sample in the true value, so the {rate} "
                "positive rate is meaningless."
            )
    if scores.dtype.kind in "bui":  # which have no place above their highest value
        scores = scores.astype(np.int64)
    thresholds, place = np.unique(-scores, return_inverse=True)
    hits = np.cumsum(np.bincount(place[positive], minlength=len(thresholds)))
    alarms = np.cumsum(np.bincount(place[~positive], minlength=len(thresholds)))
    return (
        np.concatenate([[0.0], alarms / alarms[-1]]),
        np.concatenate([[0.0], hits / hits[-1]]),
        np.concatenate([1 - thresholds[:1], -thresholds]),
    )
