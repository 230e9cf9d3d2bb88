"""The mean of an error over samples: what MAE and MSE have in common."""

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from minispore._metrics._metric import Metric, rearrange_inputs

Errors = npt.NDArray[np.float64]


class MeanOfErrors(Metric):
    """Base of the measures that sum an error and divide by the number of samples."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._error_sum = 0.0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: predicted and true values, each a Tensor, array or list, of shape (N, …).

        Raises:
            ValueError: if there are not two, or they have not as many elements.
        """
        predicted, true = self._predicted_and_true(inputs)
        if predicted.size != true.size or true.ndim == 0:
            raise ValueError(
                f"For '{type(self).__name__}.update', predicted value and true value must have a "
                "dimension of samples and one number of elements, "
                f"but got shapes {predicted.shape} and {true.shape}."
            )
        # In float64, since unsigned integers would wrap around and float16 overflow.
        difference = predicted.astype(np.float64).ravel() - true.astype(np.float64).ravel()
        self._error_sum += float(self._error(difference).sum())
        self._samples_num += true.shape[0]

    def eval(self) -> float:
        """Return the mean; RuntimeError if there were no samples."""
        if self._samples_num == 0:
            raise self._no_samples()
        return self._error_sum / self._samples_num

    @abstractmethod
    def _error(self, difference: Errors) -> Errors:
        """Return the error of each element."""
