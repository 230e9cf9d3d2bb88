"""Images rearranged: patches as columns, and channels as pixels."""

from __future__ import annotations

from collections.abc import Sequence

from minispore.engine.array import to_host
from minispore.engine.dispatch import check_tensor, in_float32, shape_error
from minispore.ops._windows import WindowGeometry, check_output_length, fold_axis, unfold_axis
from minispore.ops.indexing import getitem
from minispore.ops.manipulation import pad_constant, permute, reshape
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_pair, check_int

__all__ = ["fold", "pixel_shuffle", "pixel_unshuffle", "unfold"]

# The axis of rows of images (N, C, H, W); that of columns follows the two axes of windows.
_ROWS, _COLUMNS = 2, 4


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return the patches of images as columns: each has the elements under a kernel.

    Args:
        input: Images, of shape (n, channels, height, width).
        kernel_size: The size of a patch, one int or (rows, columns).
        dilation: The distance between the elements of a patch.
        padding: The number of zeros around the images: one int or (top and bottom, left and right).
        stride: The distance between patches.

    Returns:
        A tensor of shape (n, channels · rows · columns, patches) and of the same type.

    Raises:
        ValueError: `input` does not have four axes, or no patch fits into the images.

    Examples:
        >>> from minispore import ops
        >>> x = ops.arange(6).reshape(1, 1, 2, 3)
        >>> ops.unfold(x, 2).tolist()
        [[[0, 1], [1, 2], [3, 4], [4, 5]]]

    Source: MindSpore's `mindspore.ops.unfold`.
    """
    check_tensor(input)
    rows, columns = _windows(kernel_size, dilation, padding, stride)
    if input.ndim != 4:
        raise shape_error(input, "input", "have four axes")
    n, channels, height, width = input.shape
    check_output_length(rows, height, "height")
    check_output_length(columns, width, "width")
    x = pad_constant(input, [(0, 0), (0, 0), rows.padding, columns.padding], 0)
    x = unfold_axis(unfold_axis(x, _ROWS, rows), _COLUMNS, columns)
    _, _, down, _, right, _ = x.shape
    size = channels * rows.kernel_size * columns.kernel_size
    return reshape(permute(x, (0, 1, 3, 5, 2, 4)), (n, size, down * right))


def fold(
    input: Tensor,
    output_size: Tensor | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """Return the sum of patches in images: the transpose of `unfold`.

    Args:
        input: Patches as columns, of shape (n, channels · rows · columns, patches), or of shape
            (n, channels, rows · columns, patches).
        output_size: The height and the width of the images: two ints, or a tensor of them.
        kernel_size: The size of a patch, one int or (rows, columns).
        dilation: The distance between the elements of a patch.
        padding: The number of elements around the images that are cut off.
        stride: The distance between patches.

    Returns:
        A tensor of shape (n, channels, height, width) and of the same type.

    Raises:
        ValueError: The shapes do not fit.

    Examples:
        >>> from minispore import ops
        >>> ops.fold(ops.ones((1, 4, 2)), (2, 3), 2).tolist()
        [[[[1.0, 2.0, 1.0], [1.0, 2.0, 1.0]]]]

    Source: MindSpore's `mindspore.ops.fold`.
    """
    check_tensor(input)
    rows, columns = _windows(kernel_size, dilation, padding, stride)
    sizes = to_host(output_size._data).tolist() if isinstance(output_size, Tensor) else output_size
    height, width = as_pair(sizes, "output_size", lists=True)
    check_output_length(rows, height, "height")
    check_output_length(columns, width, "width")
    down, right = rows.output_length(height), columns.output_length(width)
    kernel, places = rows.kernel_size * columns.kernel_size, down * right
    is_stacked = input.ndim == 4 and input.shape[2] == kernel
    if not (is_stacked or input.ndim == 3) or input.shape[-2] % kernel or input.shape[-1] != places:
        raise ValueError(
            f"For 'fold', the argument 'input' must have {places} columns of {kernel} elements of "
            "each channel, as 'output_size', 'kernel_size', 'dilation', 'padding' and 'stride' "
            f"say, but its shape is {input.shape}."
        )
    channels = input.shape[1] if input.ndim == 4 else input.shape[1] // kernel
    shape = (input.shape[0], channels, rows.kernel_size, columns.kernel_size, down, right)
    return _fold(reshape(input, shape), rows, columns, (height, width))


@in_float32
def _fold(
    x: Tensor, rows: WindowGeometry, columns: WindowGeometry, size: tuple[int, int]
) -> Tensor:
    """Return the images of patches of shape (n, channels, rows, columns, down, right)."""
    height, width = size
    x = permute(x, (0, 1, 4, 2, 5, 3))
    x = fold_axis(fold_axis(x, _COLUMNS, columns), _ROWS, rows)
    # The last patch may end before the images do.
    wanted = (height + 2 * rows.pad_before, width + 2 * columns.pad_before)
    missing = [(0, n - m) for n, m in zip(wanted, x.shape[2:], strict=True)]
    x = pad_constant(x, [(0, 0), (0, 0), *missing], 0)
    inner = (slice(w.pad_before, w.pad_before + n) for w, n in ((rows, height), (columns, width)))
    return getitem(x, (..., *inner))


def _windows(
    kernel_size: object, dilation: object, padding: object, stride: object
) -> tuple[WindowGeometry, WindowGeometry]:
    """Return the windows along the rows and along the columns."""
    sizes = as_pair(kernel_size, "kernel_size", lists=True)
    steps = as_pair(stride, "stride", lists=True)
    spreads = as_pair(dilation, "dilation", lists=True)
    pads = as_pair(padding, "padding", low=0, lists=True)
    rows, columns = (
        WindowGeometry(sizes[i], steps[i], spreads[i], pads[i], pads[i]) for i in range(2)
    )
    return rows, columns


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Return images that are larger by a factor, whose pixels are made of the channels.

    Args:
        input: Images, of shape (…, channels · factor², height, width).
        upscale_factor: The factor.

    Returns:
        A tensor of shape (…, channels, height · factor, width · factor) and of the same type.

    Raises:
        ValueError: `input` has fewer than three axes, or its channels are not divisible.

    Examples:
        >>> from minispore import ops
        >>> ops.pixel_shuffle(ops.arange(4).reshape(4, 1, 1), 2).tolist()
        [[[0, 1], [2, 3]]]

    Source: MindSpore's `mindspore.ops.pixel_shuffle`.
    """
    check_tensor(input)
    check_int(upscale_factor, "upscale_factor", low=1)
    if input.ndim < 3:
        raise shape_error(input, "input", "have three axes or more")
    *outer, channels, height, width = input.shape
    factor = upscale_factor
    if channels % factor**2:
        raise shape_error(input, "input", f"have a multiple of {factor**2} channels")
    parts = reshape(input, (*outer, channels // factor**2, factor, factor, height, width))
    n = len(outer)
    moved = permute(parts, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(moved, (*outer, channels // factor**2, height * factor, width * factor))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Return images that are smaller by a factor, whose channels are made of the pixels.

    Args:
        input: Images, of shape (…, channels, height · factor, width · factor).
        downscale_factor: The factor.

    Returns:
        A tensor of shape (…, channels · factor², height, width) and of the same type.

    Raises:
        ValueError: `input` has fewer than three axes, or its size is not divisible.

    Examples:
        >>> from minispore import ops
        >>> ops.pixel_unshuffle(ops.arange(4).reshape(1, 2, 2), 2).tolist()
        [[[0]], [[1]], [[2]], [[3]]]

    Source: MindSpore's `mindspore.ops.pixel_unshuffle`.
    """
    check_tensor(input)
    check_int(downscale_factor, "downscale_factor", low=1)
    if input.ndim < 3:
        raise shape_error(input, "input", "have three axes or more")
    *outer, channels, height, width = input.shape
    factor = downscale_factor
    if height % factor or width % factor:
        raise shape_error(input, "input", f"have a height and a width divisible by {factor}")
    high, wide = height // factor, width // factor
    parts = reshape(input, (*outer, channels, high, factor, wide, factor))
    n = len(outer)
    moved = permute(parts, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(moved, (*outer, channels * factor**2, high, wide))
