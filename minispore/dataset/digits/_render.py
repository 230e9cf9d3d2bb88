"""Render strokes: compute the distance of each pixel to the ink, and from it the grey value.

A segment of a stroke is a capsule: all points nearer to it than the pen's radius. Distances are
computed only in a small window of pixels around each segment, for a block of images at once.
"""

from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from minispore.dataset.digits._geometry import BOX, Glyphs
from minispore.utils.arrays import Float32Array, IndexArray, UInt8Array

SIZE: Final = 28
"""Pixels along an image's side."""

_WINDOW = 10  # pixels along the window's side
_MARGIN = 16  # pixels around the box, so that the image can be cropped around any centre
_SIDE = BOX + 2 * _MARGIN
_FAR = 9.0  # pixels: further than any ink
_MIDDLE = 14  # the pixel on which MNIST puts the centre of mass, counted from 0

# Grey values, tuned on MNIST's training images.
_ROUGHNESS = 0.17  # pixels: the edge's standard deviation
_SHARPNESS = 1.5  # of an edge, in greys a pixel
_BLUR = 0.05  # the maximum weight of each neighbour in the blur kernel


def render(glyphs: Glyphs, rng: np.random.Generator) -> UInt8Array:
    """Return images of shape (n, 28, 28), 0 for paper and 255 for ink, centred like MNIST's."""
    depth = -_crop_centred(distance_to_ink(glyphs))
    depth += _ROUGHNESS * rng.standard_normal(depth.shape, dtype=np.float32)
    ink = _grey(depth)
    ink = _blur(ink, _BLUR * rng.random((len(ink), 1, 1), dtype=np.float32))
    return np.asarray(ink * 255 + 0.5, np.uint8)


def distance_to_ink(glyphs: Glyphs) -> Float32Array:
    """Return the signed distance of each pixel to the ink, negative within it.

    Returns:
        Distances in pixels, of shape (n, side, side): the box within a wide margin. They are exact
        near strokes, and a large constant elsewhere.
    """
    n, pieces = len(glyphs.inked), glyphs.inked.shape[1]
    nearest = np.full((n, _SIDE, _SIDE), _FAR, np.float32)
    windows = sliding_window_view(nearest, (_WINDOW, _WINDOW), (1, 2), writeable=True)
    offset = np.arange(_WINDOW)
    points = glyphs.points + _MARGIN
    for i in range(pieces):
        inked = np.flatnonzero(glyphs.inked[:, i])
        a, b = points[inked, i, :, None], points[inked, i + 1, :, None]
        corner = ((a + b) / 2 - (_WINDOW / 2 - 1)).astype(np.intp)
        corner = np.clip(corner, 0, _SIDE - _WINDOW)
        x, y = np.moveaxis(corner + offset, 1, 0)
        distance = _capsule(x, y, a, b, glyphs.radius[inked, i], glyphs.radius[inked, i + 1])
        at = (inked, corner[:, 1, 0], corner[:, 0, 0])
        windows[at] = np.minimum(windows[at], distance)
    return nearest


def _crop_centred(distance: Float32Array) -> Float32Array:
    """Crop 28x28 pixels around each centre of mass, rounded to integers as in MNIST."""
    ink = _grey(-distance)
    mass = ink.sum(axis=(1, 2))
    position = np.arange(_SIDE, dtype=np.float32)
    middle = np.stack([ink.sum(axis=1) @ position, ink.sum(axis=2) @ position]) / mass
    start = np.rint(middle).astype(np.intp) - _MIDDLE
    x, y = start[:, :, None] + np.arange(SIZE)
    image = np.arange(len(distance))
    cut: Float32Array = distance[image[:, None, None], y[:, :, None], x[:, None, :]]
    return cut


def _grey(depth: Float32Array) -> Float32Array:
    """Return the ink, 0 to 1, of pixels at a depth of so many pixels in it."""
    ink: Float32Array = np.clip(_SHARPNESS * depth + 0.5, 0, 1)
    return ink


def _capsule(
    x: IndexArray,
    y: IndexArray,
    a: Float32Array,
    b: Float32Array,
    radius_a: Float32Array,
    radius_b: Float32Array,
) -> Float32Array:
    """Return the distances of window pixels, at x and y of shape (n, window), to segments a-b."""
    step = b - a
    dx, dy = x.astype(np.float32) - a[:, 0], y.astype(np.float32) - a[:, 1]
    length = np.maximum((step * step).sum(axis=1), np.float32(1e-6))
    along_x, along_y = dx * step[:, 0] / length, dy * step[:, 1] / length
    along = np.clip(along_y[:, :, None] + along_x[:, None, :], 0, 1)
    off_x = dx[:, None, :] - along * step[:, 0, :, None]
    off_y = dy[:, :, None] - along * step[:, 1, :, None]
    off = np.sqrt(off_x * off_x + off_y * off_y)
    distance: Float32Array = off - radius_a[:, None, None]
    distance -= along * (radius_b - radius_a)[:, None, None]
    return distance


def _blur(ink: Float32Array, weight: Float32Array) -> Float32Array:
    """Blur along x and then along y, with the weight `weight` for each neighbour."""
    for axis in (1, 2):
        moved = weight * ink
        ink = np.subtract(ink, moved + moved)
        lower, upper = [slice(None)] * 3, [slice(None)] * 3
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        ink[tuple(lower)] += moved[tuple(upper)]
        ink[tuple(upper)] += moved[tuple(lower)]
    return ink
