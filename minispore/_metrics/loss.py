"""Metrics of a model's loss: its mean over batches, and perplexity."""

import math
from types import NoneType

import numpy as np

from minispore._metrics._validation import as_class_indices, check_several_classes
from minispore._metrics.metric import MeanMetric, rearrange_inputs
from minispore.utils.checks import check_type

__all__ = ["Loss", "Perplexity"]

# Smaller probabilities are raised to this one, since log 0 is infinite.
_MIN_PROBABILITY = 1e-10


class Loss(MeanMetric):
    """The mean loss over batches; every batch has the same weight, also a smaller last one.

    The result "eval_loss" of `Model.fit`, which callbacks may monitor, is the mean over rows.

    Examples:
        >>> loss = Loss()
        >>> for value in ([1.0], [2.0]):
        ...     loss.update(value)
        >>> loss.eval()
        1.5

    Source: MindSpore's `mindspore.train.Loss`.
    """

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add the loss of one batch.

        Args:
            *inputs: One Tensor, array or list: a scalar, or a vector, of which the mean is taken.

        Raises:
            ValueError: The number of inputs is not 1, or the input has more than 1 dimension.
        """
        (loss,) = self._convert_inputs(inputs, "loss")
        if loss.ndim > 1:
            raise ValueError(
                f"For 'Loss.update', the dimension of the loss must be 0 or 1, but got {loss.ndim}."
            )
        if loss.size:
            self._add(float(loss.mean(dtype=np.float64)), 1)


class Perplexity(MeanMetric):
    """The exponential of the mean negative log-likelihood of the true classes.

    Args:
        ignore_label: A label whose rows are not counted, such as that of padding; None to count
            all rows.

    Raises:
        TypeError: `ignore_label` is neither int nor None.

    Examples:
        >>> perplexity = Perplexity(ignore_label=-1)
        >>> perplexity.update([[0.5, 0.5], [0.25, 0.75], [0.1, 0.9]], [1, 0, -1])
        >>> round(perplexity.eval(), 4)
        2.8284

    Source: MindSpore's `mindspore.train.Perplexity`.
    """

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        self.ignore_label: int | None = check_type(ignore_label, (int, NoneType), "ignore_label")

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Probabilities of shape (…, C), and one class index for each row; each a Tensor,
                array or list. Probabilities below 1e-10 count as 1e-10.

        Raises:
            ValueError: The number of inputs is not 2, or a label is not a class index.
            RuntimeError: The numbers of labels and rows differ.
        """
        predicted, label = self._convert_inputs(inputs, "predicted value", "label")
        classes = predicted.shape[-1] if predicted.ndim else 0
        if label.size * classes != predicted.size:
            raise RuntimeError(
                "For 'Perplexity.update', there must be a label for each row of the predicted "
                f"value, but got predicted value {predicted.shape} and label {label.shape}."
            )
        if predicted.size == 0:
            return
        check_several_classes(predicted, -1)
        rows, label = predicted.reshape(-1, classes), label.ravel()
        if self.ignore_label is not None:
            counted = label != self.ignore_label
            rows, label = rows[counted], label[counted]
        indices = as_class_indices(label, classes)
        probabilities = rows[np.arange(len(rows)), indices].astype(np.float64)
        self._add(float(np.log(np.maximum(probabilities, _MIN_PROBABILITY)).sum()), len(rows))

    def eval(self) -> float:
        """Return the perplexity; RuntimeError if no row was counted."""
        return math.exp(-super().eval())


class LossOfRows(Loss):
    """The mean loss over rows: each batch has its number of rows as its weight."""

    rows = 1  # of the next batch

    def _add(self, value: float, count: int, *, keep: bool = False) -> None:
        super()._add(value * self.rows, self.rows, keep=keep)
