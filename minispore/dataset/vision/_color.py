"""Transforms of the colors of images, with the arithmetic of OpenCV, which MindSpore uses."""

import numpy as np

from minispore.dataset._node import Array
from minispore.dataset.vision._resize import ImageTransform
from minispore.utils.arrays import Float32Array, Int64Array, UInt8Array
from minispore.utils.checks import caller, check_number


class AdjustBrightness(ImageTransform):
    """Multiply the values of images by a factor.

    Args:
        brightness_factor: The factor, at least 0.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> AdjustBrightness(1.5)(np.array([[10, 200]], np.uint8)).tolist()
        [[15, 255]]

    Source: MindSpore's `mindspore.dataset.vision.AdjustBrightness`.
    """

    def __init__(self, brightness_factor: float) -> None:
        self.factor: np.float32 = _as_factor(brightness_factor, "brightness_factor")

    def map_images(self, images: Array) -> Array:
        """Multiply all images."""
        return _rounded(images.astype(np.float32) * self.factor, images)


class AdjustContrast(ImageTransform):
    """Multiply the differences of the values of images and their mean gray by a factor.

    Args:
        contrast_factor: The factor, at least 0; at 0, images are gray.

    Raises:
        RuntimeError: On use, if the image does not have the shape (height, width, 3).

    Examples:
        >>> AdjustContrast(0.5)(np.array([[[0, 0, 0], [100, 100, 100]]], np.uint8)).tolist()
        [[[25, 25, 25], [75, 75, 75]]]

    Source: MindSpore's `mindspore.dataset.vision.AdjustContrast`.
    """

    def __init__(self, contrast_factor: float) -> None:
        self.factor: np.float32 = _as_factor(contrast_factor, "contrast_factor")

    def map_images(self, images: Array) -> Array:
        """Change the contrast of all images."""
        mean = _gray(images).mean((-3, -2, -1), np.float64, keepdims=True)
        if images.dtype == np.uint8:
            mean = np.floor(mean + 0.5)
        other = mean.astype(np.float32) * (1 - self.factor)
        return _rounded(images.astype(np.float32) * self.factor + other, images)


class AdjustSaturation(ImageTransform):
    """Multiply the differences of the values of each pixel and its gray by a factor.

    Args:
        saturation_factor: The factor, at least 0; at 0, images are gray.

    Raises:
        RuntimeError: On use, if the image does not have the shape (height, width, 3).

    Examples:
        >>> AdjustSaturation(0.0)(np.array([[[255, 0, 0], [0, 255, 0]]], np.uint8)).tolist()
        [[[76, 76, 76], [150, 150, 150]]]

    Source: MindSpore's `mindspore.dataset.vision.AdjustSaturation`.
    """

    def __init__(self, saturation_factor: float) -> None:
        self.factor: np.float32 = _as_factor(saturation_factor, "saturation_factor")

    def map_images(self, images: Array) -> Array:
        """Change the saturation of all images."""
        gray = _gray(images).astype(np.float64)
        # The second product and the sum are rounded once, to float32; in float64 both are exact.
        color = images.astype(np.float32) * self.factor
        total = color + gray * np.float64(1 - self.factor)
        return _rounded(total.astype(np.float32), images)


class AdjustHue(ImageTransform):
    """Add to the hues of images, which are angles on the circle of colors.

    Args:
        hue_factor: The part of a turn to add, in [-0.5, 0.5].

    Raises:
        RuntimeError: On use, if the image does not have the shape (height, width, 3), or is not of
            uint8.

    Examples:
        >>> AdjustHue(0.5)(np.array([[[255, 0, 0], [9, 9, 9]]], np.uint8)).tolist()
        [[[0, 255, 252], [9, 9, 9]]]

    Source: MindSpore's `mindspore.dataset.vision.AdjustHue`.
    """

    def __init__(self, hue_factor: float) -> None:
        self.factor: float = check_number(hue_factor, "hue_factor", low=-0.5, high=0.5)

    def map_images(self, images: Array) -> Array:
        """Change the hues of all images."""
        _check_channels(images)
        if images.dtype != np.uint8:
            raise RuntimeError(
                f"For 'AdjustHue', an image must be of uint8, but is of {images.dtype}."
            )
        hue, saturation, value = _hsv(images.astype(np.int64))
        return _rgb((hue + int(self.factor * 255)) % 256, saturation, value)


