"""Convolution layers."""

import math
from functools import partial
from typing import ClassVar

from minispore import ops
from minispore.engine.dispatch import check_tensor, shape_error
from minispore.engine.dtypes import DType, float32
from minispore.nn._parameter_init import check_float_type, init_parameter
from minispore.nn.cell import Cell
from minispore.ops._windows import as_padding
from minispore.ops.convolution import check_padding, conv2d_transpose_unchecked, conv2d_unchecked
from minispore.ops.initializer import HeUniform, Initializer, Uniform
from minispore.ops.parameter import Parameter
from minispore.ops.tensors import Tensor
from minispore.utils.checks import as_pair, caller, check_int, check_one_of, check_type
from minispore.utils.unsupported import hint_keywords

__all__ = ["Conv1d", "Conv2d", "Conv2dTranspose"]


class _Conv(Cell):
    """Base class of convolutions: their arguments, kernels and biases."""

    # Whether the first axis of the kernels is that of the input's channels, not the output's.
    _transposed: ClassVar[bool] = False

    @hint_keywords
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: str = "same",
        padding: int | tuple[int, int, int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Tensor | str | Initializer | float | None = None,
        bias_init: Tensor | str | Initializer | float | None = None,
        data_format: str = "NCHW",
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        check_one_of(data_format, ("NCHW",), "data_format")
        self.in_channels: int = check_int(in_channels, "in_channels", low=1)
        self.out_channels: int = check_int(out_channels, "out_channels", low=1)
        pair = partial(as_pair, wrong_length=TypeError)
        self.kernel_size: tuple[int, int] = pair(kernel_size, "kernel_size")
        self.stride: tuple[int, int] = pair(stride, "stride")
        self.dilation: tuple[int, int] = pair(dilation, "dilation")
        self.pad_mode = pad_mode
        self.padding = padding
        self._around = as_padding(padding)
        check_padding(pad_mode, self._around)
        self.group: int = check_int(group, "group", low=1)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{caller()}', the argument 'group' must divide 'in_channels' and "
                f"'out_channels', but got {group}, {in_channels} and {out_channels}."
            )
        self.has_bias: bool = check_type(has_bias, bool, "has_bias")
        check_float_type(dtype)
        self.data_format = data_format
        first, second = out_channels, in_channels
        if self._transposed:
            first, second = second, first
        shape = (first, second // group, *self.kernel_size)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight_init: Tensor | str | Initializer | float = weight_init
        self.weight: Parameter = init_parameter(weight_init, shape, dtype, "weight_init")
        self.bias: Parameter | None = None
        if has_bias:
            if bias_init is None:
                bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            self.bias = init_parameter(bias_init, (out_channels,), dtype, "bias_init")
        self.bias_init = bias_init

    def _convolve(self, x: Tensor) -> Tensor:
        """Return the convolution of images, or if `_transposed` the transposed one."""
        convolve = conv2d_transpose_unchecked if self._transposed else conv2d_unchecked
        return convolve(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self._around,
            self.dilation,
            self.group,
        )

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
            f"bias_init={self.bias_init}, format={self.data_format}"
        )


