"""Batches of images as one picture in PNG."""

import struct
import zlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from minispore.train.summary._event import Image

_Pixels = NDArray[np.uint8]

# The pictures side by side in a row.
_PER_ROW: Final = 8
# Rather quick than small: it is done while training.
_COMPRESSION: Final = 1
_COLOUR_TYPES: Final = {1: 0, 3: 2}


def picture(images: NDArray[np.generic]) -> Image:
    """A batch of images side by side, eight in a row.

    uint8 and bool are taken as they are, bool for black and white. Other numbers are brightnesses
    from 0 to 1; where some are outside of that, the smallest of the batch becomes black and the
    greatest white. NaN is black.

    Args:
        images: Of shape (n, 1 or 3, height, width), none of it 0.
    """
    n, channels, height, width = images.shape
    columns = min(n, _PER_ROW)
    rows = -(-n // columns)
    grid = np.zeros((rows * columns, channels, height, width), np.uint8)
    grid[:n] = as_bytes(images)
    # From (row, column, channel, y, x) to (row, y, column, x, channel).
    grid = grid.reshape(rows, columns, channels, height, width).transpose(0, 3, 1, 4, 2)
    pixels = np.ascontiguousarray(grid.reshape(rows * height, columns * width, channels))
    return Image(pixels.shape[0], pixels.shape[1], channels, png(pixels))


def png(pixels: _Pixels) -> bytes:
    """The PNG file of a picture.

    Source: https://www.w3.org/TR/png-3/

    Args:
        pixels: Of shape (height, width, 1) for grey or (height, width, 3) for red, green and blue.
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    # Each row begins with the number of its filter; 0 is none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    # Looking for runs only is the quickest, and no worse for most pictures.
    encoder = zlib.compressobj(_COMPRESSION, strategy=zlib.Z_RLE)
    data = encoder.compress(rows.data) + encoder.flush()
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def as_bytes(images: NDArray[np.generic]) -> _Pixels:
    """A batch of images from 0 to 255; see `picture` for what stands for what."""
    if images.dtype == np.uint8:
        return images.astype(np.uint8)
    if images.dtype == np.bool_:
        return images.view(np.uint8) * np.uint8(255)
    if images.dtype == np.float64:
        return _stretched(images.astype(np.float64))
    return _stretched(images.astype(np.float32))


def _stretched(numbers: NDArray[np.float32] | NDArray[np.float64]) -> _Pixels:
    """Brightnesses from 0 to 1 or, where some are outside of that, from the least to the most."""
    low, high = float(numbers.min()), float(numbers.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        finite = numbers[np.isfinite(numbers)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        numbers = np.nan_to_num(numbers, nan=low, posinf=high, neginf=low).astype(np.float64)
    if low < 0.0 or high > 1.0:
        # Halved, so that the distance of the two greatest numbers is one.
        distance = (high / 2 - low / 2) or 1.0
        numbers = (numbers / 2 - low / 2) / distance
    return np.rint(numbers * 255).astype(np.uint8)
