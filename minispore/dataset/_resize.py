"""Images in another size: each new pixel from the two or four nearest old ones."""

from enum import Enum
from typing import cast

import numpy as np
import numpy.typing as npt

from minispore._checks import as_items, check_int, check_type, described
from minispore.dataset._block import Array
from minispore.dataset._transform import Transform

Places = npt.NDArray[np.intp]
Weights = npt.NDArray[np.float32]

# In images of bytes, weights are whole numbers of this, of which OpenCV drops bits on the way.
_ONE = 1 << 11


class Inter(Enum):
    """How new pixels are made of old ones. MindSpore's other four ways are not supported."""

    NEAREST = 0
    BILINEAR = LINEAR = 2


class Resize(Transform):
    """Make images of another size, as OpenCV does and so MindSpore.

    Source: https://www.mindspore.cn/docs/en/master/api_python/dataset_vision/mindspore.dataset.vision.Resize.html

    Args:
        size: The height and the width, or the length of the shorter side.
        interpolation: `Inter.LINEAR` for a mean of the four nearest pixels, weighed by how near
            they are; `Inter.NEAREST` for one of them.

    Raises:
        TypeError: `size` is neither an int nor two of them, or `interpolation` no `Inter`.
        ValueError: A length is below 1.
        RuntimeError: On use, if the image has less than 2 dimensions or no pixels, or is neither
            of uint8 nor of float32 or float64.

    Examples:
        >>> Resize((2, 4))(np.array([[0, 100], [200, 100]], np.uint8))
        array([[  0,  25,  75, 100],
               [200, 175, 125, 100]], dtype=uint8)
        >>> Resize(32)(np.zeros((28, 28, 1), np.float32)).shape
        (32, 32, 1)
    """

    def __init__(self, size: int | tuple[int, int], interpolation: Inter = Inter.LINEAR) -> None:
        items = as_items(size)
        if (items is None and type(size) is not int) or (items is not None and len(items) != 2):
            raise TypeError(
                "For 'Resize', the argument 'size' must be an int, or a list or tuple of two, "
                f"but got {described(cast('object', size))}."
            )
        wanted = (size,) if items is None else items
        self.size: tuple[int, ...] = tuple(
            check_int(n, "size", "Resize", low=1, high=(1 << 31) - 1) for n in wanted
        )
        check_type(interpolation, Inter, "interpolation", "Resize")
        self.interpolation = interpolation

    def batched(self, block: Array) -> Array:
        """Resize all rows."""
        if block.ndim < 3 or 0 in block.shape[1:] or block.dtype not in ("u1", "f4", "f8"):
            raise RuntimeError(
                "For 'Resize', an image must be (height, width, …) of uint8, float32 or float64, "
                f"but got one of {block.dtype} and of shape {block.shape[1:]}."
            )
        # Without an axis of channels it gets one.
        images = block[..., np.newaxis] if block.ndim == 3 else block
        high, wide = images.shape[-3:-1]
        height, width = self._size(high, wide)
        if self.interpolation is Inter.NEAREST:
            rows, columns = _nearest(high, height), _nearest(wide, width)
            resized = images[..., rows, :, :][..., columns, :]
        else:
            resized = _linear(images, height, width)
        return resized[..., 0] if block.ndim == 3 else np.ascontiguousarray(resized)

    def _size(self, high: int, wide: int) -> tuple[int, int]:
        if len(self.size) == 2:
            return self.size[0], self.size[1]
        shorter = self.size[0]
        if high < wide:
            return shorter, wide * shorter // high
        return high * shorter // wide, shorter


def _nearest(length: int, wanted: int) -> Places:
    """For each new place along an axis the old one."""
    scale = 1 / (wanted / length)
    return _within(np.floor(np.arange(wanted) * scale).astype(np.intp), length)


def _linear(images: Array, height: int, width: int) -> Array:
    """The mean of pixels side by side, and then of such means one below the other."""
    left, across = _between(images.shape[-2], width)
    # Where there is no pixel on one side, all weight is on the other; above and below the same
    # pixel counts twice. That makes a difference to numbers that are rounded.
    across[(left < 0) | (left >= images.shape[-2] - 1)] = 0
    above, down = _between(images.shape[-3], height)
    columns, rows = across[:, np.newaxis], down[:, np.newaxis, np.newaxis]
    first, second = (_within(left + i, images.shape[-2]) for i in (0, 1))
    top, bottom = (_within(above + i, images.shape[-3]) for i in (0, 1))
    if images.dtype != np.uint8:
        floats = cast("npt.NDArray[np.float64]", images)
        sides = floats[..., first, :] * (1 - columns) + floats[..., second, :] * columns
        return sides[..., top, :, :] * (1 - rows) + sides[..., bottom, :, :] * rows
    wide = images.astype(np.int32)
    sums = wide[..., first, :] * _whole(1 - columns) + wide[..., second, :] * _whole(columns)
    sums >>= 4
    upper = sums[..., top, :, :] * _whole(1 - rows) >> 16
    lower = sums[..., bottom, :, :] * _whole(rows) >> 16
    return ((upper + lower + 2) >> 2).astype(np.uint8)


def _between(length: int, wanted: int) -> tuple[Places, Weights]:
    """For each new place along an axis the old one before it, and how far it is from that."""
    # Both are the middles of pixels.
    places = ((np.arange(wanted) + 0.5) * (length / wanted) - 0.5).astype(np.float32)
    before = np.floor(places)
    return before.astype(np.intp), places - before


def _within(places: Places, length: int) -> Places:
    return np.minimum(np.maximum(places, 0), length - 1)


def _whole(weights: Weights) -> npt.NDArray[np.int32]:
    return np.rint(weights * _ONE).astype(np.int32)
