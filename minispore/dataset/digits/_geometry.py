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

# Standard deviations, tuned on MNIST's training images. All but the pen's are multiplied by a
# factor from careful to careless, nearer to careful for most images.
_CAREFUL, _CARELESS = 0.2, 1.3
_UNSTEADY = 0.21  # of a knot, in distances to its nearest neighbour
_WAIST, _SIDE, _TAPER = 0.25, 0.3, 0.17  # of heights and widths
_ASPECT = 0.17  # of the logarithm of width / height
_SLANT_MEAN, _SLANT = 0.12, 0.2  # sideways per height, to the right
_TURN = 0.1  # radians
_BEND, _WAVES = 0.06, 3.0  # of a bend's amplitude in heights, and of its radians per height
_RADIUS, _RADIUS_SPREAD = 1.2, 0.3  # pixels (the median), and of the logarithm
_THICKEST = 3.0  # pixels of radius: what the renderer has room for
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
    hands = _Hands(rng, len(which))
    points = _bend(_tilt(_proportion(_unsteady(drawings, which, hands), hands), hands), hands)
    radius = _pressure(hands)
    return Glyphs(_fit(points, radius), radius, drawings.inked[which])


class _Hands:
    """Those who write a block's images. Most are careful, a few are not."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.rng = rng
        self.count = count
        self._carelessness = (
            _CAREFUL + (_CARELESS - _CAREFUL) * rng.random(count, dtype=np.float32) ** 2
        )

    def miss(self, deviation: float, *shape: int) -> FloatArray:
        """How far each hand misses, shape (count, *shape): normal, wider for a careless one."""
        scale = deviation * self._carelessness.reshape(-1, *(1 for _ in shape))
        return np.asarray(scale * self.vary(1, *shape), np.float32)

    def vary(self, deviation: float, *shape: int) -> FloatArray:
        """Normal numbers that have nothing to do with care, shape (count, *shape)."""
        normal = self.rng.standard_normal((self.count, *shape), dtype=np.float32)
        return np.float32(deviation) * normal

    def phase(self, *shape: int) -> FloatArray:
        """Angles, shape (count, *shape)."""
        return np.float32(2 * np.pi) * self.rng.random((self.count, *shape), dtype=np.float32)


def _unsteady(drawings: Drawings, which: npt.NDArray[np.intp], hands: _Hands) -> FloatArray:
    """The points of each path after every knot was missed a little, less where knots are close."""
    knots = drawings.knots[which]
    missed = drawings.room[which][:, :, None] * hands.miss(_UNSTEADY, *knots.shape[1:])
    points: FloatArray = np.matmul(drawings.basis[which], knots + missed)
    return points


def _proportion(points: FloatArray, hands: _Hands) -> FloatArray:
    """Divide the height anew between head and belly, and make one wider than the other."""
    x, y = points[..., 0] - _AXIS, points[..., 1]
    waist = np.clip(hands.miss(_WAIST, 1), -0.8, 0.8)
    side = np.clip(hands.miss(_SIDE, 1), -0.8, 0.8)
    taper = hands.miss(_TAPER, 1)
    wide = x * (1 + taper * (2 * y - 1)) + side * x * x
    return np.stack([wide, y + waist * y * (1 - y)], axis=-1, dtype=np.float32)


def _tilt(points: FloatArray, hands: _Hands) -> FloatArray:
    """A random affine map of each drawing: proportions, then slant, then a turn."""
    width = np.exp(hands.miss(_ASPECT, 1))
    slant = _SLANT_MEAN + hands.miss(_SLANT, 1)
    turn = hands.miss(_TURN, 1)
    x, y = points[..., 0] * width - slant * points[..., 1], points[..., 1]
    cos, sin = np.cos(turn), np.sin(turn)
    return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1, dtype=np.float32)


def _bend(points: FloatArray, hands: _Hands) -> FloatArray:
    """Shift each point by a few slow waves of its place, as if the paper were elastic."""
    bent = points.copy()
    for _ in range(2):
        amplitude = hands.miss(_BEND, 1, 2)
        direction = hands.vary(_WAVES, 2, 1)
        bent += amplitude * np.sin(points @ direction + hands.phase(1, 1))
    return bent


def _pressure(hands: _Hands) -> FloatArray:
    """Half the stroke's width at each point: a pen for each hand, pressed more and less."""
    pen = _RADIUS * np.exp(hands.vary(_RADIUS_SPREAD, 1))
    change = hands.miss(_PRESSURE, 1)
    along = np.linspace(0.0, 1.0, POINTS, dtype=np.float32)
    angle = hands.phase(1) + along * (2.0 + 1.5 * hands.phase(1))
    radius = np.minimum(pen * np.exp(change * np.sin(angle)), _THICKEST)
    return np.asarray(radius, np.float32)


def _fit(points: FloatArray, radius: FloatArray) -> FloatArray:
    """Scale and shift each glyph so that its ink fills the box: x and y from -0.5 on."""
    thick = radius.max(axis=1)
    corner = points.min(axis=1)
    extent = (points.max(axis=1) - corner).max(axis=1)
    scale = (BOX - 2 * thick) / extent
    fitted = (points - corner[:, None]) * scale[:, None, None] + (thick - 0.5)[:, None, None]
    return np.asarray(fitted, np.float32)
