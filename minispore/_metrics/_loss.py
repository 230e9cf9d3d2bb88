"""Loss: the mean of the losses of an evaluation's batches."""

import numpy as np

from minispore._metrics._metric import Metric, rearrange_inputs


class Loss(Metric):
    """The mean loss over batches, each batch counting once.

    Source: mindspore.train.Loss.

    Examples:
        >>> loss = Loss()
        >>> for value in ([1.0], [2.0]):
        ...     loss.update(value)
        >>> loss.eval()
        1.5
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._sum_loss = 0.0
        self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add the loss of one batch.

        Args:
            *inputs: one Tensor, array or list: a scalar, or one-dimensional and then its mean.

        Raises:
            ValueError: if there is not one input, or it has more dimensions.
        """
        self._check_count(inputs, 1, "loss")
        loss = self._convert_data(inputs[0])
        if loss.ndim > 1:
            raise ValueError(
                f"For 'Loss.update', the dimension of the loss must be 0 or 1, but got {loss.ndim}."
            )
        if loss.size:
            self._sum_loss += float(loss.mean(dtype=np.float64))
            self._total_num += 1

    def eval(self) -> float:
        """Return the mean; RuntimeError if there was no batch."""
        if self._total_num == 0:
            raise self._no_samples()
        return self._sum_loss / self._total_num
