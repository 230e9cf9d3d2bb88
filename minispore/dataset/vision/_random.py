"""Random transforms of images: random numbers choose one of the transforms of images."""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from minispore.dataset._node import Array
from minispore.dataset.transforms.transforms import RandomTransform
from minispore.dataset.vision._decode import Decode
from minispore.dataset.vision._geometric import (
    Affine,
    Border,
    Crop,
    Fill,
    HorizontalFlip,
    Pad,
    Rotate,
    VerticalFlip,
    as_fill_value,
    as_padding,
    as_pair,
)
from minispore.dataset.vision._resize import Inter, Resize, check_axes, height_and_width
from minispore.utils.arrays import Float64Array
from minispore.utils.checks import (
    as_items,
    check_int,
    check_number,
    check_type,
    type_error,
    value_error,
)

Ranges = tuple[tuple[float, float], tuple[float, float]]


class RandomImageTransform(RandomTransform):
    """Base class of random transforms of images, which transform all columns equally."""

    @abstractmethod
    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return the transform of images of this size that random numbers choose."""

    def transform(self, uniforms: Float64Array, *values: object) -> Array | tuple[Array, ...]:
        """Transform one image, or several equally."""
        results: list[Array] = []
        for image in map(np.asarray, values):
            check_axes(image.shape, type(self).__name__)
            axis = max(image.ndim - 3, 0)
            results.append(self.choose(uniforms, *image.shape[axis : axis + 2])(image))
        return results[0] if len(results) == 1 else tuple(results)


class RandomHorizontalFlip(RandomImageTransform):
    """Mirror images with a probability.

    Args:
        prob: The probability.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> RandomHorizontalFlip(prob=1.0)(np.array([[1, 2, 3]])).tolist()
        [[3, 2, 1]]

    Source: MindSpore's `mindspore.dataset.vision.RandomHorizontalFlip`.
    """

    _flip: HorizontalFlip | VerticalFlip = HorizontalFlip()

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = check_number(prob, "prob", low=0.0, high=1.0)

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return the flip, or what changes nothing."""
        del height, width
        return self._flip if uniforms[0] < self.prob else np.copy


class RandomVerticalFlip(RandomHorizontalFlip):
    """Turn images upside down with a probability.

    Args:
        prob: The probability.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> RandomVerticalFlip(prob=1.0)(np.array([[1], [2]])).tolist()
        [[2], [1]]

    Source: MindSpore's `mindspore.dataset.vision.RandomVerticalFlip`.
    """

    _flip = VerticalFlip()


