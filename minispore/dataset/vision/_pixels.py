"""Transforms of the values and the axes of images."""

from collections.abc import Sequence

import numpy as np

from minispore.dataset._node import Array
from minispore.dataset.transforms.transforms import Transform
from minispore.engine.dtypes import as_dtype
from minispore.utils.arrays import Float32Array
from minispore.utils.checks import caller, check_number, check_type

__all__ = ["HWC2CHW", "Normalize", "Rescale", "ToTensor"]


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
        self.mean: Float32Array = _per_channel(mean, "mean")
        self.std: Float32Array = _per_channel(std, "std")
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

    def _per_axis(self, values: Float32Array, block: Array) -> Float32Array:
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
        _check_image(block)
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
        dtype = as_dtype(output_type, "output_type")
        self.dtype: np.dtype[np.generic] = dtype.numpy_dtype

    def batched(self, block: Array) -> Array:
        """Convert all rows."""
        _check_image(block)
        images = block.astype(np.float32, copy=False)
        images *= np.float32(1.0 / 255.0)
        front = images[:, np.newaxis] if block.ndim == 3 else images.transpose(0, 3, 1, 2)
        return np.ascontiguousarray(front, dtype=self.dtype)


def _check_image(block: Array) -> None:
    if block.ndim not in (3, 4):
        raise RuntimeError(
            f"For '{caller()}', an image must have the shape (height, width, channels) or "
            f"(height, width), but got {block.shape[1:]}."
        )


def _per_channel(values: Sequence[float], name: str) -> Float32Array:
    check_type(values, (list, tuple), name)
    if not values:
        raise ValueError(f"For 'Normalize', the argument '{name}' must not be empty.")
    checked = [check_number(value, name, low=0.0, high=255.0) for value in values]
    return np.array(checked, np.float32)