class Conv1d(_Conv):
    """A 1-D convolution of sequences with trained kernels.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels, which is the number of kernels.
        kernel_size: The length of a kernel.
        stride: The distance between windows.
        pad_mode: "same": pad with zeros so that the output length is the input length divided by
            `stride`, rounded up; "valid": do not pad; "pad": pad by `padding`.
        padding: The number of zeros on each side.
        dilation: The spacing of kernel elements.
        group: The number of groups of channels, each of which has its own kernels.
        has_bias: Whether a bias is added to each output channel.
        weight_init: The initial kernels, in any form that `initializer` accepts; a Tensor is of
            shape (out_channels, in_channels / group, kernel_size). The default is `Conv2d`'s.
        bias_init: The initial biases; by default drawn from the same distribution.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, `group` does not divide the numbers of channels,
            `padding` is not 0 although `pad_mode` is not "pad", or a Tensor of initial values has
            the wrong shape.

    Examples:
        >>> from minispore import nn, ops
        >>> nn.Conv1d(3, 16, 4, pad_mode="valid")(ops.ones((2, 3, 28))).shape
        (2, 16, 25)

    Source: MindSpore's `mindspore.nn.Conv1d`.
    """

    @hint_keywords
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Tensor | str | Initializer | float | None = None,
        bias_init: Tensor | str | Initializer | float | None = None,
        dtype: DType = float32,
    ) -> None:
        width = check_int(kernel_size, "kernel_size", low=1)
        step = check_int(stride, "stride", low=1)
        pad = check_int(padding, "padding", low=0)
        spread = check_int(dilation, "dilation", low=1)
        if isinstance(weight_init, Tensor):
            if weight_init.ndim != 3:
                raise shape_error(weight_init, "weight_init", "have 3 axes")
            weight_init = ops.expand_dims(weight_init, 2)
        super().__init__(
            in_channels,
            out_channels,
            (1, width),
            (1, step),
            pad_mode,
            (0, 0, pad, pad),
            (1, spread),
            group,
            has_bias,
            weight_init,
            bias_init,
            dtype=dtype,
        )

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, in_channels, length).

        Returns:
            A tensor of shape (n, out_channels, length').
        """
        check_tensor(x, "x")
        if x.ndim != 3:
            raise ValueError(f"For 'Conv1d', 'x' must have 3 axes, but its shape is {x.shape}.")
        return ops.squeeze(self._convolve(ops.expand_dims(x, 2)), 2)


class Conv2d(_Conv):
    """A 2-D convolution of images with trained kernels.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels, which is the number of kernels.
        kernel_size: The height and width of a kernel, one int or a tuple of two.
        stride: The vertical and horizontal stride, one int or a tuple of two.
        pad_mode: "same": pad with zeros so that the output size is the input size divided by
            `stride`, rounded up; "valid": do not pad; "pad": pad by `padding`.
        padding: The number of zeros to pad with, one int or (top, bottom, left, right).
        dilation: The spacing of kernel elements, one int or a tuple of two.
        group: The number of groups of channels, each of which has its own kernels.
        has_bias: Whether a bias is added to each output channel.
        weight_init: The initial kernels, in any form that `initializer` accepts; by default drawn
            uniformly from ±1 / √fan_in, where fan_in is the number of elements of a kernel.
        bias_init: The initial biases; by default drawn from the same distribution.
        data_format: "NCHW". MindSpore supports "NHWC" only on a GPU.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, `group` does not divide the numbers of channels,
            `padding` is not 0 although `pad_mode` is not "pad", or a Tensor of initial values has
            the wrong shape.

    Examples:
        >>> from minispore import nn, ops
        >>> nn.Conv2d(3, 16, 3)(ops.ones((2, 3, 28, 28))).shape
        (2, 16, 28, 28)
        >>> nn.Conv2d(3, 16, 3, stride=2, pad_mode="valid")(ops.ones((2, 3, 28, 28))).shape
        (2, 16, 13, 13)

    Source: MindSpore's `mindspore.nn.Conv2d`.
    """

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, in_channels, height, width).

        Returns:
            A tensor of shape (n, out_channels, height', width').
        """
        check_tensor(x, "x")
        return self._convolve(x)


class Conv2dTranspose(_Conv):
    """A transposed 2-D convolution, the gradient of `Conv2d` by its images: it enlarges images.

    Args:
        in_channels: The number of input channels.
        out_channels: The number of output channels.
        kernel_size: The height and width of a kernel, one int or a tuple of two.
        stride: The vertical and horizontal enlargement, one int or a tuple of two.
        pad_mode: "same": the output size is the input size times `stride`; "valid": it holds all
            kernels, and `stride` for each; "pad": as "valid", but `padding` is cut off.
        padding: What is cut off, one int or (top, bottom, left, right).
        output_padding: The rows and columns of zeros that are added with `pad_mode="pad"` at the
            bottom and on the right, one int or a tuple of two; below `stride` or `dilation`.
        dilation: The spacing of kernel elements, one int or a tuple of two.
        group: The number of groups of channels, each of which has its own kernels.
        has_bias: Whether a bias is added to each output channel.
        weight_init: The initial kernels (in_channels, out_channels / group, height, width), in any
            form that `initializer` accepts; by default drawn uniformly from ±1 / √fan_in, where
            fan_in is out_channels / group · height · width.
        bias_init: The initial biases; by default drawn from the same distribution.
        dtype: The dtype of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, `group` does not divide the numbers of channels,
            `padding` or `output_padding` is not 0 although `pad_mode` is not "pad", or a Tensor of
            initial values has the wrong shape.

    Examples:
        >>> from minispore import nn, ops
        >>> nn.Conv2dTranspose(3, 16, 4, stride=2)(ops.ones((2, 3, 14, 14))).shape
        (2, 16, 28, 28)

    Source: MindSpore's `mindspore.nn.Conv2dTranspose`.
    """

    _transposed: ClassVar[bool] = True

    @hint_keywords
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: str = "same",
        padding: int | tuple[int, int, int, int] = 0,
        output_padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Tensor | str | Initializer | float | None = None,
        bias_init: Tensor | str | Initializer | float | None = None,
        dtype: DType = float32,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            pad_mode,
            padding,
            dilation,
            group,
            has_bias,
            weight_init,
            bias_init,
            dtype=dtype,
        )
        self._added = as_pair(output_padding, "output_padding", low=0)
        self.output_padding = output_padding
        if any(self._added) and pad_mode != "pad":
            raise ValueError(
                f"For '{caller()}', the argument 'output_padding' must be 0 unless 'pad_mode' is "
                f"'pad', but got {output_padding} and '{pad_mode}'."
            )
        for added, step, spread in zip(self._added, self.stride, self.dilation, strict=True):
            check_int(added, "output_padding", high=max(step, spread) - 1)

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, in_channels, height, width).

        Returns:
            A tensor of shape (n, out_channels, height', width').
        """
        check_tensor(x, "x")
        below, right = self._added
        return ops.pad(self._convolve(x), (0, right, 0, below))
