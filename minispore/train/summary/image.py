"""Image grids as PNG files."""

import struct
import zlib
from typing import Final

import numpy as np

from minispore.train.summary.event import Image
from minispore.utils.arrays import AnyArray, Float32Array, Float64Array, UInt8Array

# The number of images in a row.
_PER_ROW: Final = 8
# Fast rather than small, since images are encoded during training.
_COMPRESSION: Final = 1
_COLOUR_TYPES: Final = {1: 0, 3: 2}


def make_grid(images: AnyArray) -> Image:
    """Return a batch of images as one image, with eight images in a row.

    The elements of uint8 images are not changed, and bool images are black and white. Other
    elements are intensities from 0 to 1; if an element of the batch is out of this range, its
    smallest finite element becomes black and its largest white. NaN becomes black, infinity white.

    Args:
        images: The images, of shape (n, 1 or 3, height, width), without empty axes.
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


def png(pixels: UInt8Array) -> bytes:
    """Return the content of a PNG file.

    Args:
        pixels: The pixels, of shape (height, width, 1) for grey or (height, width, 3) for RGB.

    Source: https://www.w3.org/TR/png-3/
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    # Each row begins with the code of its filter; 0 is none.
    rows = np.zeros((height, 1 + width * channels), np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    # Run-length encoding is the fastest strategy, and compresses most images equally well.
    encoder = zlib.compressobj(_COMPRESSION, strategy=zlib.Z_RLE)
    data = encoder.compress(rows.data) + encoder.flush()
    chunks = (_chunk(b"IHDR", header), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    crc = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)


def as_bytes(images: AnyArray) -> UInt8Array:
    """Return a batch of images as uint8; see `make_grid` for the conversion."""
    if images.dtype == np.uint8:
        return images.astype(np.uint8)
    if images.dtype == np.bool_:
        return images.view(np.uint8) * np.uint8(255)
    if images.dtype == np.float64:
        return _rescale_intensity(images.astype(np.float64))
    return _rescale_intensity(images.astype(np.float32))


def _rescale_intensity(numbers: Float32Array | Float64Array) -> UInt8Array:
    """Return intensities as uint8, rescaled if some are not between 0 and 1."""
    finite = numbers[np.isfinite(numbers)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0.0 or high > 1.0 or np.isinf(numbers).any():
        # Halved, since the range of the largest numbers would overflow.
        numbers = (numbers / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
    np.nan_to_num(numbers, copy=False, nan=0.0, posinf=1.0, neginf=0.0)
    return np.rint(numbers * 255).astype(np.uint8)
