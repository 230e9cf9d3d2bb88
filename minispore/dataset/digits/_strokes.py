"""Parse drawings, and compute points along the pen's path as a linear map of its knots.

A path is a cubic Hermite spline through the knots of each smooth run. The positions of the points
and the weights of the tangents are computed once, from the undistorted drawing. A point is then a
fixed linear combination of knots, so one matrix product computes the points of a block of drawings.
"""

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from minispore.dataset.digits._skeletons import SKELETONS
from minispore.utils.arrays import BoolArray, Float32Array, Float64Array, IndexArray

POINTS: Final = 49
"""The number of points along the path of each drawing."""

_FINE = 16  # steps between two knots when a path's length is measured


class Drawings(NamedTuple):
    """All drawings of all digits, each padded to the same number of knots."""

    knots: Float32Array
    """The knots, shape (drawings, knots, 2), in units of the box's height."""
    room: Float32Array
    """Each knot's distance to its nearest neighbour along the path, shape (drawings, knots)."""
    basis: Float32Array
    """From knots to points on the path, shape (drawings, POINTS, knots)."""
    inked: BoolArray
    """Whether the pen is down between a point and the next, shape (drawings, POINTS - 1)."""
    digit: IndexArray
    """The digit that a drawing shows, shape (drawings,)."""
    frequency: Float64Array
    """The probability of a drawing for its digit, shape (drawings,)."""


def read_drawings() -> Drawings:
    """Parse SKELETONS, in a few milliseconds."""
    texts = [text for digit in SKELETONS for _, text in digit]
    paths = [_path(text) for text in texts]
    max_knots = max(len(knots) for knots, _, _ in paths)
    room = np.stack([np.pad(_room(k), (0, max_knots - len(k))) for k, _, _ in paths])
    knots = np.stack([np.pad(k, ((0, max_knots - len(k)), (0, 0))) for k, _, _ in paths])
    basis = np.stack([np.pad(b, ((0, 0), (0, max_knots - b.shape[1]))) for _, b, _ in paths])
    weights = [np.array([weight for weight, _ in digit], float) for digit in SKELETONS]
    return Drawings(
        knots=knots.astype(np.float32),
        room=room.astype(np.float32),
        basis=basis.astype(np.float32),
        inked=np.stack([inked for _, _, inked in paths]),
        digit=np.repeat(np.arange(len(SKELETONS)), [len(drawings) for drawings in SKELETONS]),
        frequency=np.concatenate([w / w.sum() for w in weights]),
    )


def _path(text: str) -> tuple[Float64Array, Float64Array, BoolArray]:
    """Return the knots, the basis and the pen positions of one drawing."""
    strokes = [stroke.split() for stroke in text.split(";")]
    flat = [word for stroke in strokes for word in stroke]
    knots = np.array([[float(c) for c in word.rstrip("!").split(",")] for word in flat]) / 100
    fine: list[Float64Array] = []  # a finely sampled basis for each stroke
    start = 0
    for stroke in strokes:
        corners = [i for i, word in enumerate(stroke) if word.endswith("!")]
        ends = [0, *corners, len(stroke) - 1]
        runs = [_spline(np.arange(start + a, start + b + 1), knots) for a, b in pairwise(ends)]
        fine.append(np.concatenate([runs[0], *(run[1:] for run in runs[1:])]))
        start += len(stroke)
    counts = _divide_points(POINTS, [float(_steps(f @ knots).sum()) for f in fine])
    basis = np.concatenate([_resample(f, knots, n) for f, n in zip(fine, counts, strict=True)])
    inked = np.ones(POINTS - 1, bool)
    inked[np.cumsum(counts)[:-1] - 1] = False
    return knots, basis, inked


def _spline(run: IndexArray, knots: Float64Array) -> Float64Array:
    """Return a finely sampled basis for the smooth run through the knots `run`.

    Centripetal Catmull-Rom tangents (the parameter is the square root of the chord, which avoids
    cusps), and at the two ends the tangents of parabolas.
    """
    rows = np.eye(len(knots))[run]  # row i picks knot i, so that arithmetic on rows gives a basis
    steps = np.sqrt(_steps(knots[run]))[:, None]
    differences = np.diff(rows, axis=0) / steps
    if len(run) == 2:
        tangents = np.concatenate([differences, differences])
    else:
        inner = (differences[:-1] * steps[1:] + differences[1:] * steps[:-1]) / (
            steps[1:] + steps[:-1]
        )
        tangents = np.concatenate(
            [2 * differences[:1] - inner[:1], inner, 2 * differences[-1:] - inner[-1:]]
        )
    t = np.linspace(0, 1, _FINE, endpoint=False)[:, None]
    spans = [
        (1 + 2 * t) * (1 - t) ** 2 * rows[i]
        + t * (1 - t) ** 2 * steps[i] * tangents[i]
        + t * t * (3 - 2 * t) * rows[i + 1]
        - t * t * (1 - t) * steps[i] * tangents[i + 1]
        for i in range(len(run) - 1)
    ]
    return np.concatenate([*spans, rows[-1:]])


def _room(knots: Float64Array) -> Float64Array:
    steps = _steps(knots)
    room: Float64Array = np.minimum(np.append(steps, np.inf), np.append(np.inf, steps))
    return room


def _steps(points: Float64Array) -> Float64Array:
    """Return the distance from each point to the next."""
    steps: Float64Array = np.hypot(*np.diff(points, axis=0).T)
    return steps


def _divide_points(total: int, lengths: list[float]) -> list[int]:
    """Divide `total` points among strokes in proportion to their lengths."""
    ends = np.round(np.cumsum([0.0, *lengths]) / sum(lengths) * total).astype(int)
    return [int(n) for n in np.diff(ends)]


def _resample(fine: Float64Array, knots: Float64Array, count: int) -> Float64Array:
    """Return `count` rows of a fine basis at equal distances along the path."""
    travelled = np.append(0.0, np.cumsum(_steps(fine @ knots)))
    positions = np.linspace(0.0, float(travelled[-1]), count)
    at = np.interp(positions, travelled, np.arange(len(fine)))
    low = np.minimum(at.astype(int), len(fine) - 2)
    part = (at - low)[:, None]
    rows: Float64Array = fine[low] * (1 - part) + fine[low + 1] * part
    return rows
