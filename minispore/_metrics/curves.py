"""The receiver operating characteristic (ROC), and the area under a curve."""

from typing import Any

import numpy as np

from minispore._metrics._validation import warn_of_nan, without_single_column
from minispore._metrics.metric import Metric, rearrange_inputs
from minispore.utils.arrays import BoolArray, Float64Array, HostArray
from minispore.utils.checks import check_int, value_error

__all__ = ["ROC", "auc"]


class ROC(Metric):
    """The receiver operating characteristic: false and true positive rates at each threshold.

    For a binary classifier, scores and labels have the same shape, and there is one curve. For a
    classifier of `class_num` classes, scores have shape (N, class_num, …) and labels (N, …), and
    there is one curve for each class.

    Args:
        class_num: The number of classes; None or 1 for a binary classifier.
        pos_label: The positive label of a binary classifier; by default 1.

    Raises:
        TypeError: An argument is not an int.
        ValueError: `class_num` is below 1.

    Examples:
        >>> fpr, tpr, thresholds = ROC()([3, 1, 4, 2], [1, 1, 1, 0])
        >>> fpr
        array([0., 0., 0., 1., 1.])
        >>> tpr.round(2)
        array([0.  , 0.33, 0.67, 0.67, 1.  ])
        >>> thresholds
        array([5, 4, 3, 2, 1])

    Source: MindSpore's `mindspore.train.ROC`.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        if class_num is not None:
            check_int(class_num, "class_num", low=1)
        if pos_label is not None:
            check_int(pos_label, "pos_label")
        self.class_num = class_num
        self.pos_label = pos_label
        self._multiclass = class_num not in (None, 1)
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        # For each batch the labels, flattened, and the scores, one row for each curve.
        self._labels: list[HostArray] = []
        self._scores: list[HostArray] = []

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Scores and labels, each a Tensor, array or list.

        Raises:
            ValueError: The number of inputs is not 2, or their shapes do not match each other,
                `class_num` and `pos_label`.
        """
        scores, label = self._convert_pair(inputs)
        scores = without_single_column(scores, label)
        self._check_shapes(scores, label)
        warn_of_nan(scores)
        by_class = np.moveaxis(scores, 1, 0) if self._multiclass else scores[np.newaxis]
        # Copies, since the caller may modify its arrays.
        self._labels.append(label.flatten())
        self._scores.append(by_class.copy().reshape(len(by_class), -1))

    # Any: arrays or lists of arrays, by `class_num`, which a type checker does not follow.
    def eval(self) -> tuple[Any, Any, Any]:
        """Return the curves.

        Returns:
            The false positive rates, the true positive rates and the thresholds, which begin above
            the highest score and descend: three arrays, or three lists of one array for each class.

        Raises:
            RuntimeError: There were no samples.
            ValueError: No sample is positive, or none is negative.
        """
        self._check_samples(sum(label.size for label in self._labels))
        label, scores = np.concatenate(self._labels), np.concatenate(self._scores, axis=1)
        if not self._multiclass:
            return _curve(scores[0], label == (1 if self.pos_label is None else self.pos_label))
        fpr, tpr, thresholds = zip(
            *(_curve(row, label == number) for number, row in enumerate(scores)), strict=True
        )
        return list(fpr), list(tpr), list(thresholds)

    def _check_shapes(self, scores: HostArray, label: HostArray) -> None:
        if scores.shape == label.shape:
            if self._multiclass:
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
            must = f"be {scores.shape[1]} for a predicted value of shape {scores.shape}"
            raise value_error(self.class_num, "class_num", must, function="ROC")
        if self.pos_label is not None:
            raise value_error(
                self.pos_label, "pos_label", "be None if there are several classes", function="ROC"
            )


def _curve(scores: HostArray, positive: BoolArray) -> tuple[HostArray, HostArray, HostArray]:
    for present, name, rate in ((~positive, "negative", "false"), (positive, "positive", "true")):
        if not present.any():
            raise ValueError(
                f"For 'ROC.eval', there is no {name} sample in the true value, so the {rate} "
                "positive rate is meaningless."
            )
    # A small type cannot represent the highest score + 1.
    scores = scores.astype(np.int64 if scores.dtype.kind in "bui" else np.float64)
    thresholds, index = np.unique(-scores, return_inverse=True)
    false_positives, true_positives = (
        np.cumsum(np.bincount(index[mask], minlength=len(thresholds)))
        for mask in (~positive, positive)
    )
    return (
        np.concatenate([[0.0], false_positives / false_positives[-1]]),
        np.concatenate([[0.0], true_positives / true_positives[-1]]),
        np.concatenate([1 - thresholds[:1], -thresholds]),
    )


def auc(x: HostArray, y: HostArray, reorder: bool = False) -> float:
    """Return the area under the curve through the points (x, y), by the trapezoidal rule.

    Args:
        x: Increasing or decreasing, of shape (N,) or (N, 1), with N at least 2.
        y: As many values.
        reorder: Whether to sort the points first, by x and then by y.

    Returns:
        The area.

    Raises:
        TypeError: `x` or `y` is not a numpy array.
        ValueError: A shape is different, or `x` is neither increasing nor decreasing.

    Examples:
        >>> from minispore.train import ROC
        >>> fpr, tpr, _ = ROC()([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
        >>> auc(fpr, tpr)
        0.75

    Source: MindSpore's `mindspore.train.auc`.
    """
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        raise TypeError(
            "For 'auc', the arguments 'x' and 'y' must be numpy.ndarray, "
            f"but got {type(x)} and {type(y)}."
        )
    xs, ys = _as_vector(x, "x"), _as_vector(y, "y")
    if len(xs) != len(ys):
        raise ValueError(
            "For 'auc', the arguments 'x' and 'y' must have one length, "
            f"but got {len(xs)} and {len(ys)}."
        )
    if len(xs) < 2:
        raise ValueError(f"For 'auc', there must be at least 2 points, but got {len(xs)}.")
    if reorder:
        order = np.lexsort((ys, xs))
        xs, ys = xs[order], ys[order]
    widths = np.diff(xs)
    direction = -1 if (widths <= 0).all() else 1
    if (direction * widths < 0).any():
        raise ValueError(
            "For 'auc', the argument 'x' must be increasing or decreasing if 'reorder' is False, "
            f"but got {x}."
        )
    return float(direction * (widths * (ys[1:] + ys[:-1])).sum() / 2)


def _as_vector(values: HostArray, name: str) -> Float64Array:
    if values.ndim != 1 and not (values.ndim == 2 and values.shape[1] == 1):
        raise value_error(values.shape, name, "have shape (N,) or (N, 1)")
    return values.astype(np.float64).ravel()
