"""Convolution: windows and a matrix product."""

from collections.abc import Sequence

from minispore._array import Shape
from minispore._checks import check_int, check_one_of
from minispore._functional.apply import apply1, apply2
from minispore._functional.arithmetic import add
from minispore._functional.operands import as_float, pair
from minispore._functional.sliding import (
    COLUMNS,
    PAD_MODES,
    ROWS,
    Padding,
    Sliding,
    as_pair,
    check_windows,
    inside,
    outside,
    slid,
    surrounded,
)
from minispore._functional.variable import T, check_tensor
from minispore._rules import linalg, shape


def conv2d(
    input: T,
    weight: T,
    bias: T | None = None,
    stride: int | tuple[int, int] = 1,
    pad_mode: str = "valid",
    padding: int | Sequence[int] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
) -> T:
    """Slide kernels over images: at each place the sum of the products.

    >>> from minispore import ops
    >>> ops.conv2d(ops.ones((10, 32, 32, 32)), ops.ones((32, 32, 3, 3))).shape
    (10, 32, 30, 30)

    Args:
        input: Images, of shape (n, in_channels, height, width).
        weight: Kernels, of shape (out_channels, in_channels / groups, rows, columns).
        bias: What is added to each output channel, of shape (out_channels,).
        stride: How far it is from one place to the next, one number or (down, right).
        pad_mode: "valid" for the places where the kernel lies inside of the image; "same" for as
            many zeros around it as keep its size, or its size divided by `stride`; "pad" for as
            many as `padding` says.
        padding: How many zeros, one number or (above and below, left and right).
        dilation: How far it is from one element of the kernel to the next.
        groups: Into how many parts the channels are divided, each of which has its own kernels.

    Returns:
        Of shape (n, out_channels, height', width').

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: The shapes do not fit, a number is out of range, or there is a padding without
            `pad_mode="pad"`.
    """
    owner = "conv2d"
    steps = as_pair(stride, "stride", owner)
    spreads = as_pair(dilation, "dilation", owner)
    check_int(groups, "groups", owner, low=1)
    high, wide = as_pair(padding, "padding", owner, low=0, lists=True)
    around = (high, high, wide, wide)
    check_padding(pad_mode, around, owner)
    return convolve(input, weight, bias, steps, pad_mode, around, spreads, groups, owner)


def check_padding(pad_mode: object, padding: Padding, owner: str) -> None:
    """Raise ValueError unless `pad_mode` is one, and "pad" where there is a padding."""
    check_one_of(pad_mode, PAD_MODES, "pad_mode", owner)
    if pad_mode != "pad" and any(padding):
        raise ValueError(
            f"For '{owner}', the argument 'padding' must be 0 unless 'pad_mode' is 'pad', "
            f"but got {padding} and '{pad_mode}'."
        )


def convolve(
    input: T,
    weight: T,
    bias: T | None,
    stride: tuple[int, int],
    pad_mode: str,
    padding: Padding,
    dilation: tuple[int, int],
    groups: int,
    owner: str,
) -> T:
    """As `conv2d`, of settings that are checked."""
    x, w = pair(as_float(input, owner), as_float(weight, owner, "weight"), owner)
    _check_shapes(x.shape, w.shape, groups, owner)
    rows = Sliding(w.shape[2], stride[0], dilation[0], *padding[:2])
    columns = Sliding(w.shape[3], stride[1], dilation[1], *padding[2:])
    if pad_mode == "same":
        rows, columns = rows.same(x.shape[2]), columns.same(x.shape[3])
    check_windows(rows, x.shape[2], "height", owner)
    check_windows(columns, x.shape[3], "width", owner)
    y = _products(x, w, rows, columns, groups)
    if bias is not None:
        check_tensor(bias, owner, "bias")
        if bias.shape != w.shape[:1]:
            raise ValueError(
                f"For '{owner}', 'bias' must be of shape {w.shape[:1]}, but got {bias.shape}."
            )
        y, b = pair(y, bias, owner)
        y = add(y, apply1(shape.reshape, b, (*b.shape, 1, 1)))
    return outside(y)


def _products(x: T, w: T, rows: Sliding, columns: Sliding, groups: int) -> T:
    """The products of windows and kernels, as images (H, C, W, N)."""
    n, channels, height, width = x.shape
    kernels = w.shape[0]
    down, right = rows.count(height), columns.count(width)
    # How many numbers of a kernel are in one of its rows, and how many places in a row of images.
    strip, places = channels // groups * columns.size, right * n
    # Windows of columns are copied, so that each image row becomes the matrices of its groups. Of
    # those, windows of rows are views: the matrices of neighbouring rows, one below the other.
    y = slid(surrounded(inside(x), rows, columns), COLUMNS, columns)
    y = apply1(shape.permute, y, (0, 1, 3, 2, 4))
    y = slid(apply1(shape.reshape, y, (y.shape[0], groups, strip, places)), ROWS, rows)
    y = apply1(shape.permute, y, (0, 2, 1, 3, 4))
    y = apply1(shape.reshape, y, (down, groups, rows.size * strip, places))
    # The numbers of a kernel in the same order: its rows, then the channels, then its columns.
    matrix = apply1(shape.permute, w, (0, 2, 1, 3))
    matrix = apply1(shape.reshape, matrix, (groups, kernels // groups, rows.size * strip))
    return apply1(shape.reshape, apply2(linalg.matmul, matrix, y), (down, kernels, right, n))


def _check_shapes(images: Shape, kernels: Shape, groups: int, owner: str) -> None:
    if len(images) != 4 or len(kernels) != 4:
        raise ValueError(
            f"For '{owner}', 'input' and 'weight' must have 4 axes, but the shapes are {images} "
            f"and {kernels}."
        )
    if 0 in kernels[1:] or images[1] != kernels[1] * groups or kernels[0] % groups:
        raise ValueError(
            f"For '{owner}', the channels of 'input' must be those of 'weight' times the "
            f"{groups} groups, which must divide its kernels, but the shapes are {images} and "
            f"{kernels}."
        )
