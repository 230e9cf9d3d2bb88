"""Histograms of arrays.

For small arrays, the overhead of numpy calls exceeds the work, so arrays of the same size are
processed together, as the rows of one array.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Final, cast

import numpy as np

from minispore.train.summary.event import Histogram
from minispore.utils.arrays import AnyArray, Float32Array, Float64Array, Int64Array, UInt8Array

_Floats = Float32Array | Float64Array

_MAX_BUCKETS: Final = 90
_FLOAT64_MAX: Final = float(np.finfo(np.float64).max)
_LARGE: Final = 2**17
_NO_EDGES: Final = np.zeros(0)
_NO_COUNTS: Final = np.zeros(0, np.int64)


def buckets(count: int) -> int:
    """Return MindSpore's number of buckets: a tenth of the number of elements, within bounds."""
    if count <= 10:
        return 1 if count == 0 else 2 if count <= 5 else 3
    return min(count // 10 + 1, _MAX_BUCKETS)


def histogram(array: AnyArray) -> Histogram:
    """Return the histogram of an array with buckets of equal width.

    Examples:
        >>> histogram(np.array([1.0, 2.0, 2.0, float("nan")])).counts.tolist()
        [1, 2]
    """
    return histograms([array])[0]


def histograms(arrays: Sequence[AnyArray]) -> list[Histogram]:
    """Return the histograms of several arrays; each is the same as that of the array alone."""
    flats = [_flatten(array) for array in arrays]
    groups: dict[object, list[int]] = {}
    for i, flat in enumerate(flats):
        # Large arrays gain nothing from being grouped, and would have to be copied.
        key = (flat.dtype, flat.size) if flat.size < _LARGE else i
        groups.setdefault(key, []).append(i)
    results: dict[int, Histogram] = {}
    for indices in groups.values():
        rows = [flats[i] for i in indices]
        stacked = cast("_Floats", np.stack(rows)) if len(rows) > 1 else rows[0][None]
        results.update(zip(indices, _histograms_of_rows(stacked), strict=True))
    return [results[i] for i in range(len(flats))]


def _flatten(array: AnyArray) -> _Floats:
    flat = array.reshape(-1)
    if array.dtype.itemsize > 4 or array.dtype.kind in "iub":
        return flat.astype(np.float64, copy=False)
    return flat.astype(np.float32, copy=False)


def _histograms_of_rows(rows: _Floats) -> list[Histogram]:
    """Return the histogram of each row."""
    if not rows.size:
        return [_degenerate_buckets(row) for row in rows]
    lows, highs = rows.min(axis=1), rows.max(axis=1)
    with np.errstate(all="ignore"):
        totals, squares = rows.sum(axis=1), np.vecdot(rows, rows)
        scales = buckets(rows.shape[1]) / (highs - lows)
        ordinary = (scales > 0) & np.isfinite(scales + squares)
    if not ordinary.all():
        if len(rows) > 1:
            return [_histograms_of_rows(row[None])[0] for row in rows]
        return [_degenerate_buckets(rows[0])]
    numbers = zip(*(a.tolist() for a in (lows, highs, totals, squares)), strict=True)
    return [
        Histogram(edges, counts, rows.shape[1], 0, 0, 0, *statistics)
        for (edges, counts), statistics in zip(
            _equal_width_buckets(rows, lows, highs, scales), numbers, strict=True
        )
    ]


def _degenerate_buckets(flat: _Floats) -> Histogram:
    """Return the histogram of elements that are not finite, all equal, or too large or close."""
    nan = int(np.isnan(flat).sum())
    pos_inf, neg_inf = int(np.isposinf(flat).sum()), int(np.isneginf(flat).sum())
    finite = flat[np.isfinite(flat)].astype(np.float64)
    if not finite.size:
        return Histogram(_NO_EDGES, _NO_COUNTS, 0, nan, pos_inf, neg_inf, np.nan, np.nan, 0.0, 0.0)
    low, high = float(finite.min()), float(finite.max())
    n = buckets(finite.size)
    edges, counts = (
        _buckets_around(finite.size, low, n)
        if low == high
        else _rescaled_buckets(finite, low, high, n)
    )
    with np.errstate(over="ignore", invalid="ignore"):  # then they are infinite
        total, squares = float(finite.sum()), float(finite.dot(finite))
    return Histogram(edges, counts, finite.size, nan, pos_inf, neg_inf, low, high, total, squares)


def _buckets_around(size: int, value: float, n: int) -> tuple[Float64Array, Int64Array]:
    """Return the edges and counts of buckets around a single value."""
    reach = max(0.5, abs(value) * 1e-6)
    # Clipped, since the largest number has no neighbour on one side.
    edges = np.linspace(max(value - reach, -_FLOAT64_MAX), min(value + reach, _FLOAT64_MAX), n + 1)
    counts = np.zeros(n, np.int64)
    counts[min(int(np.searchsorted(edges, value, "right")), n) - 1] = size
    return edges, counts


def _rescaled_buckets(
    finite: Float64Array, low: float, high: float, n: int
) -> tuple[Float64Array, Int64Array]:
    """Return the edges and counts of one row whose range may overflow or underflow float64."""
    width = high - low
    # Scaling by powers of two is exact.
    factor = 0.5 if math.isinf(width) else 2.0**64 if math.isinf(n / width) else 1.0
    lows, highs = np.array([low * factor]), np.array([high * factor])
    [(edges, counts)] = _equal_width_buckets(finite[None] * factor, lows, highs, n / (highs - lows))
    return edges / factor, counts


def _equal_width_buckets(
    rows: _Floats, lows: _Floats, highs: _Floats, scales: _Floats
) -> list[tuple[Float64Array, Int64Array]]:
    """Return edges and counts of buckets of equal width for each row; a width is 1 / scale."""
    n = buckets(rows.shape[1])
    first, last = lows.astype(np.float64)[:, None], highs.astype(np.float64)[:, None]
    edges = _unit_edges(n) * (last - first)
    edges += first
    edges[:, -1:] = last
    indices = rows - lows[:, None]
    indices *= scales[:, None]
    counts = [_bincount(row, n + 1) for row in indices.astype(np.uint8)]
    for row_counts in counts:
        # The last bucket includes its right edge.
        row_counts[n - 1] += row_counts[n]
    return [(edge, row_counts[:n]) for edge, row_counts in zip(edges, counts, strict=True)]


@cache
def _unit_edges(n: int) -> Float64Array:
    """Return the edges of `n` buckets from 0 to 1."""
    return np.arange(n + 1) / n


def _bincount(numbers: UInt8Array, n: int) -> Int64Array:
    """Return the number of occurrences of each integer below `n`."""
    if numbers.size < _LARGE:
        return np.bincount(numbers, minlength=n).astype(np.int64, copy=False)
    # Two adjacent bytes are counted as one number.
    pairs = np.bincount(numbers[: numbers.size // 2 * 2].view(np.uint16), minlength=2**16)
    table = pairs.reshape(2**8, 2**8)
    counts: Int64Array = (table.sum(axis=0) + table.sum(axis=1))[:n].astype(np.int64)
    if numbers.size % 2:
        counts[numbers[-1]] += 1
    return counts
