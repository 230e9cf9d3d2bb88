"""Crops, flips, paddings and rotations of images."""

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np

from minispore.dataset._node import Array
from minispore.dataset.vision._resize import ImageTransform, Inter, height_and_width
from minispore.utils.arrays import Float64Array, Int64Array
from minispore.utils.checks import as_items, check_int, check_number, check_type, type_error

Fill = int | tuple[int, int, int]


class Border(Enum):
    """What `Pad` adds: one value, the border's pixels, or the image mirrored.

    `REFLECT` mirrors without repeating the pixels of the border, `SYMMETRIC` repeats them.

    Examples:
        >>> Pad((2, 0), padding_mode=Border.REFLECT)(np.array([[1, 2, 3]])).tolist()
        [[3, 2, 1, 2, 3, 2, 1]]
        >>> Pad((2, 0), padding_mode=Border.SYMMETRIC)(np.array([[1, 2, 3]])).tolist()
        [[2, 1, 1, 2, 3, 3, 2]]

    Source: MindSpore's `mindspore.dataset.vision.Border`.
    """

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class HorizontalFlip(ImageTransform):
    """Mirror images: the left column becomes the right one.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> HorizontalFlip()(np.array([[1, 2, 3]])).tolist()
        [[3, 2, 1]]

    Source: MindSpore's `mindspore.dataset.vision.HorizontalFlip`.
    """

    def map_images(self, images: Array) -> Array:
        """Mirror all images."""
        return images[..., ::-1, :]


class VerticalFlip(ImageTransform):
    """Turn images upside down: the upper row becomes the lower one.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> VerticalFlip()(np.array([[1], [2]])).tolist()
        [[2], [1]]

    Source: MindSpore's `mindspore.dataset.vision.VerticalFlip`.
    """

    def map_images(self, images: Array) -> Array:
        """Turn all images."""
        return images[..., ::-1, :, :]


class Crop(ImageTransform):
    """Cut out a part of images.

    Args:
        coordinates: The row and the column of the upper left corner.
        size: The height and the width, or one number for both.

    Raises:
        RuntimeError: On use, if the part is not inside of the image.

    Examples:
        >>> Crop((1, 0), (1, 2))(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
        [[4, 5]]

    Source: MindSpore's `mindspore.dataset.vision.Crop`.
    """

    def __init__(self, coordinates: tuple[int, int], size: int | tuple[int, int]) -> None:
        corner = as_items(coordinates)
        if corner is None or len(corner) != 2:
            raise type_error(coordinates, "coordinates", "be a list or tuple of two")
        self.coordinates: tuple[int, ...] = tuple(
            [check_int(n, "coordinates", low=0, high=2**31 - 1) for n in corner]
        )
        self.size: tuple[int, int] = height_and_width(size)

    def map_images(self, images: Array) -> Array:
        """Cut the part out of all images."""
        (top, left), (height, width) = self.coordinates, self.size
        if top + height > images.shape[-3] or left + width > images.shape[-2]:
            raise RuntimeError(
                f"For 'Crop', the part of size {self.size} at {self.coordinates} must be inside of "
                f"the image, but its height and width are {images.shape[-3:-1]}."
            )
        return images[..., top : top + height, left : left + width, :]


class CenterCrop(ImageTransform):
    """Cut out the middle of images; a smaller image is padded with zeros.

    Args:
        size: The height and the width, or one number for both.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> CenterCrop((1, 2))(np.array([[1, 2, 3, 4]])).tolist()
        [[2, 3]]
        >>> CenterCrop((1, 4))(np.array([[1, 2]])).tolist()
        [[0, 1, 2, 0]]

    Source: MindSpore's `mindspore.dataset.vision.CenterCrop`.
    """

    def __init__(self, size: int | tuple[int, int]) -> None:
        self.size: tuple[int, int] = height_and_width(size)

    def map_images(self, images: Array) -> Array:
        """Cut the middle out of all images."""
        result = np.zeros((*images.shape[:-3], *self.size, images.shape[-1]), images.dtype)
        source: list[slice] = []
        new: list[slice] = []
        for length, wanted in zip(images.shape[-3:-1], self.size, strict=True):
            start = (length - wanted) // 2
            source.append(slice(max(start, 0), max(start, 0) + min(length, wanted)))
            new.append(slice(max(-start, 0), max(-start, 0) + min(length, wanted)))
        result[..., new[0], new[1], :] = images[..., source[0], source[1], :]
        return result


