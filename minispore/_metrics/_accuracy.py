"""Accuracy: the share of samples that were predicted right."""

import numpy as np

from minispore._metrics._classes import (
    check_eval_type,
    check_multilabel,
    class_count,
    labels_for,
    warn_of_nan,
)
from minispore._metrics._metric import Metric, rearrange_inputs


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
        check_eval_type(eval_type, "Accuracy")
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
        predicted, label = self._predicted_and_true(inputs)
        classes = class_count(predicted, self._class_num, "Accuracy")
        if self._type == "classification":
            warn_of_nan(predicted, "Accuracy")
            correct = predicted.argmax(axis=1) == labels_for(predicted, label, "Accuracy")
        else:
            check_multilabel(predicted, label, "Accuracy")
            correct = (predicted == label).all(axis=1)
        self._class_num = classes
        self._correct_num += int(np.count_nonzero(correct))
        self._total_num += correct.size

    def eval(self) -> float:
        """Return the share of correct samples; RuntimeError if there were none."""
        if self._total_num == 0:
            raise self._no_samples()
        return self._correct_num / self._total_num