class RandomCrop(RandomImageTransform):
    """Pad images, and cut out a part at a random position; all positions are equally likely.

    Args:
        size: The height and the width, or one number for both.
        padding: The number of columns and rows to add at each side first; or one number for left
            and right and one for top and bottom; or those of left, top, right and bottom.
        pad_if_needed: Whether to pad a smaller image, at both sides.
        fill_value: The value of the added pixels from 0 to 255, or one for each of three channels.
        padding_mode: What is added; `Border.CONSTANT` for `fill_value`.

    Raises:
        RuntimeError: On use, if the part is larger than the padded image.

    Examples:
        >>> RandomCrop(2)(np.zeros((28, 32, 3))).shape
        (2, 2, 3)
        >>> RandomCrop(32, padding=4)(np.zeros((32, 32, 3))).shape
        (32, 32, 3)

    Source: MindSpore's `mindspore.dataset.vision.RandomCrop`.
    """

    draws = 2

    def __init__(
        self,
        size: int | tuple[int, int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill_value: Fill = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.size: tuple[int, int] = height_and_width(size)
        self.padding: tuple[int, ...] = as_padding(0 if padding is None else padding)
        self.pad_if_needed: bool = check_type(pad_if_needed, bool, "pad_if_needed")
        as_fill_value(fill_value)
        self.padding_mode: Border = check_type(padding_mode, Border, "padding_mode")
        self.fill_value = fill_value

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return the padding and a crop."""
        left, top, right, bottom = self.padding
        lengths = (height + top + bottom, width + left + right)
        missing = [
            max(wanted - length, 0) if self.pad_if_needed else 0
            for wanted, length in zip(self.size, lengths, strict=True)
        ]
        sides = (left + missing[1], top + missing[0], right + missing[1], bottom + missing[0])
        corner: list[int] = []
        for uniform, wanted, length, more in zip(
            uniforms, self.size, lengths, missing, strict=True
        ):
            room = length + 2 * more - wanted
            if room < 0:
                raise RuntimeError(
                    f"For 'RandomCrop', the argument 'size' {self.size} must be at most the height "
                    f"and width of the padded image, {lengths}."
                )
            corner.append(int(uniform * (room + 1)))
        pad = Pad(sides, self.fill_value, self.padding_mode) if any(sides) else np.asarray
        crop = Crop((corner[0], corner[1]), self.size)
        return lambda image: crop(pad(image))


class RandomResizedCrop(RandomImageTransform):
    """Cut out a part of images of random size, shape and position, and resize it.

    The part's area and its logarithmic aspect ratio are uniformly distributed. If no part of
    `max_attempts` drawn ones fits, the largest one in the middle that has a ratio of the range is
    taken.

    Args:
        size: The height and the width of the result, or one number for both.
        scale: The range of the part's area, divided by the image's.
        ratio: The range of the part's aspect ratio: its width, divided by its height.
        interpolation: That of `Resize`.
        max_attempts: The maximum number of parts to draw.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions, or cannot be resized.

    Examples:
        >>> RandomResizedCrop(8)(np.zeros((28, 32, 3), np.uint8)).shape
        (8, 8, 3)

    Source: MindSpore's `mindspore.dataset.vision.RandomResizedCrop`.
    """

    def __init__(
        self,
        size: int | tuple[int, int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ) -> None:
        check_type(interpolation, Inter, "interpolation")
        self.resize: Resize = Resize(height_and_width(size), interpolation)
        self.scale: tuple[float, float] = as_range(scale, "scale")
        self.ratio: tuple[float, float] = as_range(ratio, "ratio", 1e-9)
        check_int(max_attempts, "max_attempts", low=1)
        self.draws: int = 2 * max_attempts + 2

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return a crop and the resizing."""
        part = self._draw_part(uniforms[2:], height, width)
        if part is None:
            part = self._largest_part(height, width)
            corner = (height - part[0] + 1) // 2, (width - part[1] + 1) // 2
        else:
            corner = (
                int(uniforms[0] * (height - part[0] + 1)),
                int(uniforms[1] * (width - part[1] + 1)),
            )
        crop = Crop(corner, part)
        return lambda image: self.resize(crop(image))

    def _draw_part(self, uniforms: Float64Array, height: int, width: int) -> tuple[int, int] | None:
        """Return the first height and width that fit, or None."""
        low, high = map(math.log, self.ratio)
        for uniform, other in uniforms.reshape(-1, 2):
            area = height * width * (self.scale[0] + uniform * (self.scale[1] - self.scale[0]))
            ratio = math.exp(low + other * (high - low))
            part = _rounded(math.sqrt(area / ratio)), _rounded(math.sqrt(area * ratio))
            if 0 < part[0] <= height and 0 < part[1] <= width:
                return part
        return None

    def _largest_part(self, height: int, width: int) -> tuple[int, int]:
        low, high = self.ratio
        if width / height < low:
            return max(_rounded(width / low), 1), width
        return height, max(_rounded(min(height * high, width)), 1)


class RandomCropDecodeResize(RandomResizedCrop):
    """Decode the bytes of an image file by Pillow, and cut out and resize a random part.

    Args:
        size: The height and the width of the result, or one number for both.
        scale: The range of the part's area, divided by the image's.
        ratio: The range of the part's aspect ratio: its width, divided by its height.
        interpolation: That of `Resize`.
        max_attempts: The maximum number of parts to draw.

    Raises:
        ImportError: On use, if Pillow is missing.
        RuntimeError: On use, if the input is no image.

    Examples:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (40, 20)).save(file, "PNG")
        >>> RandomCropDecodeResize(8)(np.frombuffer(file.getvalue(), np.uint8)).shape
        (8, 8, 3)

    Source: MindSpore's `mindspore.dataset.vision.RandomCropDecodeResize`.
    """

    def transform(self, uniforms: Float64Array, *values: object) -> Array | tuple[Array, ...]:
        """Decode and transform one image, or several equally."""
        return super().transform(uniforms, *map(Decode(), values))


class RandomRotation(RandomImageTransform):
    """Rotate images by a random angle; all angles in a range are equally likely.

    Args:
        degrees: The range of the angle, counterclockwise; one number d is the range (-d, d).
        resample: `Inter.NEAREST` or `Inter.BILINEAR`.
        expand: Whether the result is as large as the rotated image, rather than as the image.
        center: The column and the row of the center; None for the middle.
        fill_value: The value of pixels outside of the image from 0 to 255, or one for each of three
            channels.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions, or if pixels of another type
            than uint8, float32 or float64 are interpolated.

    Examples:
        >>> RandomRotation((90, 90))(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
        [[2, 4], [1, 3]]

    Source: MindSpore's `mindspore.dataset.vision.RandomRotation`.
    """

    def __init__(
        self,
        degrees: float | tuple[float, float],
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: tuple[float, float] | None = None,
        fill_value: Fill = 0,
    ) -> None:
        self.degrees: tuple[float, float] = _as_angles(degrees, "degrees", 0.0)
        self.resample: Inter = check_type(resample, Inter, "resample")
        self.expand: bool = check_type(expand, bool, "expand")
        if center is not None:
            as_pair(center, "center")
        as_fill_value(fill_value)
        self.center = center
        self.fill_value = fill_value

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return a rotation."""
        del height, width
        degrees = between(self.degrees, uniforms[0])
        return Rotate(degrees, self.resample, self.expand, self.center, self.fill_value)


class RandomAffine(RandomImageTransform):
    """Rotate, shear, scale and move images by random amounts, uniformly distributed in ranges.

    Args:
        degrees: The range of the angle, clockwise; one number d is the range (-d, d).
        translate: The range of the distance to the right, as a part of the width in [-1, 1]; or
            four numbers, the ranges of the distances to the right and downwards.
        scale: The range of the factor.
        shear: The range of the angle by which to shear along the columns; one number s is the range
            (-s, s); or four numbers, the ranges along both axes.
        resample: `Inter.NEAREST` or `Inter.BILINEAR`.
        fill_value: The value of pixels outside of the image from 0 to 255, or one for each of three
            channels.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions, or if pixels of another type
            than uint8, float32 or float64 are interpolated.

    Examples:
        >>> RandomAffine(0, (0.5, 0.5))(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
        [[0, 1], [0, 3]]

    Source: MindSpore's `mindspore.dataset.vision.RandomAffine`.
    """

    draws = 6

    def __init__(
        self,
        degrees: float | tuple[float, float],
        translate: Sequence[float] | None = None,
        scale: tuple[float, float] | None = None,
        shear: float | Sequence[float] | None = None,
        resample: Inter = Inter.NEAREST,
        fill_value: Fill = 0,
    ) -> None:
        none = (0.0, 0.0)
        self.degrees: tuple[float, float] = _as_angles(degrees, "degrees", 0.0)
        self.translate: Ranges = (none, none)
        if translate is not None:
            self.translate = _as_ranges(translate, "translate", 1.0)
        self.scale: tuple[float, float] = (1.0, 1.0)
        if scale is not None:
            self.scale = as_range(scale, "scale", 1e-9)
        self.shear: Ranges = (none, none)
        if shear is not None and as_items(shear) is None:
            self.shear = (_as_angles(shear, "shear", 1e-9), none)
        elif shear is not None:
            self.shear = _as_ranges(shear, "shear", math.inf)
        self.resample: Inter = check_type(resample, Inter, "resample")
        as_fill_value(fill_value)
        self.fill_value = fill_value

    def choose(self, uniforms: Float64Array, height: int, width: int) -> Callable[[Array], Array]:
        """Return an affine map."""
        del height, width
        degrees, scale, x, y, shear_x, shear_y = map(
            between, (self.degrees, self.scale, *self.translate, *self.shear), uniforms
        )
        return Affine(degrees, (x, y), scale, (shear_x, shear_y), self.resample, self.fill_value)


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)


def _as_angles(value: object, name: str, least: float) -> tuple[float, float]:
    """Return an argument of two angles; one number v, at least `least`, is the range (-v, v)."""
    if as_items(value) is not None:
        return as_range(value, name, -math.inf)
    limit = check_number(value, name, low=least)
    return -limit, limit


def _as_ranges(value: object, name: str, most: float) -> Ranges:
    """Return an argument of four numbers up to `most`, or two, as ranges along both axes."""
    items = as_items(value)
    if items is None or len(items) not in (2, 4):
        raise type_error(value, name, "be a list or tuple of two or four numbers")
    first = as_range(items[:2], name, -most, most)
    return first, as_range(items[2:] or (0.0, 0.0), name, -most, most)


def as_range(
    value: object, name: str, least: float = 0.0, most: float = math.inf
) -> tuple[float, float]:
    """Return an argument of two numbers, the second not below the first."""
    low, high = as_pair(value, name)
    if not least <= low <= high <= most:
        raise value_error(value, name, f"be a range between {least} and {most}")
    return low, high


def between(limits: tuple[float, float], uniform: float) -> float:
    """Return the number in a range that a random number in [0, 1) chooses."""
    low, high = limits
    return low + float(uniform) * (high - low)