class Pad(ImageTransform):
    """Add pixels at the borders of images.

    Args:
        padding: The number of columns and rows to add at each side; or one number for left and
            right and one for top and bottom; or those of left, top, right and bottom.
        fill_value: The value of the added pixels from 0 to 255, or one for each of three channels.
        padding_mode: What is added; `Border.CONSTANT` for `fill_value`.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions.

    Examples:
        >>> Pad((1, 0, 0, 1), fill_value=9)(np.array([[1, 2]])).tolist()
        [[9, 1, 2], [9, 9, 9]]

    Source: MindSpore's `mindspore.dataset.vision.Pad`.
    """

    def __init__(
        self,
        padding: int | Sequence[int],
        fill_value: Fill = 0,
        padding_mode: Border = Border.CONSTANT,
    ) -> None:
        self.padding: tuple[int, ...] = as_padding(padding)
        self.fill_value: tuple[int, ...] = as_fill_value(fill_value)
        self.padding_mode: Border = check_type(padding_mode, Border, "padding_mode")

    def map_images(self, images: Array) -> Array:
        """Pad all images."""
        left, top, right, bottom = self.padding
        rows, columns = (top, bottom), (left, right)
        if self.padding_mode is Border.CONSTANT:
            return pad_constant(images, self.fill_value, rows, columns)
        others = [(0, 0)] * (images.ndim - 3)
        return np.pad(images, [*others, rows, columns, (0, 0)], self.padding_mode.value)


class Rotate(ImageTransform):
    """Rotate images counterclockwise with the arithmetic of OpenCV, which MindSpore uses.

    Args:
        degrees: The angle.
        resample: `Inter.NEAREST` or `Inter.BILINEAR`.
        expand: Whether the result is as large as the rotated image, rather than as the image.
        center: The column and the row of the center; None for the middle. It needs
            `expand=False`.
        fill_value: The value of pixels outside of the image from 0 to 255, or one for each of three
            channels.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions, or if pixels of another type
            than uint8, float32 or float64 are interpolated.

    Examples:
        >>> Rotate(90)(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
        [[2, 4], [1, 3]]

    Source: MindSpore's `mindspore.dataset.vision.Rotate`.
    """

    def __init__(
        self,
        degrees: float,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: tuple[float, float] | None = None,
        fill_value: Fill = 0,
    ) -> None:
        self.degrees: float = check_number(degrees, "degrees")
        self.resample: Inter = check_type(resample, Inter, "resample")
        self.expand: bool = check_type(expand, bool, "expand")
        self.center: tuple[float, ...] | None = (
            None if center is None else as_pair(center, "center")
        )
        self.fill_value: tuple[int, ...] = as_fill_value(fill_value)

    def map_images(self, images: Array) -> Array:
        """Rotate all images."""
        height, width = images.shape[-3:-1]
        x, y = self.center or ((width - 1) / 2, (height - 1) / 2)
        matrix = _rotation(self.degrees, x, y)
        if not self.expand:
            return warp_affine(images, matrix, height, width, self.resample, self.fill_value)
        cos, sin = np.abs(matrix[0, :2])
        new_height, new_width = height * cos + width * sin, width * cos + height * sin
        matrix[:, 2] += (new_width - width) / 2, (new_height - height) / 2
        size = round(new_height), round(new_width)
        return warp_affine(images, matrix, *size, self.resample, self.fill_value)


class Affine(ImageTransform):
    """Rotate, shear, scale and move images, in this order, around their middle.

    Args:
        degrees: The angle, clockwise.
        translate: The distance to the right and downwards, as parts of the width and height in
            [-1, 1].
        scale: The factor, above 0.
        shear: The angle in degrees by which to shear along the columns; or two, along both axes.
        resample: `Inter.NEAREST` or `Inter.BILINEAR`.
        fill_value: The value of pixels outside of the image from 0 to 255, or one for each of three
            channels.

    Raises:
        RuntimeError: On use, if the image has fewer than 2 dimensions, or if pixels of another type
            than uint8, float32 or float64 are interpolated.

    Examples:
        >>> Affine(0, (0.5, 0), 1, 0)(np.array([[1, 2], [3, 4]], np.uint8)).tolist()
        [[0, 1], [0, 3]]

    Source: MindSpore's `mindspore.dataset.vision.Affine`.
    """

    def __init__(
        self,
        degrees: float,
        translate: tuple[float, float],
        scale: float,
        shear: float | tuple[float, float],
        resample: Inter = Inter.NEAREST,
        fill_value: Fill = 0,
    ) -> None:
        self.degrees: float = check_number(degrees, "degrees")
        x, y = as_pair(translate, "translate")
        self.translate: tuple[float, float] = (
            check_number(x, "translate", low=-1.0, high=1.0),
            check_number(y, "translate", low=-1.0, high=1.0),
        )
        self.scale: float = check_number(scale, "scale", low=1e-9)
        items = as_items(shear)
        self.shear: tuple[float, ...] = as_pair((shear, 0.0) if items is None else shear, "shear")
        self.resample: Inter = check_type(resample, Inter, "resample")
        self.fill_value: tuple[int, ...] = as_fill_value(fill_value)

    def map_images(self, images: Array) -> Array:
        """Move the pixels of all images."""
        height, width = images.shape[-3:-1]
        middle = np.array([(width - 1) / 2, (height - 1) / 2])
        rotation = math.radians(self.degrees)
        shear_x, shear_y = (math.radians(angle) for angle in self.shear)
        a = math.cos(rotation - shear_y) / math.cos(shear_y)
        b = -a * math.tan(shear_x) - math.sin(rotation)
        c = math.sin(rotation - shear_y) / math.cos(shear_y)
        d = -c * math.tan(shear_x) + math.cos(rotation)
        linear = self.scale * np.array([[a, b], [c, d]])
        moved = middle + np.multiply(self.translate, (width, height))
        matrix = np.column_stack([linear, moved - linear @ middle])
        return warp_affine(images, matrix, height, width, self.resample, self.fill_value)