class Invert(ImageTransform):
    """Subtract the values of images from 255.

    Raises:
        RuntimeError: On use, if the image does not have the shape (height, width, 3).

    Examples:
        >>> Invert()(np.array([[[0, 55, 255]]], np.uint8)).tolist()
        [[[255, 200, 0]]]

    Source: MindSpore's `mindspore.dataset.vision.Invert`.
    """

    def map_images(self, images: Array) -> Array:
        """Invert all images."""
        _check_channels(images)
        return _rounded(255 - images.astype(np.float32), images)


def _as_factor(value: object, name: str) -> np.float32:
    return np.float32(check_number(value, name, low=0.0))


def _check_channels(images: Array) -> None:
    if images.shape[-1] != 3:
        raise RuntimeError(
            f"For '{caller()}', an image must have the shape (height, width, 3), but got "
            f"{images.shape[-3:]}."
        )


def _rounded(values: Float32Array, images: Array) -> Array:
    """Return values of the type of images; integers are rounded, and limited to their range."""
    if not np.issubdtype(images.dtype, np.integer):
        return values.astype(images.dtype)
    limits = np.iinfo(images.dtype.name)
    return np.rint(values).clip(limits.min, limits.max).astype(images.dtype)


def _gray(images: Array) -> Array:
    """Return the gray (n, ..., height, width, 1) of images."""
    _check_channels(images)
    if images.dtype == np.uint8:
        weighted: Int64Array = images.astype(np.int64) @ np.array([[9798], [19235], [3735]])
        return (weighted + (1 << 14)) >> 15
    return images.astype(np.float32) @ np.array([[0.299], [0.587], [0.114]], np.float32)


def _hsv(images: Int64Array) -> tuple[Int64Array, ...]:
    """Return hue in [0, 256), saturation and value in [0, 256) of each pixel."""
    red, green, blue = images[..., 0], images[..., 1], images[..., 2]
    value: Int64Array = images.max(-1)
    spread: Int64Array = value - images.min(-1)
    # Reciprocals are integer multiples of 1 / 4096, as in OpenCV.
    per_value = np.rint((255 << 12) / value.clip(1)).astype(np.int64)
    per_spread = np.rint((256 << 12) / (6.0 * spread.clip(1))).astype(np.int64)
    sixth = red - green + 4 * spread
    np.copyto(sixth, blue - red + 2 * spread, where=value == green)
    np.copyto(sixth, green - blue, where=value == red)
    hue = (sixth * per_spread + 2048) >> 12
    return hue % 256, (spread * per_value + 2048) >> 12, value


def _rgb(hue: Int64Array, saturation: Int64Array, value: Int64Array) -> UInt8Array:
    """Return the pixels of a hue in [0, 255], a saturation and a value."""
    sixths = hue.astype(np.float32) * np.float32(6 / 255)
    sector = np.floor(sixths)
    fraction = sixths - sector
    s = saturation.astype(np.float32) * np.float32(1 / 255)
    v = value.astype(np.float32) * np.float32(1 / 255)
    low, falling, rising = v * (1 - s), v * (1 - s * fraction), v * (1 - s * (1 - fraction))
    index = sector.astype(np.int64) % 6
    red = np.choose(index, [v, falling, low, low, rising, v])
    green = np.choose(index, [rising, v, v, falling, low, low])
    blue = np.choose(index, [low, low, rising, v, v, falling])
    return np.rint(np.stack([red, green, blue], -1) * np.float32(255)).astype(np.uint8)
