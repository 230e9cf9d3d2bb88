"""Fbeta and F1: precision and recall in one number."""

import math
from typing import ClassVar

from minispore._checks import check_number
from minispore._metrics._positives import Counts, Positives, Ratios, share


class Fbeta(Positives):
    """The weighted harmonic mean of precision P and recall R: (1 + β²)·P·R / (β²·P + R).

    Predictions are scores of shape (N, C, …), labels class numbers (N, …), (N, 1) for (N, C), or
    one-hot of the predictions' shape. `eval` returns the measure of each class, 0 for one without
    hits.

    Args:
        beta: how many times as important recall is as precision.

    Raises:
        TypeError: if `beta` is no number.
        ValueError: if it is not positive.

    Source: mindspore.train.Fbeta.

    Examples:
        >>> fbeta = Fbeta(2)
        >>> fbeta.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> fbeta.eval().round(4)
        array([0.8333, 0.5556])
    """

    _takes_column: ClassVar[bool] = True

    def __init__(self, beta: float) -> None:
        self._beta = check_number(beta, "beta", type(self).__name__)
        if not 0 < self._beta < math.inf:
            raise ValueError(
                f"For 'Fbeta', the argument 'beta' must be positive and finite, but got {beta}."
            )
        super().__init__()

    def _ratio(self, hits: Counts, predicted: Counts, actual: Counts) -> Ratios:
        # The same as with P = hits / predicted and R = hits / actual, in one division.
        square = self._beta**2
        return share((1 + square) * hits, square * actual + predicted)


class F1(Fbeta):
    """The harmonic mean of precision and recall: `Fbeta` with β = 1.

    Source: mindspore.train.F1.

    Examples:
        >>> f1 = F1()
        >>> f1.update([[0.2, 0.5], [0.3, 0.1], [0.9, 0.6]], [1, 0, 1])
        >>> round(f1.eval(average=True), 4)
        0.6667
    """

    def __init__(self) -> None:
        super().__init__(1.0)
