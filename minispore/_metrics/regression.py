"""Metrics of real values: mean absolute and mean squared error, and cosine similarity."""

from abc import abstractmethod

import numpy as np

from minispore._metrics.metric import AccumulatingMetric, MeanMetric, rearrange_inputs, safe_divide
from minispore.utils.arrays import Float64Array, HostArray
from minispore.utils.checks import check_arguments, check_one_of

__all__ = ["CosineSimilarity", "MAE", "MSE"]


class _MeanErrorMetric(MeanMetric):
    """Base class of metrics that sum an error and divide it by the number of samples."""

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: Predicted and true values, each a Tensor, array or list of shape (N, …).

        Raises:
            ValueError: The number of inputs is not 2, or their numbers of elements differ.
        """
        predicted, true = self._convert_pair(inputs)
        if predicted.size != true.size or true.ndim == 0:
            raise ValueError(
                f"For '{type(self).__name__}.update', predicted value and true value must have a "
                "dimension of samples and one number of elements, "
                f"but got shapes {predicted.shape} and {true.shape}."
            )
        # In float64, since unsigned integers would wrap around and float16 overflow.
        difference = predicted.astype(np.float64).ravel() - true.astype(np.float64).ravel()
        self._add(float(self._error(difference).sum()), len(true))

    @abstractmethod
    def _error(self, difference: Float64Array) -> Float64Array:
        """Return the error of each element."""


class MAE(_MeanErrorMetric):
    """The mean absolute error, Σ |predicted − true| / N.

    N is the number of samples, the length of the first dimension. The errors of all elements of a
    sample are added.

    Examples:
        >>> MAE()([0.0, 2.0, 5.0], [1.0, 2.0, 3.0])
        1.0

    Source: MindSpore's `mindspore.train.MAE`.
    """

    def _error(self, difference: Float64Array) -> Float64Array:
        return np.abs(difference)


class MSE(_MeanErrorMetric):
    """The mean squared error, Σ (predicted − true)² / N.

    N is the number of samples, the length of the first dimension. The errors of all elements of a
    sample are added.

    Examples:
        >>> MSE()([0.0, 2.0, 4.0, 5.0], [1.0, 2.0, 4.0, 3.0])
        1.25

    Source: MindSpore's `mindspore.train.MSE`.
    """

    def _error(self, difference: Float64Array) -> Float64Array:
        return difference**2


@check_arguments
class CosineSimilarity(AccumulatingMetric[HostArray]):
    """The similarity of each pair of rows, over the rows of all batches.

    It takes one input; with `Model`, select one of the outputs by `set_indexes`.

    Args:
        similarity: "cosine": x·y / (|x| |y|), which is 0 for a row of zeros; "dot": x·y.
        reduction: "none": return the matrix; "sum", "mean": reduce each of its rows.
        zero_diagonal: Whether to set the similarity of each row to itself to 0.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `similarity` or `reduction` is none of these.

    Examples:
        >>> CosineSimilarity()([[3.0, 4.0], [4.0, 3.0], [6.0, 8.0]])
        array([[0.  , 0.96, 1.  ],
               [0.96, 0.  , 0.96],
               [1.  , 0.96, 0.  ]])

    Source: MindSpore's `mindspore.train.CosineSimilarity`.
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        check_one_of(similarity, ("dot", "cosine"), "similarity")
        check_one_of(reduction, ("none", "sum", "mean"), "reduction")
        self.similarity = similarity
        self.reduction = reduction
        self.zero_diagonal = zero_diagonal

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add rows.

        Args:
            *inputs: One Tensor, array or list of shape (N, D).

        Raises:
            ValueError: The number of inputs is not 1, or the input is not a matrix with D columns.
        """
        (rows,) = self._convert_inputs(inputs, "rows")
        if rows.ndim != 2 or (self._values and self._values[0].shape[1] != rows.shape[1]):
            columns = f" of {self._values[0].shape[1]} columns" if self._values else ""
            raise ValueError(
                f"For 'CosineSimilarity.update', the input must be a matrix{columns}, "
                f"but got shape {rows.shape}."
            )
        self._add(rows.astype(np.float64), len(rows), keep=True)

    def eval(self) -> Float64Array:
        """Return the similarities, float64: (N, N), or (N,) reduced; RuntimeError if N is 0."""
        rows = np.concatenate(self._accumulated())
        if self.similarity == "cosine":
            rows = safe_divide(rows, np.linalg.norm(rows, axis=1, keepdims=True))
        result: Float64Array = rows @ rows.T
        if self.zero_diagonal:
            np.fill_diagonal(result, 0)
        if self.reduction != "none":
            result = result.sum(axis=1) if self.reduction == "sum" else result.mean(axis=1)
        return result
