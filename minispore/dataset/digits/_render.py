"""From strokes to pixels: each pixel's distance to the nearest edge of ink, then its grey.

A piece of stroke is a capsule: all places nearer to a segment than the pen's radius. It is short,
so it is compared with the pixels of a small window around it only, for a whole block of images at
once.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from minispore.dataset.digits._geometry import BOX, FloatArray, Glyphs

SIZE: Final = 28
"""Pixels along an image's side."""

_WINDOW = 10  # pixels along the window's side
_MARGIN = 16  # pixels around the box, so that an image may be cut out wherever its middle lies
_SIDE = BOX + 2 * _MARGIN
_FAR = 9.0  # pixels: no ink near
_MIDDLE = 14  # the pixel on which MNIST puts the centre of mass, counted from 0

# How grey an image is: tuned on MNIST's training images.
_ROUGHNESS = 0.17  # pixels: the edge's standard deviation
_SHARPNESS = 1.5  # of an edge, in greys a pixel
_BLUR = 0.05  # the largest share of its ink that a pixel gives to each neighbour in a line


def render(glyphs: Glyphs, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Images, shape (n, 28, 28), 0 for paper and 255 for ink, centred as MNIST's."""
    depth = -_cut_out(distance_to_ink(glyphs))
    depth += _ROUGHNESS * rng.standard_normal(depth.shape, dtype=np.float32)
    ink = _grey(depth)
    ink = _blur(ink, _BLUR * rng.random((len(ink), 1, 1), dtype=np.float32))
    return np.asarray(ink * 255 + 0.5, np.uint8)


def distance_to_ink(glyphs: Glyphs) -> FloatArray:
    """How far each pixel is from the ink, negative within it.

    Returns:
        Pixels, shape (n, side, side): the box in the middle of a wide margin. Right where a pixel
        is near a stroke; elsewhere some number that is too far for any ink.
    """
    n, pieces = len(glyphs.inked), glyphs.inked.shape[1]
    nearest = np.full(n * _SIDE * _SIDE, _FAR, np.float32)
    image = np.arange(n)[:, None, None] * (_SIDE * _SIDE)
    offset = np.arange(_WINDOW)
    points = glyphs.points + _MARGIN
    for i in range(pieces):
        a, b = points[:, i, :, None], points[:, i + 1, :, None]
        corner = ((a + b) / 2 - (_WINDOW / 2 - 1)).astype(np.intp)
        x, y = np.moveaxis(np.clip(corner, 0, _SIDE - _WINDOW) + offset, 1, 0)
        distance = _capsule(x, y, a, b, glyphs.radius[:, i], glyphs.radius[:, i + 1])
        distance[~glyphs.inked[:, i]] = _FAR
        pixels = image + y[:, :, None] * _SIDE + x[:, None, :]
        nearest[pixels] = np.minimum(nearest[pixels], distance)
    return nearest.reshape(n, _SIDE, _SIDE)


def _cut_out(distance: FloatArray) -> FloatArray:
    """The 28x28 pixels around each centre of mass. MNIST shifts by whole pixels, and so do we."""
    ink = _grey(-distance)
    mass = ink.sum(axis=(1, 2))
    place = np.arange(_SIDE, dtype=np.float32)
    middle = np.stack([ink.sum(axis=1) @ place, ink.sum(axis=2) @ place]) / mass
    start = np.rint(middle).astype(np.intp) - _MIDDLE
    x, y = start[:, :, None] + np.arange(SIZE)
    image = np.arange(len(distance))
    cut: FloatArray = distance[image[:, None, None], y[:, :, None], x[:, None, :]]
    return cut


def _grey(depth: FloatArray) -> FloatArray:
    """How much ink, 0 to 1, a pixel shows that lies so deep in it (in pixels)."""
    ink: FloatArray = np.clip(_SHARPNESS * depth + 0.5, 0, 1)
    return ink


def _capsule(
    x: npt.NDArray[np.intp],
    y: npt.NDArray[np.intp],
    a: FloatArray,
    b: FloatArray,
    radius_a: FloatArray,
    radius_b: FloatArray,
) -> FloatArray:
    """Distances of the windows' pixels (x and y: (n, window)) to segments that go from a to b."""
    step = b - a
    dx, dy = x.astype(np.float32) - a[:, 0], y.astype(np.float32) - a[:, 1]
    length = np.maximum((step * step).sum(axis=1), np.float32(1e-6))
    along_x, along_y = dx * step[:, 0] / length, dy * step[:, 1] / length
    along = np.clip(along_y[:, :, None] + along_x[:, None, :], 0, 1)
    off_x = dx[:, None, :] - along * step[:, 0, :, None]
    off_y = dy[:, :, None] - along * step[:, 1, :, None]
    off = np.sqrt(off_x * off_x + off_y * off_y)
    distance: FloatArray = off - radius_a[:, None, None]
    distance -= along * (radius_b - radius_a)[:, None, None]
    return distance


def _blur(ink: FloatArray, share: FloatArray) -> FloatArray:
    """Let each pixel give `share` of its ink to each neighbour, along x and then along y."""
    for axis in (1, 2):
        given = share * ink
        ink = np.subtract(ink, given + given)
        lower, upper = [slice(None)] * 3, [slice(None)] * 3
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        ink[tuple(lower)] += given[tuple(upper)]
        ink[tuple(upper)] += given[tuple(lower)]
    return ink
