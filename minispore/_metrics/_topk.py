"""Top-k accuracy: the share of samples whose class is among the k with the highest scores."""

import numpy as np

from minispore._checks import check_int
from minispore._metrics._classes import class_count, labels_for, warn_of_nan
from minispore._metrics._metric import Metric, rearrange_inputs


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the `k` with the highest scores.

    Of equal scores the one of the lower class counts as higher.

    Args:
        k: how many.

    Raises:
        TypeError: if `k` is no int.
        ValueError: if it is below 1.

    Source: mindspore.train.TopKCategoricalAccuracy.

    Examples:
        >>> scores = [[0.1, 0.6, 0.3], [0.5, 0.3, 0.2]]
        >>> TopKCategoricalAccuracy(2)(scores, [2, 2])
        0.5
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k: int = check_int(k, "k", type(self).__name__, low=1)
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._correct = 0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Count one batch.

        Args:
            *inputs: scores of shape (N, C, …), and class numbers of shape (N, …) or one-hot of the
                scores' shape; each a Tensor, array or list. With scores (N, C) class numbers may
                also be (N, 1).

        Raises:
            ValueError: if there are not two, their shapes do not fit each other, or there are
                fewer than `k` classes.
        """
        owner = type(self).__name__
        scores, label = self._predicted_and_true(inputs)
        if class_count(scores, 0, owner) < self.k:
            raise ValueError(
                f"For '{owner}.update', there must be at least k = {self.k} classes, "
                f"but the predicted value has shape {scores.shape}."
            )
        label = labels_for(scores, label, owner, column=True)
        warn_of_nan(scores, owner)
        # Negated as floats, since unsigned integers have no negatives. A NaN comes last.
        best = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, : self.k]
        self._correct += int(np.count_nonzero(best == np.expand_dims(label, 1)))
        self._samples_num += label.size

    def eval(self) -> float:
        """Return the share; RuntimeError if there were no samples."""
        if self._samples_num == 0:
            raise self._no_samples()
        return self._correct / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class has the highest score.

    Source: mindspore.train.Top1CategoricalAccuracy.

    Examples:
        >>> Top1CategoricalAccuracy()([[0.1, 0.6, 0.3], [0.5, 0.3, 0.2]], [1, 2])
        0.5
    """

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class is among the five with the highest scores.

    Source: mindspore.train.Top5CategoricalAccuracy.

    Examples:
        >>> Top5CategoricalAccuracy()([[0.1, 0.5, 0.3, 0.2, 0.0, 0.4]], [0])
        1.0
    """

    def __init__(self) -> None:
        super().__init__(5)
