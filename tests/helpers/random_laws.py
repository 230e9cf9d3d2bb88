"""Laws of random numbers. A correct generator violates one with a probability below 1e-9.

Sums of n independent numbers are normally distributed, and 6.5 standard deviations are exceeded
with a probability of 8e-11.
"""

import numpy as np
from numpy.typing import NDArray

LIMIT = 6.5


def assert_frequency(hits: NDArray[np.bool_], probability: float) -> None:
    """Assert that as many of the events happened as the binomial distribution allows."""
    n = hits.size
    deviation = np.sqrt(n * probability * (1 - probability))
    assert abs(np.count_nonzero(hits) - n * probability) <= LIMIT * deviation


def assert_moments(values: NDArray[np.generic], mean: float, deviation: float) -> None:
    """Assert the mean and the deviation, for tails that are not heavier than a normal's."""
    x = (np.asarray(values, np.float64).ravel() - mean) / deviation
    assert abs(x.mean()) <= LIMIT / np.sqrt(x.size)
    assert abs((x**2).mean() - 1) <= LIMIT * np.sqrt(2 / x.size)


def assert_uncorrelated(x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
    """Assert that the correlation of two equally long sequences is that of independent numbers."""
    first, second = (np.asarray(each, np.float64).ravel() for each in (x, y))
    correlation = np.corrcoef(first, second)[0, 1]
    assert abs(correlation) <= LIMIT / np.sqrt(first.size)


def assert_independent_along_axes(values: NDArray[np.generic]) -> None:
    """Assert that neighbours along each axis are uncorrelated: rows are not repeated."""
    for axis in range(values.ndim):
        along = np.moveaxis(values, axis, 0)
        assert_uncorrelated(along[1:], along[:-1])
