"""Dice: how much two regions overlap."""

import numpy as np

from minispore._checks import check_type
from minispore._metrics._metric import Metric, rearrange_inputs


class Dice(Metric):
    """The mean of the samples' Dice coefficients 2·Σ p·t / (Σ p² + Σ t² + smooth).

    For regions of zeros and ones this is twice their intersection over the sum of their sizes:
    1 (nearly, for `smooth`) where they are the same, 0 where they do not meet.

    Args:
        smooth: keeps the quotient of two empty regions defined.

    Raises:
        TypeError: if `smooth` is no float.
        ValueError: if it is not positive.

    Source: mindspore.train.Dice.

    Examples:
        >>> dice = Dice()
        >>> dice.update([[0, 1, 1, 0], [1, 0, 0, 0]], [[0, 1, 0, 0], [1, 0, 0, 0]])
        >>> round(dice.eval(), 4)
        0.8333
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        check_type(smooth, float, "smooth", "Dice")
        if not smooth > 0:
            raise ValueError(
                f"For 'Dice', the argument 'smooth' must be positive, but got {smooth}."
            )
        self.smooth = smooth
        self.clear()

    def clear(self) -> None:
        """Forget what has been seen."""
        self._dice_sum = 0.0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: object) -> None:
        """Add one batch.

        Args:
            *inputs: predicted and true regions, each a Tensor, array or list, of one shape (N, …).

        Raises:
            ValueError: if there are not two, or their shapes differ.
        """
        predicted, true = self._predicted_and_true(inputs)
        if predicted.shape != true.shape or true.ndim == 0:
            raise ValueError(
                "For 'Dice.update', predicted value and true value must have a dimension of "
                f"samples and the same shape, but got {predicted.shape} and {true.shape}."
            )
        rest = tuple(range(1, true.ndim))
        p, t = predicted.astype(np.float64), true.astype(np.float64)
        overlap, total = (p * t).sum(axis=rest), (p**2 + t**2).sum(axis=rest)
        self._dice_sum += float((2 * overlap / (total + self.smooth)).sum())
        self._samples_num += len(true)

    def eval(self) -> float:
        """Return the mean coefficient; RuntimeError if there were no samples."""
        if self._samples_num == 0:
            raise self._no_samples()
        return self._dice_sum / self._samples_num
