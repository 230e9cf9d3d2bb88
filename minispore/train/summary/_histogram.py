"""Histograms, of the numbers of a layer's weights in a few milliseconds."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from minispore.train.summary._event import Histogram

_Floats = NDArray[np.float32] | NDArray[np.float64]

_MOST_BUCKETS: Final = 90
_GREATEST: Final = float(np.finfo(np.float64).max)
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
    if not (np.isfinite(low) and np.isfinite(high)):
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
    with np.errstate(over="ignore"):
        total, squares = float(flat.sum()), float(np.dot(flat, flat))
        if np.isfinite(total) and np.isfinite(squares):
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
    edges = np.linspace(low / 2, high / 2, n + 1) * 2
    edges[0], edges[-1] = low, high
    width = high / 2 - low / 2
    if width and n / width < float(np.finfo(flat.dtype).max):
        places = flat * flat.dtype.type(0.5)
        places -= flat.dtype.type(low / 2)
        places *= flat.dtype.type(n / width)
    else:  # so small that nothing is left of its half, or that the quotient is too large
        places = (flat.astype(np.float64) - low) / (high - low) * n
    bins = np.minimum(places, n - 1, out=places).astype(np.uint8)
    if bins.size < _MANY:
        return edges, np.bincount(bins, minlength=n).astype(np.int64)
    # A pair of bytes is counted as one number.
    if bins.size % 2:
        bins, rest = bins[:-1], int(bins[-1])
    else:
        rest = -1
    pairs = np.bincount(bins.view(np.uint16), minlength=2**16).reshape(2**8, 2**8)
    counts = (pairs.sum(axis=0) + pairs.sum(axis=1))[:n]
    if rest >= 0:
        counts[rest] += 1
    return edges, counts.astype(np.int64)
