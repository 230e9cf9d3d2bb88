"""Random transforms of the colors of images."""

from collections.abc import Callable, Sequence

import numpy as np

from minispore.dataset._node import Array
from minispore.dataset.vision._color import (
    AdjustBrightness,
    AdjustContrast,
    AdjustHue,
    AdjustSaturation,
)
from minispore.dataset.vision._random import RandomImageTransform, as_range, between
from minispore.utils.arrays import Float64Array
from minispore.utils.checks import as_items, check_number

Range = tuple[float, float]
# What makes a change from an amount, the range of the amount, and the range without a change.
Adjustment = tuple[Callable[[float], Callable[[Array], Array]], Range, Range]


class RandomColor(RandomImageTransform):
    """Change the saturation of images by a random factor, uniformly distributed in a range.

    Args:
        degrees: The range of the factor of `AdjustSaturation`.

    Raises:
        RuntimeError: On use, if the image does not have the shape (height, width, 3).

    Examples:
        >>> RandomColor((0.0, 0.0))(np.array([[[255, 0, 0], [0, 255, 0]]], np.uint8)).tolist()
        [[[76, 76, 76], [150, 150, 150]]]

    Source: MindSpore's `mindspore.dataset.vision.RandomColor`.
    """

    def __init__(self, degrees: Range = (0.1, 1.9)) -> None:
        self.degrees: Range = as_range(degrees, "degrees")

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return a change of the saturation."""
        del height, width
        return AdjustSaturation(between(self.degrees, uniforms[0]))


class RandomColorAdjust(RandomImageTransform):
    """Change brightness, contrast, saturation and hue of images randomly, in a random order.

    The amounts are uniformly distributed in ranges. What has the range (1, 1), or (0, 0) for the
    hue, is not changed.

    Args:
        brightness: The range of the factor of `AdjustBrightness`; one number b is the range
            (max(0, 1 - b), 1 + b).
        contrast: The range of the factor of `AdjustContrast`, or one number, as for `brightness`.
        saturation: The range of the factor of `AdjustSaturation`, or one number, as for
            `brightness`.
        hue: The range in [-0.5, 0.5] of the summand of `AdjustHue`; one number h is the range
            (-h, h).

    Raises:
        RuntimeError: On use, if the image does not have the shape (height, width, 3), or if the hue
            of an image is changed that is not of uint8.

    Examples:
        >>> RandomColorAdjust((0.5, 0.5))(np.array([[[10, 20, 30]]], np.uint8)).tolist()
        [[[5, 10, 15]]]

    Source: MindSpore's `mindspore.dataset.vision.RandomColorAdjust`.
    """

    # Four amounts, and four numbers whose order is that of the changes.
    draws = 8

    def __init__(
        self,
        brightness: float | Sequence[float] = (1, 1),
        contrast: float | Sequence[float] = (1, 1),
        saturation: float | Sequence[float] = (1, 1),
        hue: float | Sequence[float] = (0, 0),
    ) -> None:
        self.brightness: Range = _as_factors(brightness, "brightness")
        self.contrast: Range = _as_factors(contrast, "contrast")
        self.saturation: Range = _as_factors(saturation, "saturation")
        if as_items(hue) is None:
            limit = check_number(hue, "hue", low=0.0, high=0.5)
            hue = (-limit, limit)
        self.hue: Range = as_range(hue, "hue", -0.5, 0.5)

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return the changes in their order."""
        del height, width
        adjustments: tuple[Adjustment, ...] = (
            (AdjustBrightness, self.brightness, (1, 1)),
            (AdjustContrast, self.contrast, (1, 1)),
            (AdjustSaturation, self.saturation, (1, 1)),
            (AdjustHue, self.hue, (0, 0)),
        )
        changes: list[Callable[[Array], Array]] = []
        for index in map(int, np.argsort(uniforms[4:])):
            adjust, limits, unchanged = adjustments[index]
            if limits != unchanged:
                changes.append(adjust(between(limits, float(uniforms[index]))))

        def apply(image: Array) -> Array:
            for change in changes:
                image = change(image)
            return image

        return apply


def _as_factors(value: object, name: str) -> Range:
    if as_items(value) is None:
        distance = check_number(value, name, low=0.0)
        value = (max(0.0, 1 - distance), 1 + distance)
    return as_range(value, name)
