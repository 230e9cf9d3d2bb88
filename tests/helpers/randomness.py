"""Laws of random numbers, each violated by a correct generator with a probability below 1e-8."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from math import exp, lgamma, log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=Hashable)

# The probability with which a correct program fails, for each outcome.
ERROR = 1e-9
# A sum of many independent numbers is normally distributed: the probability to be outside of so
# many standard deviations is 8e-11.
DEVIATIONS = 6.5


def assert_frequencies(draws: Iterable[Hashable], probabilities: Mapping[T, float]) -> None:
    """Assert of independent draws: no other outcome, and none too rare or too frequent.

    Use so many draws that an outcome that never occurs would be too rare: about 21 / probability.
    """
    counts: Counter[Hashable] = Counter(draws)
    total = counts.total()
    assert counts.keys() <= probabilities.keys(), "an impossible outcome"
    for outcome, probability in probabilities.items():
        least, most = binomial_bounds(total, probability)
        assert least <= counts[outcome] <= most, (
            f"{outcome} occurred {counts[outcome]} times in {total}, not {least} to {most} times"
        )


def uniform(outcomes: Iterable[T]) -> dict[T, float]:
    listed = list(outcomes)
    return dict.fromkeys(listed, 1 / len(listed))


@cache
def binomial_bounds(draws: int, probability: float) -> tuple[int, int]:
    """Return the least and the greatest count of an outcome that are not improbable."""
    if probability in {0.0, 1.0}:
        return round(draws * probability), round(draws * probability)
    least = _least_probable_count(draws, probability)
    return least, draws - _least_probable_count(draws, 1 - probability)


def _least_probable_count(draws: int, probability: float) -> int:
    """Return the least count such that all smaller ones together have a probability up to ERROR."""
    below = 0.0
    for count in range(draws + 1):
        ways = lgamma(draws + 1) - lgamma(count + 1) - lgamma(draws - count + 1)
        below += exp(ways + count * log(probability) + (draws - count) * log(1 - probability))
        if below > ERROR:
            return count
    return draws


def assert_frequency(events: NDArray[np.bool_], probability: float) -> None:
    """Assert that independent events are as frequent as their probability says."""
    assert_frequencies(events.ravel().tolist(), {True: probability, False: 1 - probability})


def assert_uniform(values: NDArray[np.floating], bound: float) -> None:
    """Assert that values are uniform in ±bound and that neighbours are independent."""
    size = np.abs(values) / bound
    assert size.max() <= 1 + 1e-6
    for below in (0.01, 0.25, 0.5, 0.75, 0.99):
        assert_frequency(size < below, below)
    positive = values.ravel()[: values.size // 2 * 2].reshape(-1, 2) > 0
    assert_frequency(positive, 0.5)
    assert_frequency(positive[:, 0] == positive[:, 1], 0.5)


def assert_moments(values: NDArray[np.generic], mean: float, deviation: float) -> None:
    """Assert the mean and the deviation, for tails that are not heavier than a normal's."""
    x = (np.asarray(values, np.float64).ravel() - mean) / deviation
    assert abs(x.mean()) <= DEVIATIONS / np.sqrt(x.size)
    assert abs((x**2).mean() - 1) <= DEVIATIONS * np.sqrt(2 / x.size)


def assert_uncorrelated(x: NDArray[np.generic], y: NDArray[np.generic]) -> None:
    """Assert that the correlation of two equally long sequences is that of independent numbers."""
    first, second = (np.asarray(values, np.float64).ravel() for values in (x, y))
    correlation = np.corrcoef(first, second)[0, 1]
    assert abs(correlation) <= DEVIATIONS / np.sqrt(first.size)


def assert_independent_along_axes(values: NDArray[np.generic]) -> None:
    """Assert that neighbours along each axis are uncorrelated: rows are not repeated."""
    for axis in range(values.ndim):
        along = np.moveaxis(values, axis, 0)
        assert_uncorrelated(along[1:], along[:-1])