def _rotation(degrees: float, x: float, y: float) -> Float64Array:
    """Return the matrix (2, 3) that rotates pixels (column, row) around (x, y)."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array(
        [[cos, sin, (1 - cos) * x - sin * y], [-sin, cos, sin * x + (1 - cos) * y]],
    )


def warp_affine(
    images: Array,
    matrix: Float64Array,
    height: int,
    width: int,
    resample: Inter,
    fill: tuple[int, ...],
) -> Array:
    """Return images (n, ..., height, width, channels) whose pixels were moved by an affine map.

    Positions are multiples of 1/1024, and of 1/32 between pixels, as in OpenCV.

    Args:
        images: The images.
        matrix: The map (2, 3) from columns and rows to new columns and rows.
        height: The height of the result.
        width: The width of the result.
        resample: `Inter.NEAREST` or `Inter.BILINEAR`.
        fill: The value of pixels outside of the image.
    """
    if resample is not Inter.NEAREST and images.dtype not in ("u1", "f4", "f8"):
        raise RuntimeError(
            "An image that is rotated with `Inter.BILINEAR` must be of uint8, float32 or float64, "
            f"but is of {images.dtype}."
        )
    inverse = np.linalg.inv(np.vstack([matrix, [0.0, 0.0, 1.0]]))[:2]
    steps = np.rint(inverse[:, :1] * np.arange(width) * 1024)
    starts = np.rint((inverse[:, 1:2] * np.arange(height) + inverse[:, 2:]) * 1024)
    positions = (starts[:, :, np.newaxis] + steps[:, np.newaxis]).astype(np.int64)
    padded = pad_constant(images, fill, (1, 1), (1, 1))
    if resample is Inter.NEAREST:
        columns, rows = positions + 512 >> 10
        return _pixels(padded, rows, columns)
    columns, rows = positions + 16 >> 5
    right, below = ((columns & 31) / 32)[..., np.newaxis], ((rows & 31) / 32)[..., np.newaxis]
    columns, rows = columns >> 5, rows >> 5
    parts = [
        _pixels(padded, rows + i, columns + j).astype(np.float64)
        * (below if i else 1 - below)
        * (right if j else 1 - right)
        for i in (0, 1)
        for j in (0, 1)
    ]
    mean: Float64Array = np.sum(parts, axis=0)
    if images.dtype == np.uint8:
        mean = np.floor(mean + 0.5)
    return mean.astype(images.dtype)


def _pixels(padded: Array, rows: Int64Array, columns: Int64Array) -> Array:
    """Return the pixels at positions in images to which a border of one pixel was added."""
    height, width = padded.shape[-3:-1]
    return padded[..., (rows + 1).clip(0, height - 1), (columns + 1).clip(0, width - 1), :]


def pad_constant(
    images: Array, fill: tuple[int, ...], rows: tuple[int, int], columns: tuple[int, int]
) -> Array:
    """Return images with rows above and below, and columns left and right, of one value.

    Args:
        images: Images (n, ..., height, width, channels).
        fill: The value, or the largest of the type if that is less; three for three channels.
        rows: The number of rows above and below.
        columns: The number of columns left and right.
    """
    *others, height, width, channels = images.shape
    shape = (*others, height + sum(rows), width + sum(columns), channels)
    value = np.array(fill if len(fill) == channels else fill[:1])
    if images.dtype.kind in "iu":
        value = value.clip(max=np.iinfo(images.dtype.name).max)
    padded = np.full(shape, value.astype(images.dtype))
    padded[..., rows[0] : rows[0] + height, columns[0] : columns[0] + width, :] = images
    return padded


def as_pair(value: object, name: str) -> tuple[float, ...]:
    """Return an argument of two numbers as a tuple."""
    items = as_items(value)
    if items is None or len(items) != 2:
        raise type_error(value, name, "be a list or tuple of two numbers")
    return tuple([check_number(item, name) for item in items])


def as_fill_value(fill_value: object) -> tuple[int, ...]:
    """Return the argument `fill_value` as a tuple of one or three values."""
    values = (fill_value,) if type(fill_value) is int else as_items(fill_value)
    if values is None or (type(fill_value) is not int and len(values) != 3):
        raise type_error(fill_value, "fill_value", "be an int, or a list or tuple of three")
    return tuple([check_int(value, "fill_value", low=0, high=255) for value in values])


def as_padding(padding: object) -> tuple[int, ...]:
    """Return the argument `padding` as the numbers of pixels left, top, right and bottom."""
    sides = (padding,) if type(padding) is int else as_items(padding)
    if sides is None or (type(padding) is not int and len(sides) not in (2, 4)):
        kind = TypeError if sides is None else ValueError
        raise type_error(padding, "padding", "be an int, or a list or tuple of two or four", kind)
    checked = [check_int(side, "padding", low=0, high=2**31 - 1) for side in sides]
    return tuple(checked * (4 // len(checked)))
