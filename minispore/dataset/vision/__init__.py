"""Transforms of images (height, width, channels), in MindSpore's float32 arithmetic."""

from collections.abc import Sequence
from enum import Enum
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore.common.dtype import as_dtype
from minispore.dataset._node import Array
from minispore.dataset.transforms import Transform
from minispore.utils.checks import as_items, check_int, check_number, check_type, describe_value
from minispore.utils.unsupported import module_attributes

__all__ = ["HWC2CHW", "Inter", "Normalize", "Rescale", "Resize", "ToTensor"]

globals()["__getattr__"], globals()["__dir__"] = module_attributes(__name__)

Floats = npt.NDArray[np.float32]
Indices = npt.NDArray[np.intp]

# Weights of uint8 images are integer multiples of 1 / _ONE, as in OpenCV.
_ONE = 1 << 11


class Rescale(Transform):
    """Multiply by `rescale` and add `shift`; the result is of float32.

    Args:
        rescale: The factor.
        shift: The summand.

    Examples:
        >>> Rescale(0.5, -1.0)(np.array([[0, 1, 4]], np.uint8)).tolist()
        [[-1.0, -0.5, 1.0]]

    Source: MindSpore's `mindspore.dataset.vision.Rescale`.
    """

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale: np.float32 = np.float32(check_number(rescale, "rescale"))
        self.shift: np.float32 = np.float32(check_number(shift, "shift"))

    def batched(self, block: Array) -> Array:
        """Rescale all rows."""
        if self.shift == 0 and np.can_cast(block.dtype, np.float32):
            result = block.astype(np.float32, copy=False)
            result *= self.rescale
            return result
        # MindSpore rounds once, after both steps; in float64 the product of floats is exact.
        exact = block.astype(np.float64)
        exact *= np.float64(self.rescale)
        exact += np.float64(self.shift)
        return exact.astype(np.float32)


