"""Resizing of images with the arithmetic of OpenCV."""

from abc import abstractmethod
from enum import Enum

import numpy as np
import numpy.typing as npt

from minispore.dataset._node import Array
from minispore.dataset.transforms.transforms import Transform
from minispore.utils.arrays import Float32Array, IndexArray
from minispore.utils.checks import as_items, check_int, check_type, type_error

# Weights of uint8 images are integer multiples of 1 / _ONE, as in OpenCV.
_ONE = 1 << 11


class ImageTransform(Transform):
    """Base class of transforms of images (..., height, width, channels) or (height, width)."""

    @abstractmethod
    def map_images(self, images: Array) -> Array:
        """Transform images (n, ..., height, width, channels)."""

    def batched(self, block: Array) -> Array:
        """Transform all rows; an image without a channel axis gets one meanwhile."""
        check_axes(block.shape[1:], type(self).__name__)
        if block.ndim == 3:
            return np.ascontiguousarray(self.map_images(block[..., np.newaxis])[..., 0])
        return np.ascontiguousarray(self.map_images(block))


def check_axes(shape: tuple[int, ...], transform: str) -> None:
    """Raise RuntimeError unless an image has two axes or more."""
    if len(shape) < 2:
        raise RuntimeError(
            f"For '{transform}', an image must have the shape (height, width, …), but got {shape}."
        )


def as_size(size: object) -> tuple[int, ...]:
    """Return the argument `size`, an int or two of them, as a tuple of one or two."""
    lengths = (size,) if type(size) is int else as_items(size)
    if lengths is None or (type(size) is not int and len(lengths) != 2):
        raise type_error(size, "size", "be an int, or a list or tuple of two")
    return tuple([check_int(n, "size", low=1, high=(1 << 31) - 1) for n in lengths])


def height_and_width(size: object) -> tuple[int, int]:
    """Return the argument `size` as the height and the width; an int is both."""
    lengths = as_size(size)
    return lengths[0], lengths[-1]


class Inter(Enum):
    """Interpolation methods of `Resize`; MindSpore's other four are not supported.

    Examples:
        >>> Inter.BILINEAR is Inter.LINEAR
        True

    Source: MindSpore's `mindspore.dataset.vision.Inter`.
    """

    NEAREST = 0
    BILINEAR = LINEAR = 2


class Resize(ImageTransform):
    """Resize images with the arithmetic of OpenCV, which MindSpore uses.

    Args:
        size: The height and the width, or the length of the shorter side.
        interpolation: `Inter.LINEAR` for the mean of the four nearest pixels, weighted by
            distance; `Inter.NEAREST` for one of them.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions or no pixels, or is not of
            uint8, float32 or float64.

    Examples:
        >>> Resize((2, 4))(np.array([[0, 100], [200, 100]], np.uint8)).tolist()
        [[0, 25, 75, 100], [200, 175, 125, 100]]
        >>> Resize(32)(np.zeros((28, 28, 1), np.float32)).shape
        (32, 32, 1)

    Source: MindSpore's `mindspore.dataset.vision.Resize`.
    """

    def __init__(self, size: int | tuple[int, int], interpolation: Inter = Inter.LINEAR) -> None:
        self.size: tuple[int, ...] = as_size(size)
        self.interpolation: Inter = check_type(interpolation, Inter, "interpolation")

    def map_images(self, images: Array) -> Array:
        """Resize all images."""
        if 0 in images.shape[1:] or images.dtype not in ("u1", "f4", "f8"):
            raise RuntimeError(
                "For 'Resize', an image must have pixels of uint8, float32 or float64, but got one "
                f"of {images.dtype} and of shape {images.shape[1:]}."
            )
        old_height, old_width = images.shape[-3:-1]
        height, width = self._new_size(old_height, old_width)
        if self.interpolation is Inter.NEAREST:
            rows, columns = _nearest(old_height, height), _nearest(old_width, width)
            return images[..., rows, :, :][..., columns, :]
        return _resize_linear(images, height, width)

    def _new_size(self, height: int, width: int) -> tuple[int, int]:
        if len(self.size) == 2:
            return self.size[0], self.size[1]
        shorter = self.size[0]
        if height < width:
            return shorter, width * shorter // height
        return height * shorter // width, shorter


def _nearest(old_length: int, length: int) -> IndexArray:
    """Return the index of the nearest old pixel for each new one along an axis."""
    scale = 1 / (length / old_length)
    nearest: IndexArray = np.floor(np.arange(length) * scale).astype(np.intp)
    return nearest.clip(max=old_length - 1)


def _resize_linear(images: Array, height: int, width: int) -> Array:
    """Interpolate linearly between columns, and then between rows."""
    left, right_weight = _interpolation_weights(images.shape[-2], width)
    # At the left and right border all weight is on one pixel; at the upper and lower border the
    # same pixel counts twice. The difference matters where numbers are rounded.
    right_weight[(left < 0) | (left >= images.shape[-2] - 1)] = 0
    top, bottom_weight = _interpolation_weights(images.shape[-3], height)
    column_weights = right_weight[:, np.newaxis]
    row_weights = bottom_weight[:, np.newaxis, np.newaxis]
    columns = [np.clip(left + i, 0, images.shape[-2] - 1) for i in (0, 1)]
    rows = [np.clip(top + i, 0, images.shape[-3] - 1) for i in (0, 1)]
    if images.dtype != np.uint8:
        means: Array = images[..., columns[0], :] * (1 - column_weights)
        means = means + images[..., columns[1], :] * column_weights
        means_above = means[..., rows[0], :, :] * (1 - row_weights)
        return means_above + means[..., rows[1], :, :] * row_weights
    wide = images.astype(np.int32)
    sums = wide[..., columns[0], :] * _to_fixed_point(1 - column_weights)
    sums = sums + wide[..., columns[1], :] * _to_fixed_point(column_weights) >> 4
    upper = sums[..., rows[0], :, :] * _to_fixed_point(1 - row_weights) >> 16
    lower = sums[..., rows[1], :, :] * _to_fixed_point(row_weights) >> 16
    return ((upper + lower + 2) >> 2).astype(np.uint8)


def _interpolation_weights(old_length: int, length: int) -> tuple[IndexArray, Float32Array]:
    """Return, for each new pixel along an axis, the old pixel before it and the distance to it."""
    # Positions are those of the pixels' centres.
    positions = (np.arange(length) + 0.5) * (old_length / length) - 0.5
    before = np.floor(positions.astype(np.float32))
    return before.astype(np.intp), positions.astype(np.float32) - before


def _to_fixed_point(weights: Float32Array) -> npt.NDArray[np.int32]:
    return np.rint(weights * _ONE).astype(np.int32)
