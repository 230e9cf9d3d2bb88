"""Accuracy: the share of samples that were predicted right."""

from typing import Any

import numpy as np
import numpy.typing as npt

from minispore.train.metrics._metric import Metric, rearrange_inputs


class Accuracy(Metric):
    """The share of correct predictions: (number correct) / (number of samples).

    Args:
        eval_type: "classification": predictions are scores of shape (N, C, …), labels class
            numbers (N, …), or one-hot of the predictions' shape; correct is the class with the
            highest score. "multilabel": both are 0 or 1, of one shape (N, C, …); a sample is
            correct if all its C labels are.

    Raises:
        TypeError: for another `eval_type`.

    Source: mindspore.train.Accuracy.

    Examples:
        >>> accuracy = Accuracy()
        >>> accuracy.update([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], [1, 0, 0])
        >>> round(accuracy.eval(), 4)
        0.6667
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(
                "For 'Accuracy', the argument 'eval_type' must be 'classification' or "
                f"'multilabel', but got {eval_type!r}."
            )
        self._type = eval_type
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._correct_num = 0
        self._total_num = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Count one batch.

        Args:
            *inputs: predictions and labels, each a Tensor, array or list.

        Raises:
            ValueError: if there are not two, or their shapes or values do not fit each other.
        """
        self._check_count(inputs, 2, "predicted value, true value")
        predicted, label = (self._convert_data(item) for item in inputs)
        if predicted.ndim < 2:
            raise ValueError(
                "For 'Accuracy.update', the predicted value must have a class in its second "
                f"dimension, but got shape {predicted.shape}."
            )
        classes = predicted.shape[1]
        if self._class_num not in (0, classes):
            raise ValueError(
                "For 'Accuracy.update', class number not match: the last predicted value had "
                f"{self._class_num} classes, this one has {classes}."
            )
        if self._type == "classification":
            correct = _right_class(predicted, label)
        else:
            correct = _all_labels_right(predicted, label)
        self._class_num = classes
        self._correct_num += int(np.count_nonzero(correct))
        self._total_num += correct.size

    def eval(self) -> float:
        """Return the share of correct samples; RuntimeError if there were none."""
        if self._total_num == 0:
            raise self._no_samples()
        return self._correct_num / self._total_num


def _right_class(predicted: npt.NDArray[Any], label: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if label.shape == predicted.shape and _is_one_hot(label):
        label = label.argmax(axis=1)
    if label.shape != predicted.shape[:1] + predicted.shape[2:]:
        raise ValueError(
            "For 'Accuracy.update', in classification case the true value must have the shape of "
            "the predicted value without its second dimension, or be one-hot, "
            f"but got predicted value {predicted.shape} and true value {label.shape}."
        )
    return np.asarray(predicted.argmax(axis=1) == label)


def _is_one_hot(label: npt.NDArray[Any]) -> bool:
    zero_or_one = bool(((label == 0) | (label == 1)).all())
    return zero_or_one and bool((label.sum(axis=1) == 1).all())


def _all_labels_right(
    predicted: npt.NDArray[Any], label: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    if predicted.shape != label.shape:
        raise ValueError(
            "For 'Accuracy.update', in multilabel case predicted value and true value must have "
            f"one shape, but got {predicted.shape} and {label.shape}."
        )
    for array in (predicted, label):
        if not ((array == 0) | (array == 1)).all():
            raise ValueError(
                "For 'Accuracy.update', in multilabel case all elements of predicted value and "
                "true value must be 0 or 1."
            )
    return np.asarray((predicted == label).all(axis=1))
