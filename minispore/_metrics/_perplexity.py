"""Perplexity: how many words a language model wavers between, on average."""

import math

import numpy as np

from minispore._checks import check_type
from minispore._metrics._classes import class_numbers
from minispore._metrics._metric import Metric, rearrange_inputs

# A probability of 0 would make everything infinite.
_LEAST = 1e-10


class Perplexity(Metric):
    """exp(−mean of log p), with p the probability that was given to what came.

    Args:
        ignore_label: a label that is not counted, padding say; None for counting all.

    Raises:
        TypeError: if `ignore_label` is neither int nor None.

    Source: mindspore.train.Perplexity.

    Examples:
        >>> perplexity = Perplexity(ignore_label=-1)
        >>> perplexity.update([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]], [1, 0, -1])
        >>> round(perplexity.eval(), 4)
        2.8284
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        check_type(ignore_label, int, "ignore_label", "Perplexity", none=True)
        self.ignore_label = ignore_label
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._log_sum = 0.0
        self._num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: probabilities of shape (…, C), and as many class numbers as there are rows;
                each a Tensor, array or list. A probability below 1e-10 counts as that.

        Raises:
            ValueError: if there are not two, or a label is no class number.
            RuntimeError: if there are not as many labels as rows.
        """
        self._check_count(inputs, 2, "predicted value, label")
        predicted, label = (self._convert_data(item) for item in inputs)
        classes = predicted.shape[-1] if predicted.ndim else 0
        if label.size * classes != predicted.size:
            raise RuntimeError(
                "For 'Perplexity.update', there must be a label for each row of the predicted "
                f"value, but got predicted value {predicted.shape} and label {label.shape}."
            )
        if predicted.size == 0:
            return
        rows, label = predicted.reshape(-1, classes), label.ravel()
        if self.ignore_label is not None:
            counted = label != self.ignore_label
            rows, label = rows[counted], label[counted]
        numbers = class_numbers(label, classes, "Perplexity")
        given = rows[np.arange(len(rows)), numbers].astype(np.float64)
        self._log_sum += float(np.log(np.maximum(given, _LEAST)).sum())
        self._num += len(rows)

    def eval(self) -> float:
        """Return the perplexity; RuntimeError if no label was counted."""
        if self._num == 0:
            raise self._no_samples()
        return math.exp(-self._log_sum / self._num)