class Normalize(Transform):
    """Subtract the mean of each channel and divide by its standard deviation, in float32.

    Args:
        mean: One value for each channel, or one for all channels, in [0, 255].
        std: As many values, in (0, 255].
        is_hwc: Whether images are (height, width, channels) rather than (channels, height, width).

    Raises:
        RuntimeError: On use, if the image has another number of channels.

    Examples:
        >>> Normalize(mean=(100.0,), std=(50.0,))(np.array([[[50], [200]]], np.uint8)).tolist()
        [[[-1.0], [2.0]]]

    Source: MindSpore's `mindspore.dataset.vision.Normalize`.
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        check_type(is_hwc, bool, "is_hwc")
        self.mean: Floats = _per_channel(mean, "mean")
        self.std: Floats = _per_channel(std, "std")
        if len(self.mean) != len(self.std):
            raise ValueError(
                "For 'Normalize', the arguments 'mean' and 'std' must have the same length, but "
                f"got {len(self.mean)} and {len(self.std)}."
            )
        if (self.std == 0).any():
            raise ValueError(f"For 'Normalize', the argument 'std' must be above 0, but got {std}.")
        self.is_hwc = is_hwc

    def batched(self, block: Array) -> Array:
        """Normalize all rows."""
        if block.ndim < 3:
            raise RuntimeError(
                "For 'Normalize', an image must have at least 2 dimensions, but got shape "
                f"{block.shape[1:]}."
            )
        mean, std = self._per_axis(self.mean, block), self._per_axis(self.std, block)
        result = block.astype(np.float32, copy=False)
        result -= mean
        result /= std
        return result

    def _per_axis(self, values: Floats, block: Array) -> Floats:
        if len(values) == 1:
            return values
        # An image without a channel axis has one channel.
        axis = -1 if self.is_hwc else -3
        channels = block.shape[axis] if block.ndim > 3 else 1
        if channels != len(values):
            raise RuntimeError(
                f"For 'Normalize', there are {len(values)} values of 'mean' and 'std', but the "
                f"image of shape {block.shape[1:]} has {channels} channels."
            )
        return values if self.is_hwc else values[:, np.newaxis, np.newaxis]


class HWC2CHW(Transform):
    """Move the channels to the front: (height, width, channels) to (channels, height, width).

    An image (height, width) is not changed.

    Raises:
        RuntimeError: On use, if the image does not have 2 or 3 dimensions.

    Examples:
        >>> HWC2CHW()(np.zeros((28, 32, 3))).shape
        (3, 28, 32)

    Source: MindSpore's `mindspore.dataset.vision.HWC2CHW`.
    """

    def batched(self, block: Array) -> Array:
        """Move the channels of all rows."""
        _check_image(block, "HWC2CHW")
        if block.ndim == 3:
            return block
        return np.ascontiguousarray(block.transpose(0, 3, 1, 2))


class ToTensor(Transform):
    """Divide by 255, move the channels to the front, and convert to `output_type`.

    Args:
        output_type: A dtype of minispore or numpy.

    Raises:
        RuntimeError: On use, if the image does not have 2 or 3 dimensions.

    Examples:
        >>> ToTensor()(np.array([[0, 255]], np.uint8)).tolist()
        [[[0.0, 1.0]]]

    Source: MindSpore's `mindspore.dataset.vision.ToTensor`.
    """

    def __init__(self, output_type: object = np.float32) -> None:
        dtype = as_dtype(output_type, "ToTensor", "output_type")
        self.dtype: np.dtype[np.generic] = dtype.numpy_dtype

    def batched(self, block: Array) -> Array:
        """Convert all rows."""
        _check_image(block, "ToTensor")
        images = block.astype(np.float32, copy=False)
        images *= np.float32(1.0 / 255.0)
        front = images[:, np.newaxis] if block.ndim == 3 else images.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(front, dtype=self.dtype)


def _check_image(block: Array, caller: str) -> None:
    if block.ndim not in (3, 4):
        raise RuntimeError(
            f"For '{caller}', an image must have the shape (height, width, channels) or "
            f"(height, width), but got {block.shape[1:]}."
        )


def _per_channel(values: Sequence[float], name: str) -> Floats:
    check_type(values, (list, tuple), name, "Normalize")
    if not values:
        raise ValueError(f"For 'Normalize', the argument '{name}' must not be empty.")
    checked = [check_number(value, name, "Normalize", low=0.0, high=255.0) for value in values]
    return np.array(checked, np.float32)


class Inter(Enum):
    """Interpolation methods of `Resize`; MindSpore's other four are not supported.

    Examples:
        >>> Inter.BILINEAR is Inter.LINEAR
        True

    Source: MindSpore's `mindspore.dataset.vision.Inter`.
    """

    NEAREST = 0
    BILINEAR = LINEAR = 2


class Resize(Transform):
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
        lengths = (size,) if type(size) is int else as_items(size)
        if lengths is None or (type(size) is not int and len(lengths) != 2):
            raise TypeError(
                "For 'Resize', the argument 'size' must be an int, or a list or tuple of two, "
                f"but got {describe_value(cast('object', size))}."
            )
        self.size: tuple[int, ...] = tuple(
            check_int(n, "size", low=1, high=(1 << 31) - 1) for n in lengths
        )
        check_type(interpolation, Inter, "interpolation")
        self.interpolation = interpolation

    def batched(self, block: Array) -> Array:
        """Resize all rows."""
        if block.ndim < 3 or 0 in block.shape[1:] or block.dtype not in ("u1", "f4", "f8"):
            raise RuntimeError(
                "For 'Resize', an image must be (height, width, …) of uint8, float32 or float64, "
                f"but got one of {block.dtype} and of shape {block.shape[1:]}."
            )
        # An image without a channel axis gets one.
        images = block[..., np.newaxis] if block.ndim == 3 else block
        old_height, old_width = images.shape[-3:-1]
        height, width = self._new_size(old_height, old_width)
        if self.interpolation is Inter.NEAREST:
            rows, columns = _nearest(old_height, height), _nearest(old_width, width)
            resized = images[..., rows, :, :][..., columns, :]
        else:
            resized = _resize_linear(images, height, width)
        return resized[..., 0] if block.ndim == 3 else np.ascontiguousarray(resized)

    def _new_size(self, height: int, width: int) -> tuple[int, int]:
        if len(self.size) == 2:
            return self.size[0], self.size[1]
        shorter = self.size[0]
        if height < width:
            return shorter, width * shorter // height
        return height * shorter // width, shorter


def _nearest(old_length: int, length: int) -> Indices:
    """Return the index of the nearest old pixel for each new one along an axis."""
    scale = 1 / (length / old_length)
    nearest: Indices = np.floor(np.arange(length) * scale).astype(np.intp)
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
        floats = cast("npt.NDArray[np.float64]", images)
        means = floats[..., columns[0], :] * (1 - column_weights)
        means = means + floats[..., columns[1], :] * column_weights
        means_above = means[..., rows[0], :, :] * (1 - row_weights)
        return means_above + means[..., rows[1], :, :] * row_weights
    wide = images.astype(np.int32)
    sums = wide[..., columns[0], :] * _to_fixed_point(1 - column_weights)
    sums = sums + wide[..., columns[1], :] * _to_fixed_point(column_weights) >> 4
    upper = sums[..., rows[0], :, :] * _to_fixed_point(1 - row_weights) >> 16
    lower = sums[..., rows[1], :, :] * _to_fixed_point(row_weights) >> 16
    return ((upper + lower + 2) >> 2).astype(np.uint8)


def _interpolation_weights(old_length: int, length: int) -> tuple[Indices, Floats]:
    """Return, for each new pixel along an axis, the old pixel before it and the distance to it."""
    # Positions are those of the pixels' centres.
    positions = (np.arange(length) + 0.5) * (old_length / length) - 0.5
    before = np.floor(positions.astype(np.float32))
    return before.astype(np.intp), positions.astype(np.float32) - before


def _to_fixed_point(weights: Floats) -> npt.NDArray[np.int32]:
    return np.rint(weights * _ONE).astype(np.int32)
