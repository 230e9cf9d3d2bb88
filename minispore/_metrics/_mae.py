"""MAE: the mean absolute error."""

import numpy as np

from minispore._metrics._errors import Errors, MeanOfErrors


class MAE(MeanOfErrors):
    """The mean absolute error, Σ |predicted − true| / N.

    N is the number of samples, the length of the first dimension; the errors of a sample that has
    several values are added up.

    Source: mindspore.train.MAE.

    Examples:
        >>> MAE()([0.0, 2.0, 5.0], [1.0, 2.0, 3.0])
        1.0
    """

    def _error(self, difference: Errors) -> Errors:
        return np.abs(difference)
