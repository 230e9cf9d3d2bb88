"""Histograms, of the numbers of a layer's weights in a few milliseconds."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minispore.train.summary._event import Histogram

_Floats = NDArray[np.float32] | NDArray[np.float64]

_MOST_BUCKETS: Final = 90
_GREATEST: Final = float(np.finfo(np.float64).max)
_GREATEST_OF: Final = {np.dtype(t): float(np.finfo(t).max) for t in (np.float32, np.float64)}
_NUMBERS: Final = np.arange(_MOST_BUCKETS + 1.0)
_MANY: Final = 2**17
_NOTHING: Final = np.zeros(0)
_NO_COUNTS: Final = np.zeros(0, np.int64)


def buckets(count: int) -> int:
    """How many buckets MindSpore takes for so many numbers: a tenth of them, within bounds."""
    if count <= 10:
        return 1 if count == 0 else 2 if count <= 5 else 3
    return min(count // 10 + 1, _MOST_BUCKETS)


def histogram(array: NDArray[np.generic]) -> Histogram:
    """The distribution of an array's elements, in buckets of one width.

    >>> histogram(np.array([1.0, 2.0, 2.0, float("nan")])).counts.tolist()
    [1, 2]
    """
    wide = array.dtype.itemsize > 4 or array.dtype.kind in "iub"
    flat: _Floats
    if wide:
        flat = array.reshape(-1).astype(np.float64, copy=False)
    else:
        flat = array.reshape(-1).astype(np.float32, copy=False)
    if not flat.size:
        return Histogram(_NOTHING, _NO_COUNTS, 0, 0, 0, np.nan, np.nan, 0.0, 0.0)
    low, high = float(flat.min()), float(flat.max())
    nan = pos_inf = neg_inf = 0
    if not (math.isfinite(low) and math.isfinite(high)):
        nan = int(np.isnan(flat).sum())
        pos_inf, neg_inf = int(np.isposinf(flat).sum()), int(np.isneginf(flat).sum())
        flat = flat[np.isfinite(flat)]
        if not flat.size:
            return Histogram(_NOTHING, _NO_COUNTS, nan, pos_inf, neg_inf, np.nan, np.nan, 0.0, 0.0)
        low, high = float(flat.min()), float(flat.max())
    total, squares = _sums(flat)
    n = buckets(flat.size)
    edges, counts = _equal(flat, low, n) if low == high else _spread(flat, low, high, n)
    return Histogram(edges, counts, nan, pos_inf, neg_inf, low, high, total, squares)


def _sums(flat: _Floats) -> tuple[float, float]:
    """The sum of the elements and that of their squares."""
    with np.errstate(over="ignore", invalid="ignore"):
        total, squares = float(flat.sum()), float(np.dot(flat, flat))
        if math.isfinite(squares):  # and the sum is, too
            return total, squares
        # Too large for float32; where float64 does not do either, they are infinite.
        wide = flat.astype(np.float64)
        return float(wide.sum()), float(np.dot(wide, wide))


def _equal(flat: _Floats, value: float, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Buckets around the one value that there is, wide enough to differ from it."""
    reach = max(0.5, abs(value) * 1e-6)
    # Beside the greatest number there is nothing on the other side.
    edges = np.linspace(max(value - reach, -_GREATEST), min(value + reach, _GREATEST), n + 1)
    counts = np.zeros(n, np.int64)
    counts[n // 2] = flat.size
    return edges, counts


def _spread(
    flat: _Floats, low: float, high: float, n: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    # Halved, so that the distance of the two greatest numbers is one.
    edges = (_NUMBERS[: n + 1] / n * (high / 2 - low / 2) + low / 2) * 2
    edges[0], edges[-1] = low, high
    width = high - low
    most = _GREATEST_OF[flat.dtype]
    if width <= most and n / width <= most:
        places = flat - low
        places *= n / width
    else:
        part = 0.5 if math.isinf(width) else 1.0
        places = (flat.astype(np.float64) * part - low * part) / (high * part - low * part) * n
    counts = _counted(places.astype(np.uint8), n + 1)
    # The greatest number is at the end of the last bucket.
    counts[n - 1] += counts[n]
    return edges, counts[:n]


def _counted(numbers: NDArray[np.uint8], n: int) -> NDArray[np.int64]:
    """How often each of the first `n` numbers comes."""
    if numbers.size < _MANY:
        return np.bincount(numbers, minlength=n).astype(np.int64, copy=False)
    # A pair of bytes is counted as one number.
    pairs = np.bincount(numbers[: numbers.size // 2 * 2].view(np.uint16), minlength=2**16)
    pairs = pairs.reshape(2**8, 2**8)
    counts: NDArray[np.int64] = (pairs.sum(axis=0) + pairs.sum(axis=1))[:n].astype(np.int64)
    if numbers.size % 2:
        counts[numbers[-1]] += 1
    return counts
