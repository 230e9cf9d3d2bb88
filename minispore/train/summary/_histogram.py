"""Histograms, of the numbers of a layer's weights in a few milliseconds.

On a small array, numpy takes longer to be called than to do the work: arrays of one size are done
with the same calls, as the rows of one array.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from minispore.train.summary._event import Histogram

_Floats = NDArray[np.float32] | NDArray[np.float64]
_Doubles = NDArray[np.float64]

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
    return histograms([array])[0]


def histograms(arrays: Sequence[NDArray[np.generic]]) -> list[Histogram]:
    """The distributions of several arrays, each the same as if it were alone."""
    flats = [_flat(array) for array in arrays]
    alike: dict[object, list[int]] = {}
    for i, flat in enumerate(flats):
        # Large ones gain nothing, and would have to be copied.
        key = (flat.dtype, flat.size) if flat.size < _MANY else i
        alike.setdefault(key, []).append(i)
    found: dict[int, Histogram] = {}
    for places in alike.values():
        rows = [flats[i] for i in places]
        together = cast("_Floats", np.stack(rows)) if len(rows) > 1 else rows[0][None]
        found.update(zip(places, _of_rows(together), strict=True))
    return [found[i] for i in range(len(flats))]


def _flat(array: NDArray[np.generic]) -> _Floats:
    flat = array.reshape(-1)
    if array.dtype.itemsize > 4 or array.dtype.kind in "iub":
        return flat.astype(np.float64, copy=False)
    return flat.astype(np.float32, copy=False)


def _of_rows(rows: _Floats) -> list[Histogram]:
    """The distribution of each row."""
    if not rows.size:
        return [_special(row) for row in rows]
    lows, highs = rows.min(axis=1), rows.max(axis=1)
    with np.errstate(all="ignore"):
        totals, squares = rows.sum(axis=1), np.vecdot(rows, rows)
        scales = buckets(rows.shape[1]) / (highs - lows)
        ordinary = (scales > 0) & np.isfinite(scales + squares)
    if not ordinary.all():
        if len(rows) > 1:
            return [_of_rows(row[None])[0] for row in rows]
        return [_special(rows[0])]
    numbers = zip(*(a.tolist() for a in (lows, highs, totals, squares)), strict=True)
    return [
        Histogram(edges, counts, rows.shape[1], 0, 0, 0, *rest)
        for (edges, counts), rest in zip(_spread(rows, lows, highs, scales), numbers, strict=True)
    ]


def _special(flat: _Floats) -> Histogram:
    """The distribution where elements are infinite or NaN, all the same, or too large or close."""
    nan = int(np.isnan(flat).sum())
    pos_inf, neg_inf = int(np.isposinf(flat).sum()), int(np.isneginf(flat).sum())
    finite = flat[np.isfinite(flat)].astype(np.float64)
    if not finite.size:
        return Histogram(_NOTHING, _NO_COUNTS, 0, nan, pos_inf, neg_inf, np.nan, np.nan, 0.0, 0.0)
    low, high = float(finite.min()), float(finite.max())
    n = buckets(finite.size)
    edges, counts = _equal(finite.size, low, n) if low == high else _scaled(finite, low, high, n)
    with np.errstate(over="ignore", invalid="ignore"):  # then they are infinite
        total, squares = float(finite.sum()), float(finite.dot(finite))
    return Histogram(edges, counts, finite.size, nan, pos_inf, neg_inf, low, high, total, squares)


def _equal(size: int, value: float, n: int) -> tuple[_Doubles, NDArray[np.int64]]:
    """Buckets around the one value that there is, wide enough to differ from it."""
    reach = max(0.5, abs(value) * 1e-6)
    # Beside the greatest number there is nothing on the other side.
    edges = np.linspace(max(value - reach, -_GREATEST), min(value + reach, _GREATEST), n + 1)
    counts = np.zeros(n, np.int64)
    counts[min(int(np.searchsorted(edges, value, "right")), n) - 1] = size
    return edges, counts


def _scaled(
    finite: _Doubles, low: float, high: float, n: int
) -> tuple[_Doubles, NDArray[np.int64]]:
    """As `_spread`, for one row in which distances may be beyond what a float64 can hold."""
    width = high - low
    # Powers of two change no other digit.
    factor = 0.5 if math.isinf(width) else 2.0**64 if math.isinf(n / width) else 1.0
    lows, highs = np.array([low * factor]), np.array([high * factor])
    [(edges, counts)] = _spread(finite[None] * factor, lows, highs, n / (highs - lows))
    return edges / factor, counts


def _spread(
    rows: _Floats, lows: _Floats, highs: _Floats, scales: _Floats
) -> list[tuple[_Doubles, NDArray[np.int64]]]:
    """Buckets of one width for each row, of which `scales` go into 1, and what is in them."""
    n = buckets(rows.shape[1])
    first, last = lows.astype(np.float64)[:, None], highs.astype(np.float64)[:, None]
    edges = _parts(n) * (last - first)
    edges += first
    edges[:, -1:] = last
    places = rows - lows[:, None]
    places *= scales[:, None]
    counts = [_counted(row, n + 1) for row in places.astype(np.uint8)]
    for each in counts:
        # The greatest number is at the end of the last bucket.
        each[n - 1] += each[n]
    return [(edge, each[:n]) for edge, each in zip(edges, counts, strict=True)]


@cache
def _parts(n: int) -> _Doubles:
    """Where the borders of `n` buckets are, from 0 to 1."""
    return np.arange(n + 1) / n


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
