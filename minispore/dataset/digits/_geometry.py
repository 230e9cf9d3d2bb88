"""How a hand varies a drawing: unsteady knots, slant, proportions, bends, and the pen's pressure.

Everything acts on the points of a whole block of drawings at once. At the end the inked glyph is
scaled to fit a box of 20x20 pixels, its proportions kept, as MNIST's glyphs were.

Source: http://yann.lecun.com/exdb/mnist/ describes how MNIST's images were normalised.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from minispore.dataset.digits._strokes import POINTS, Drawings

FloatArray = npt.NDArray[np.float32]

BOX: Final = 20
"""Pixels along the side of the box that a glyph's ink fills."""

_AXIS: Final = 0.35  # where most drawings have their middle, in heights
# Standard deviations, tuned on MNIST's training images.
_UNSTEADY = 0.18  # of a knot, in distances to its nearest neighbour
_WAIST, _SIDE, _TAPER = 0.2, 0.3, 0.17  # of heights and widths
_ASPECT = 0.17  # of the logarithm of width / height
_SLANT_MEAN, _SLANT = 0.12, 0.2  # sideways per height, to the right
_TURN = 0.1  # radians
_BEND, _WAVES = 0.06, 3.0  # of a bend's amplitude in heights, and of its radians per height
_RADIUS, _RADIUS_SPREAD = 1.2, 0.26  # pixels (the median), and of the logarithm
_PRESSURE = 0.12  # of the logarithm of the stroke's thickness along its way


class Glyphs(NamedTuple):
    """Strokes ready to be rendered, in pixels: (0, 0) is the middle of the box's first pixel."""

    points: FloatArray
    """(n, points, 2): x, y."""
    radius: FloatArray
    """(n, points): half the stroke's width."""
    inked: npt.NDArray[np.bool_]
    """(n, points - 1): whether the pen is down from this point to the next."""


def draw_glyphs(
    drawings: Drawings, which: npt.NDArray[np.intp], rng: np.random.Generator
) -> Glyphs:
    """Write the drawings numbered `which`, each by another hand."""
    points = _unsteady(drawings, which, rng)
    points = _bend(_tilt(_proportion(points, rng), rng), rng)
    radius = _pressure(rng, len(which), POINTS)
    return Glyphs(_fit(points, radius), radius, drawings.inked[which])


def _random(rng: np.random.Generator, deviation: float, *shape: int) -> FloatArray:
    """Normal numbers of mean 0."""
    return np.float32(deviation) * rng.standard_normal(shape, dtype=np.float32)


def _unsteady(
    drawings: Drawings, which: npt.NDArray[np.intp], rng: np.random.Generator
) -> FloatArray:
    """The points of each path after every knot was missed a little, less where knots are close."""
    knots = drawings.knots[which]
    missed = drawings.room[which][:, :, None] * _random(rng, _UNSTEADY, *knots.shape)
    points: FloatArray = np.matmul(drawings.basis[which], knots + missed)
    return points


def _proportion(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Divide the height anew between head and belly, and make one wider than the other."""
    n = len(points)
    x, y = points[..., 0] - _AXIS, points[..., 1]
    waist = np.clip(_random(rng, _WAIST, n, 1), -0.8, 0.8)
    side = np.clip(_random(rng, _SIDE, n, 1), -0.8, 0.8)
    taper = _random(rng, _TAPER, n, 1)
    wide = x * (1 + taper * (2 * y - 1)) + side * x * x
    return np.stack([wide, y + waist * y * (1 - y)], axis=-1, dtype=np.float32)


def _tilt(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A random affine map of each drawing: proportions, then slant, then a turn."""
    n = len(points)
    width = np.exp(_random(rng, _ASPECT, n, 1))
    slant = _SLANT_MEAN + _random(rng, _SLANT, n, 1)
    turn = _random(rng, _TURN, n, 1)
    x, y = points[..., 0] * width - slant * points[..., 1], points[..., 1]
    cos, sin = np.cos(turn), np.sin(turn)
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1, dtype=np.float32)


def _bend(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Shift each point by a few slow waves of its place, as if the paper were elastic."""
    n = len(points)
    bent = points.copy()
    for _ in range(2):
        amplitude = _random(rng, _BEND, n, 1, 2)
        direction = _random(rng, _WAVES, n, 2, 1)
        phase = np.float32(2 * np.pi) * rng.random((n, 1, 1), dtype=np.float32)
        bent += amplitude * np.sin(points @ direction + phase)
    return bent


def _pressure(rng: np.random.Generator, n: int, count: int) -> FloatArray:
    """Half the stroke's width at each point: a pen for each drawing, pressed more and less."""
    pen = _RADIUS * np.exp(_random(rng, _RADIUS_SPREAD, n, 1))
    change = _random(rng, _PRESSURE, n, 1)
    waves = rng.random((n, 2), dtype=np.float32)
    along = np.linspace(0, 1, count, dtype=np.float32)
    angle = np.float32(2 * np.pi) * (along * (0.3 + 1.5 * waves[:, :1]) + waves[:, 1:])
    return np.asarray(pen * np.exp(change * np.sin(angle)), np.float32)


def _fit(points: FloatArray, radius: FloatArray) -> FloatArray:
    """Scale and shift each glyph so that its ink fills the box: x and y from -0.5 on."""
    thick = radius.max(axis=1)
    corner = points.min(axis=1)
    extent = (points.max(axis=1) - corner).max(axis=1)
    scale = (BOX - 2 * thick) / extent
    fitted = (points - corner[:, None]) * scale[:, None, None] + (thick - 0.5)[:, None, None]
    return np.asarray(fitted, np.float32)
