"""The geometry of windows over the rows and columns of images: size, stride, dilation, padding."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from minispore.engine.dispatch import apply1
from minispore.engine.rules import shape, unfold
from minispore.ops.manipulation import pad_constant
from minispore.ops.tensors import Tensor
from minispore.utils.checks import INT32_MAX, caller, check_int, tuple_or_none, type_error

# MindSpore's padding modes.
PAD_MODES = ("same", "valid", "pad")
# Images are (N, C, H, W) for the user, and (H, C, W, N) in memory while they are unfolded: windows
# of neighbouring rows are then one matrix without a copy, and an operation on a window's columns
# works on many adjacent numbers.
_NCHW_TO_HCWN, _HCWN_TO_NCHW = (2, 1, 3, 0), (3, 1, 0, 2)
ROWS, COLUMNS = 0, 2
# The longest window whose elements are added one after another.
_SHORT = 8
# Top, bottom, left, right.
Padding: TypeAlias = tuple[int, int, int, int]


class WindowGeometry(NamedTuple):
    """The windows along one axis.

    Attributes:
        kernel_size: The number of elements of a window.
        stride: The distance between windows.
        dilation: The distance between the elements of a window.
        pad_before: The number of elements added before the axis.
        pad_after: The number of elements added after it.
    """

    kernel_size: int
    stride: int = 1
    dilation: int = 1
    pad_before: int = 0
    pad_after: int = 0

    @property
    def padding(self) -> tuple[int, int]:
        """The numbers of elements added before and after the axis."""
        return self.pad_before, self.pad_after

    @property
    def effective_kernel_size(self) -> int:
        """The distance from the first to the last element of a window, plus one."""
        return self.dilation * (self.kernel_size - 1) + 1

    def tiles(self, length: int) -> bool:
        """Return whether few neighbouring elements are a window each, and all are in one."""
        size = self.kernel_size
        whole = size == self.stride == self.effective_kernel_size and length % size == 0
        return whole and size <= _SHORT and self.padding == (0, 0)

    def output_length(self, length: int) -> int:
        """Return the number of windows along an axis of a length."""
        return (
            length + self.pad_before + self.pad_after - self.effective_kernel_size
        ) // self.stride + 1

    def with_same_padding(self, length: int) -> WindowGeometry:
        """Return the geometry padded to ⌈length / stride⌉ windows, with an odd element after."""
        padding = max(
            (-(-length // self.stride) - 1) * self.stride + self.effective_kernel_size - length, 0
        )
        return self._replace(pad_before=padding // 2, pad_after=padding - padding // 2)

    def with_ceil_mode(self, length: int) -> WindowGeometry:
        """Return the geometry padded to one more window, if it begins inside the padded axis."""
        room = length + self.pad_before + self.pad_after - self.effective_kernel_size
        count = -(-room // self.stride) + 1
        if (count - 1) * self.stride >= length + self.pad_before:
            count -= 1
        more = (count - 1) * self.stride + self.effective_kernel_size - length - self.pad_before
        return self._replace(pad_after=max(more, 0))


def are_tiled(x: Tensor, rows: WindowGeometry, columns: WindowGeometry) -> bool:
    """Return whether windows tile images (N, C, H, W) that are in this order in memory.

    Those that a convolution has computed are not, and would be slower in two orders.
    """
    flags: Any = getattr(x._data, "flags", None)
    in_order = flags is None or bool(flags.c_contiguous)
    return in_order and rows.tiles(x.shape[2]) and columns.tiles(x.shape[3])


def tiles_of_rows(x: Tensor, size: int) -> Tensor:
    """Return images (N, C, H, W) as (N, C, H / size, size, W)."""
    return apply1(shape.reshape, x, (*x.shape[:2], x.shape[2] // size, size, x.shape[3]))


def tiles_of_columns(x: Tensor, size: int) -> Tensor:
    """Return images (N, C, H, W) as (N, C, H, W / size, size)."""
    return apply1(shape.reshape, x, (*x.shape[:3], x.shape[3] // size, size))


def nchw_to_hcwn(x: Tensor) -> Tensor:
    """Return images (N, C, H, W) as (H, C, W, N)."""
    return apply1(shape.permute, x, _NCHW_TO_HCWN)


def hcwn_to_nchw(x: Tensor) -> Tensor:
    """Return images (H, C, W, N) as (N, C, H, W)."""
    return apply1(shape.permute, x, _HCWN_TO_NCHW)


def pad_spatial(
    x: Tensor, rows: WindowGeometry, columns: WindowGeometry, value: float = 0
) -> Tensor:
    """Return images (H, C, W, N) with `value` around them."""
    return pad_constant(x, [rows.padding, (0, 0), columns.padding, (0, 0)], value)


def unfold_axis(x: Tensor, axis: int, window: WindowGeometry) -> Tensor:
    """Return the windows along `axis`, which is replaced by the two axes (count, size)."""
    return apply1(unfold.unfold, x, axis, window.kernel_size, window.stride, window.dilation)


def fold_axis(x: Tensor, axis: int, window: WindowGeometry) -> Tensor:
    """Return the sum of the windows (count, size) at `axis`, in the shortest axis that has them."""
    length = (x.shape[axis] - 1) * window.stride + window.effective_kernel_size
    return apply1(unfold.fold, x, axis, length, window.stride, window.dilation)


def check_output_length(window: WindowGeometry, length: int, name: str) -> None:
    """Raise ValueError if no window fits into an axis."""
    if window.output_length(length) < 1:
        raise ValueError(
            f"For '{caller()}', the padded {name} of the input, {length} + "
            f"{sum(window.padding)}, must hold a window of {window.effective_kernel_size}."
        )


def as_padding(padding: object) -> Padding:
    """Return `padding` as four numbers: top, bottom, left, right.

    Raises:
        TypeError: It is neither an int nor a tuple of ints.
        ValueError: There are not four, or one is negative.
    """
    items = tuple_or_none(padding) or (padding,) * 4
    if len(items) != 4:
        raise type_error(padding, "padding", "be an int or a tuple of four ints", ValueError)
    above, below, left, right = (
        check_int(item, "padding", low=0, high=INT32_MAX) for item in items
    )
    return above, below, left, right
