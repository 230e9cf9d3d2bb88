"""2D convolution, as a matrix product of unfolded windows and kernels."""

from __future__ import annotations

from collections.abc import Sequence

from minispore.engine.array import Shape, is_host
from minispore.engine.dispatch import (
    apply1,
    apply2,
    as_float,
    check_shape,
    check_tensor,
    in_float32,
    promote_operands,
    shape_error,
)
from minispore.engine.rules import indexing, linalg, shape, unfold
from minispore.ops._windows import (
    COLUMNS,
    PAD_MODES,
    ROWS,
    Padding,
    WindowGeometry,
    check_output_length,
    fold_axis,
    hcwn_to_nchw,
    nchw_to_hcwn,
    pad_spatial,
    unfold_axis,
)
from minispore.ops.arithmetic import add
from minispore.ops.manipulation import expand_dims, pad_constant, squeeze
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_items, as_pair, caller, check_int, check_one_of, value_error

__all__ = ["conv2d", "conv_transpose2d"]


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | tuple[int, int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> Tensor:
    """Return the 2D convolution (cross-correlation) of images with kernels.

    Args:
        input: Images, of shape (n, in_channels, height, width).
        weight: Kernels, of shape (out_channels, in_channels / groups, rows, columns).
        bias: The summand of each output channel, of shape (out_channels,).
        stride: The distance between windows, one int or (rows, columns).
        pad_mode: "valid" for no padding; "same" for the zeros that keep the size of the image, or
            its size divided by `stride`; "pad" for those of `padding`.
        padding: The number of zeros, one int or (top and bottom, left and right).
        dilation: The distance between the elements of a kernel.
        groups: The number of groups of channels, each with its own kernels.

    Returns:
        A tensor of shape (n, out_channels, height', width').

    Raises:
        ValueError: The shapes do not match, or `padding` is given without `pad_mode="pad"`.

    Examples:
        >>> from minispore import ops
        >>> ops.conv2d(ops.ones((10, 32, 32, 32)), ops.ones((32, 32, 3, 3))).shape
        (10, 32, 30, 30)

    Source: MindSpore's `mindspore.ops.conv2d`.
    """
    steps = as_pair(stride, "stride")
    spreads = as_pair(dilation, "dilation")
    check_int(groups, "groups", low=1)
    if len(as_items(padding) or ()) == 4:
        raise ValueError(
            "For 'conv2d', the argument 'padding' must be an int or a tuple of two ints, as in "
            f"MindSpore, but got {padding}: nn.Conv2d takes four, and so does ops.pad."
        )
    high, wide = as_pair(padding, "padding", low=0, lists=True)
    pads = (high, high, wide, wide)
    check_padding(pad_mode, pads)
    return conv2d_unchecked(input, weight, bias, steps, pad_mode, pads, spreads, groups)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Return the transposed 2D convolution of images: the gradient of `conv2d` by its images.

    Args:
        input: Images, of shape (n, in_channels, height, width) or (in_channels, height, width).
        weight: Kernels, of shape (in_channels, out_channels / groups, rows, columns).
        bias: The summand of each output channel, of shape (out_channels,).
        stride: The factor between the sizes of `input` and the result, one int or (rows, columns).
        padding: What is cut off on both sides: one int or (top and bottom, left and right).
        output_padding: The rows and columns that are added below and on the right; less than
            `stride` or `dilation`.
        groups: The number of groups of channels, each with its own kernels.
        dilation: The distance between the elements of a kernel.

    Returns:
        A tensor of shape (n, out_channels, height', width'), or without n, with height' =
        (height - 1) · stride - 2 · padding + dilation · (rows - 1) + output_padding + 1.

    Raises:
        ValueError: The shapes do not match, more is cut off than there is, or `output_padding` is
            too large.

    Examples:
        >>> from minispore import ops
        >>> ops.conv_transpose2d(ops.ones((5, 3, 4, 4)), ops.ones((3, 2, 3, 3)), stride=2).shape
        (5, 2, 9, 9)

    Source: MindSpore's `mindspore.ops.conv_transpose2d`.
    """
    check_tensor(input)
    check_tensor(weight, "weight")
    steps, spreads = (
        as_pair(value, name, lists=True)
        for value, name in ((stride, "stride"), (dilation, "dilation"))
    )
    cut, added = (
        as_pair(value, name, low=0, lists=True)
        for value, name in ((padding, "padding"), (output_padding, "output_padding"))
    )
    check_int(groups, "groups", low=1)
    if weight.ndim != 4 or 0 in weight.shape or weight.shape[0] % groups:
        raise shape_error(weight, "weight", f"have four axes and a multiple of {groups} kernels")
    for more, step, spread in zip(added, steps, spreads, strict=True):
        if more >= max(step, spread):
            raise value_error(output_padding, "output_padding", "be less than stride or dilation")
    x = expand_dims(input, 0) if input.ndim == 3 else input
    pads = (cut[0], cut[0], cut[1], cut[1])
    y = conv2d_transpose_unchecked(x, weight, bias, steps, "pad", pads, spreads, groups, added)
    return squeeze(y, 0) if input.ndim == 3 else y


def check_padding(pad_mode: object, padding: Padding) -> None:
    """Raise ValueError unless `pad_mode` is valid, and "pad" if there is padding."""
    check_one_of(pad_mode, PAD_MODES, "pad_mode")
    if pad_mode != "pad" and any(padding):
        raise ValueError(
            f"For '{caller()}', the argument 'padding' must be 0 unless 'pad_mode' is 'pad', "
            f"but got {padding} and '{pad_mode}'."
        )


@in_float32
def conv2d_unchecked(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, int],
    pad_mode: str,
    padding: Padding,
    dilation: tuple[int, int],
    groups: int,
) -> Tensor:
    """Return `conv2d` for arguments that have been checked."""
    x, w = promote_operands(as_float(input), as_float(weight, "weight"))
    _check_shapes(x.shape, w.shape, groups)
    rows = WindowGeometry(w.shape[2], stride[0], dilation[0], *padding[:2])
    columns = WindowGeometry(w.shape[3], stride[1], dilation[1], *padding[2:])
    if pad_mode == "same":
        rows, columns = rows.with_same_padding(x.shape[2]), columns.with_same_padding(x.shape[3])
    check_output_length(rows, x.shape[2], "height")
    check_output_length(columns, x.shape[3], "width")
    if w.shape[2:] == (1, 1) and groups == 1 and not any(rows.padding + columns.padding):
        return _add_bias(_mix_channels(x, w, stride), bias)
    if w.shape[0] == x.shape[1] == groups and is_host(x._data):
        return _add_bias(_depthwise(x, w, rows, columns), bias)
    y = _unfold_and_matmul(x, w, rows, columns, groups)
    return hcwn_to_nchw(_add_bias(y, bias))


@in_float32
def conv2d_transpose_unchecked(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, int],
    pad_mode: str,
    padding: Padding,
    dilation: tuple[int, int],
    groups: int,
    added: tuple[int, int] = (0, 0),
) -> Tensor:
    """Return the gradient of `conv2d` by its images, where `input` is that by its result.

    Args:
        input: Images, of shape (n, in_channels, height, width).
        weight: Kernels, of shape (in_channels, out_channels / groups, rows, columns).
        bias: The summand of each output channel, of shape (out_channels,).
        stride: The factor between the sizes of `input` and the result, as (rows, columns).
        pad_mode: "same": `stride` times the size of `input`; "valid": nothing is cut off, and there
            is space for the strides; "pad": `padding` is cut off.
        padding: What "pad" cuts off.
        dilation: The distance between the elements of a kernel.
        groups: The number of groups of channels.
        added: The rows and columns that are added below and on the right with "pad".

    Returns:
        A tensor of shape (n, out_channels, height', width').

    Raises:
        ValueError: The shapes do not match, or more is cut off than there is.
    """
    x, w = promote_operands(as_float(input), as_float(weight, "weight"))
    if x.ndim != 4 or x.shape[1] != w.shape[0]:
        raise ValueError(
            f"For '{caller()}', the input must have 4 axes and {w.shape[0]} channels, but its "
            f"shape is {x.shape}."
        )
    windows: list[WindowGeometry] = []
    lengths: list[int] = []
    for i, count in enumerate(x.shape[2:]):
        pads = padding[2 * i : 2 * i + 2]
        window = WindowGeometry(w.shape[2 + i], stride[i], dilation[i], *pads)
        length = (count - 1) * stride[i] + window.effective_kernel_size
        if pad_mode == "same":
            length = count * stride[i]
            window = window.with_same_padding(length)
        elif pad_mode == "valid":
            length = max(length, count * stride[i])
        else:
            length += added[i] - sum(pads)
        if length < 0 or not count:
            raise ValueError(
                f"For '{caller()}', the argument 'padding' must cut off no more than there is, but "
                f"got {padding} for an input of shape {x.shape}."
            )
        windows.append(window)
        lengths.append(length)
    rows, columns = windows
    y = _matmul_and_fold(x, w, rows, columns, groups)
    (top, left), (high, wide) = (rows.pad_before, columns.pad_before), lengths
    # The last kernel may end before the result does, if it is smaller than the stride.
    missing = max(top + high - y.shape[0], 0), max(left + wide - y.shape[2], 0)
    y = pad_constant(y, [(0, missing[0]), (0, 0), (0, missing[1]), (0, 0)], 0)
    inner = (slice(top, top + high), slice(None), slice(left, left + wide))
    return hcwn_to_nchw(_add_bias(apply1(indexing.getitem, y, inner), bias))


def _add_bias(y: Tensor, bias: Tensor | None) -> Tensor:
    """Return images whose second axis has the channels with the bias of each channel added."""
    if bias is None:
        return y
    check_shape(bias, y.shape[1:2], "bias")
    y, b = promote_operands(y, bias)
    return add(y, apply1(shape.reshape, b, (*b.shape, 1, 1)))


def _mix_channels(x: Tensor, w: Tensor, stride: tuple[int, int]) -> Tensor:
    """Return images (N, C, H, W), of whose pixels each is the product of a 1 × 1 kernel and one."""
    if stride != (1, 1):
        steps = tuple(slice(None, None, step) for step in stride)
        x = apply1(indexing.getitem, x, (slice(None), slice(None), *steps))
    n, channels, height, width = x.shape
    matrix = apply1(shape.reshape, w, w.shape[:2])
    y = apply2(linalg.matmul, matrix, apply1(shape.reshape, x, (n, channels, height * width)))
    return apply1(shape.reshape, y, (n, w.shape[0], height, width))


def _depthwise(x: Tensor, w: Tensor, rows: WindowGeometry, columns: WindowGeometry) -> Tensor:
    """Return images (N, C, H, W), of whose channels each is convolved with a kernel of its own."""
    y = apply1(shape.permute, x, (1, 0, 2, 3))
    y = pad_constant(y, [(0, 0), (0, 0), rows.padding, columns.padding], 0)
    kernels = apply1(shape.reshape, w, (w.shape[0], *w.shape[2:]))
    y = apply2(unfold.depthwise, y, kernels, (rows.dilation, columns.dilation))
    if (rows.stride, columns.stride) != (1, 1):
        steps = slice(None, None, rows.stride), slice(None, None, columns.stride)
        y = apply1(indexing.getitem, y, (..., *steps))
    return apply1(shape.permute, y, (1, 0, 2, 3))


def _unfold_and_matmul(
    x: Tensor, w: Tensor, rows: WindowGeometry, columns: WindowGeometry, groups: int
) -> Tensor:
    """Return the product of windows and kernels, as images (H, C, W, N)."""
    n, channels, height, width = x.shape
    kernels = w.shape[0]
    down, right = rows.output_length(height), columns.output_length(width)
    # The number of elements in one row of a kernel, and of windows in one row of all images.
    strip, places = channels // groups * columns.kernel_size, right * n
    # Windows of columns are copied, so that each image row becomes the matrices of its groups.
    # Windows of rows are views of these: the matrices of neighbouring rows, one below the other.
    y = unfold_axis(pad_spatial(nchw_to_hcwn(x), rows, columns), COLUMNS, columns)
    y = apply1(shape.permute, y, (0, 1, 3, 2, 4))
    y = unfold_axis(apply1(shape.reshape, y, (y.shape[0], groups, strip, places)), ROWS, rows)
    y = apply1(shape.permute, y, (0, 2, 1, 3, 4))
    y = apply1(shape.reshape, y, (down, groups, rows.kernel_size * strip, places))
    # The elements of a kernel in the same order: rows, then channels, then columns.
    matrix = apply1(shape.permute, w, (0, 2, 1, 3))
    matrix = apply1(shape.reshape, matrix, (groups, kernels // groups, rows.kernel_size * strip))
    return apply1(shape.reshape, apply2(linalg.matmul, matrix, y), (down, kernels, right, n))


def _matmul_and_fold(
    x: Tensor, w: Tensor, rows: WindowGeometry, columns: WindowGeometry, groups: int
) -> Tensor:
    """Return the transpose of `_unfold_and_matmul`: its steps in reverse, without padding."""
    n, kernels, down, right = x.shape
    channels = w.shape[1] * groups
    strip, places = w.shape[1] * columns.kernel_size, right * n
    matrix = apply1(shape.permute, w, (2, 1, 3, 0))
    matrix = apply1(shape.reshape, matrix, (rows.kernel_size * strip, groups, kernels // groups))
    matrix = apply1(shape.permute, matrix, (1, 0, 2))
    y = apply1(shape.reshape, nchw_to_hcwn(x), (down, groups, kernels // groups, places))
    y = apply2(linalg.matmul, matrix, y)
    y = apply1(shape.reshape, y, (down, groups, rows.kernel_size, strip, places))
    y = fold_axis(apply1(shape.permute, y, (0, 2, 1, 3, 4)), ROWS, rows)
    y = apply1(shape.reshape, y, (y.shape[0], channels, columns.kernel_size, right, n))
    return fold_axis(apply1(shape.permute, y, (0, 1, 3, 2, 4)), COLUMNS, columns)


def _check_shapes(images: Shape, kernels: Shape, groups: int) -> None:
    if len(images) != 4 or len(kernels) != 4:
        raise ValueError(
            f"For '{caller()}', 'input' and 'weight' must have 4 axes, but the shapes are {images} "
            f"and {kernels}."
        )
    if 0 in kernels[1:] or images[1] != kernels[1] * groups or kernels[0] % groups:
        raise ValueError(
            f"For '{caller()}', the channels of 'input' must be those of 'weight' times the "
            f"{groups} groups, which must divide its kernels, but the shapes are {images} and "
            f"{kernels}."
        )
