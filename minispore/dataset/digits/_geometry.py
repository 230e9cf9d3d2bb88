"""Random distortions of drawings: knot jitter, slant, proportions, bends, and stroke width.

All functions process the points of a block of drawings at once. At the end each glyph is scaled to
a box of 20x20 pixels with its aspect ratio kept, as MNIST's glyphs were.

Source: http://yann.lecun.com/exdb/mnist/ describes how MNIST's images were normalised.
"""

from typing import Final, NamedTuple

import numpy as np

from minispore.dataset.digits._strokes import POINTS, Drawings
from minispore.utils.arrays import BoolArray, Float32Array, IndexArray

BOX: Final = 20
"""Pixels along the side of the box that a glyph's ink fills."""

_AXIS: Final = 0.35  # the horizontal centre of most drawings, in heights

# Standard deviations, tuned on MNIST's training images. All but those of the stroke width are
# multiplied by a factor between _CAREFUL and _CARELESS, which is small for most images.
_CAREFUL, _CARELESS = 0.2, 1.3
_UNSTEADY = 0.21  # of a knot, in distances to its nearest neighbour
_WAIST, _SIDE, _TAPER = 0.25, 0.3, 0.17  # of heights and widths
_ASPECT = 0.17  # of the logarithm of width / height
_SLANT_MEAN, _SLANT = 0.12, 0.2  # sideways per height, to the right
_TURN = 0.1  # radians
_BEND, _WAVES = 0.06, 3.0  # of a bend's amplitude in heights, and of its radians per height
_RADIUS, _RADIUS_SPREAD = 1.2, 0.3  # pixels (the median), and of the logarithm
_THICKEST = 3.0  # pixels of radius: what the renderer has room for
_PRESSURE = 0.12  # of the logarithm of the stroke's thickness along its path


class Glyphs(NamedTuple):
    """Strokes ready to be rendered, in pixels: (0, 0) is the middle of the box's first pixel."""

    points: Float32Array
    """(n, points, 2): x, y."""
    radius: Float32Array
    """(n, points): half the stroke's width."""
    inked: BoolArray
    """(n, points - 1): whether the pen is down from this point to the next."""


def draw_glyphs(drawings: Drawings, which: IndexArray, rng: np.random.Generator) -> Glyphs:
    """Return the drawings with the indices `which`, each with another writer's style."""
    styles = _WriterStyles(rng, len(which))
    points = _elastic_distortion(
        _random_affine(_proportion(_jitter_knots(drawings, which, styles), styles), styles), styles
    )
    radius = _stroke_widths(styles)
    return Glyphs(_fit(points, radius), radius, drawings.inked[which])


class _WriterStyles:
    """The random styles of the writers of a block. Most are careful, a few are careless."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.rng = rng
        self.count = count
        self._carelessness = (
            _CAREFUL + (_CARELESS - _CAREFUL) * rng.random(count, dtype=np.float32) ** 2
        )

    def miss(self, deviation: float, *shape: int) -> Float32Array:
        """Return normal errors of shape (count, *shape), which are larger for careless writers."""
        scale = deviation * self._carelessness.reshape(-1, *(1 for _ in shape))
        return np.asarray(scale * self.vary(1, *shape), np.float32)

    def vary(self, deviation: float, *shape: int) -> Float32Array:
        """Return normal numbers of shape (count, *shape), independent of carelessness."""
        normal = self.rng.standard_normal((self.count, *shape), dtype=np.float32)
        return np.float32(deviation) * normal

    def phase(self, *shape: int) -> Float32Array:
        """Return random angles of shape (count, *shape)."""
        return np.float32(2 * np.pi) * self.rng.random((self.count, *shape), dtype=np.float32)


def _jitter_knots(drawings: Drawings, which: IndexArray, styles: _WriterStyles) -> Float32Array:
    """Return the points of each path after random shifts of its knots, smaller for close knots."""
    knots = drawings.knots[which]
    missed = drawings.room[which][:, :, None] * styles.miss(_UNSTEADY, *knots.shape[1:])
    points: Float32Array = np.matmul(drawings.basis[which], knots + missed)
    return points


def _proportion(points: Float32Array, styles: _WriterStyles) -> Float32Array:
    """Vary the heights of the upper and the lower part, and their widths."""
    x, y = points[..., 0] - _AXIS, points[..., 1]
    waist = np.clip(styles.miss(_WAIST, 1), -0.8, 0.8)
    side = np.clip(styles.miss(_SIDE, 1), -0.8, 0.8)
    taper = styles.miss(_TAPER, 1)
    wide = x * (1 + taper * (2 * y - 1)) + side * x * x
    return np.stack([wide, y + waist * y * (1 - y)], axis=-1, dtype=np.float32)


def _random_affine(points: Float32Array, styles: _WriterStyles) -> Float32Array:
    """Apply a random affine map to each drawing: aspect ratio, then slant, then rotation."""
    width = np.exp(styles.miss(_ASPECT, 1))
    slant = _SLANT_MEAN + styles.miss(_SLANT, 1)
    turn = styles.miss(_TURN, 1)
    x, y = points[..., 0] * width - slant * points[..., 1], points[..., 1]
    cos, sin = np.cos(turn), np.sin(turn)
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1, dtype=np.float32)


def _elastic_distortion(points: Float32Array, styles: _WriterStyles) -> Float32Array:
    """Shift each point by a few low-frequency sine waves of its position."""
    bent = points.copy()
    for _ in range(2):
        amplitude = styles.miss(_BEND, 1, 2)
        direction = styles.vary(_WAVES, 2, 1)
        bent += amplitude * np.sin(points @ direction + styles.phase(1, 1))
    return bent


def _stroke_widths(styles: _WriterStyles) -> Float32Array:
    """Return half the stroke width at each point, which varies by writer and along the path."""
    pen = _RADIUS * np.exp(styles.vary(_RADIUS_SPREAD, 1))
    change = styles.miss(_PRESSURE, 1)
    along = np.linspace(0.0, 1.0, POINTS, dtype=np.float32)
    angle = styles.phase(1) + along * (2.0 + 1.5 * styles.phase(1))
    radius = np.minimum(pen * np.exp(change * np.sin(angle)), _THICKEST)
    return np.asarray(radius, np.float32)


def _fit(points: Float32Array, radius: Float32Array) -> Float32Array:
    """Scale and shift each glyph so that its ink fills the box, from -0.5 on in x and y."""
    thick = radius.max(axis=1)
    corner = points.min(axis=1)
    extent = (points.max(axis=1) - corner).max(axis=1)
    scale = (BOX - 2 * thick) / extent
    fitted = (points - corner[:, None]) * scale[:, None, None] + (thick - 0.5)[:, None, None]
    return np.asarray(fitted, np.float32)
