"""MSE: the mean squared error."""

from minispore._metrics._errors import Errors, MeanOfErrors


class MSE(MeanOfErrors):
    """The mean squared error, Σ (predicted − true)² / N.

    N is the number of samples, the length of the first dimension; the errors of a sample that has
    several values are added up.

    Source: mindspore.train.MSE.

    Examples:
        >>> MSE()([0.0, 2.0, 4.0, 5.0], [1.0, 2.0, 4.0, 3.0])
        1.25
    """

    def _error(self, difference: Errors) -> Errors:
        return difference**2
