"""ConfusionMatrix: how often which class was taken for which."""

import numpy as np
import numpy.typing as npt

from minispore._checks import check_int, check_one_of, check_type
from minispore._metrics._classes import class_numbers, warn_of_nan
from minispore._metrics._metric import Metric, rearrange_inputs
from minispore._metrics._positives import share

Matrix = npt.NDArray[np.float64]


class ConfusionMatrix(Metric):
    """Samples counted by their class (the row) and the one that was predicted (the column).

    Args:
        num_classes: the number of classes.
        normalize: "no_norm": numbers of samples; "target": each row's shares; "prediction": each
            column's shares; "all": shares of all samples. A share of nothing is 0.
        threshold: from what score on a prediction means class 1, where it is one score and not
            one of each class.

    Raises:
        TypeError: if `num_classes` is no int or `threshold` no float.
        ValueError: if `num_classes` is below 1, or for another `normalize`.

    Source: mindspore.train.ConfusionMatrix.

    Examples:
        >>> ConfusionMatrix(2)([0.2, 0.9, 0.7, 0.6], [0, 1, 1, 0])
        array([[1., 1.],
               [0., 2.]])
        >>> ConfusionMatrix(2, normalize="target")([[0.8, 0.2], [0.1, 0.9]], [0, 0])
        array([[0.5, 0.5],
               [0. , 0. ]])
    """

    def __init__(
        self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5
    ) -> None:
        super().__init__()
        self.num_classes: int = check_int(num_classes, "num_classes", "ConfusionMatrix", low=1)
        choices = ("no_norm", "target", "prediction", "all")
        check_one_of(normalize, choices, "normalize", "ConfusionMatrix")
        check_type(threshold, float, "threshold", "ConfusionMatrix")
        self.normalize = normalize
        self.threshold = threshold
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._counts = np.zeros((self.num_classes, self.num_classes), np.int64)

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Count one batch.

        Args:
            *inputs: predictions and class numbers (N, …), each a Tensor, array or list. Predictions
                are scores of shape (N, C, …), of which the highest counts, or of shape (N, …):
                scores of class 1, or class numbers if they are integers and `num_classes` is
                above 2.

        Raises:
            ValueError: if there are not two, their shapes do not fit each other, or something is no
                class number.
        """
        predicted, label = self._predicted_and_true(inputs)
        warn_of_nan(predicted, "ConfusionMatrix")
        if predicted.ndim == label.ndim + 1 and predicted.ndim > 1 and predicted.shape[1]:
            predicted = predicted.argmax(axis=1)
        elif self.num_classes <= 2 or predicted.dtype.kind not in "biu":
            predicted = (predicted >= self.threshold).astype(np.int64)
        if predicted.shape != label.shape:
            raise ValueError(
                "For 'ConfusionMatrix.update', the predicted value must have the shape of the true "
                "value, or a second dimension of classes besides, but got true value "
                f"{label.shape} and predicted value {predicted.shape} without such a dimension."
            )
        size = self.num_classes
        rows, columns = (class_numbers(a, size, "ConfusionMatrix") for a in (label, predicted))
        counts = np.bincount((rows * size + columns).ravel(), minlength=size * size)
        self._counts = self._counts + counts.reshape(size, size)

    def eval(self) -> Matrix:
        """Return the matrix, float64, (num_classes, num_classes); RuntimeError without samples."""
        if not self._counts.any():
            raise self._no_samples()
        counts = self._counts.astype(np.float64)
        if self.normalize == "no_norm":
            return counts
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        return share(counts, np.broadcast_to(counts.sum(axis=axis, keepdims=True), counts.shape))
