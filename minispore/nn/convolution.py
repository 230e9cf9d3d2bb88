"""The convolution layer."""

import math

from minispore._checks import check_int, check_one_of, check_type
from minispore._functional.convolution import check_padding, convolve
from minispore._functional.sliding import as_padding, as_pair
from minispore._functional.variable import check_tensor
from minispore.common.dtype import DType, float32
from minispore.common.initializer import HeUniform, Initializer, Uniform
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.nn._first_values import check_float_type, first_values
from minispore.nn.cell import Cell


class Conv2d(Cell):
    """Kernels that slide over images.

    >>> from minispore import nn, ops
    >>> nn.Conv2d(3, 16, 3)(ops.ones((2, 3, 28, 28))).shape
    (2, 16, 28, 28)
    >>> nn.Conv2d(3, 16, 3, stride=2, pad_mode="valid")(ops.ones((2, 3, 28, 28))).shape
    (2, 16, 13, 13)

    Source: MindSpore's `mindspore.nn.Conv2d`.

    Args:
        in_channels: The channels of the input.
        out_channels: Those of the output: how many kernels there are.
        kernel_size: A kernel's rows and columns, one number or a tuple of two.
        stride: How far it is from one place to the next, one number or (down, right).
        pad_mode: "same" for as many zeros around the image as keep its size, or its size divided
            by `stride`; "valid" for none; "pad" for as many as `padding` says.
        padding: How many zeros, one number or (above, below, left, right).
        dilation: How far it is from one element of a kernel to the next, one number or two.
        group: Into how many parts the channels are divided, each of which has its own kernels.
        has_bias: Whether a number is added to each output channel.
        weight_init: The first kernels, for `initializer`; by default even within 1 / √fan_in, where
            fan_in is how many numbers a kernel has.
        bias_init: The first biases; by default even within the same.
        data_format: "NCHW". MindSpore has "NHWC" on a GPU only.
        dtype: The type of the parameters, a float type.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, `group` does not divide the channels, there is a
            padding without `pad_mode="pad"`, or a Tensor of first values is of another shape.
    """

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
        owner = "Conv2d"
        self.in_channels: int = check_int(in_channels, "in_channels", owner, low=1)
        self.out_channels: int = check_int(out_channels, "out_channels", owner, low=1)
        self.kernel_size: tuple[int, int] = as_pair(
            kernel_size, "kernel_size", owner, wrong_length=TypeError
        )
        self.stride: tuple[int, int] = as_pair(stride, "stride", owner, wrong_length=TypeError)
        self.dilation: tuple[int, int] = as_pair(
            dilation, "dilation", owner, wrong_length=TypeError
        )
        self.pad_mode = pad_mode
        self.padding = padding
        self._around = as_padding(padding, owner)
        check_padding(pad_mode, self._around, owner)
        self.group: int = check_int(group, "group", owner, low=1)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{owner}', the argument 'group' must divide 'in_channels' and "
                f"'out_channels', but got {group}, {in_channels} and {out_channels}."
            )
        check_type(has_bias, bool, "has_bias", owner)
        check_one_of(data_format, ("NCHW",), "data_format", owner)
        check_float_type(dtype, owner)
        self.has_bias = has_bias
        self.data_format = data_format
        shape = (out_channels, in_channels // group, *self.kernel_size)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight_init: Tensor | str | Initializer | float = weight_init
        self.weight: Parameter = first_values(self.weight_init, shape, dtype, "weight_init", owner)
        self.bias: Parameter | None = None
        if has_bias:
            if bias_init is None:
                bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            self.bias = first_values(bias_init, (out_channels,), dtype, "bias_init", owner)
        self.bias_init = bias_init

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: Of shape (n, in_channels, height, width).

        Returns:
            Of shape (n, out_channels, height', width').
        """
        check_tensor(x, "Conv2d", "x")
        return convolve(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self._around,
            self.dilation,
            self.group,
            "Conv2d",
        )

    def extend_repr(self) -> str:
        """The settings."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
            f"bias_init={self.bias_init}, format={self.data_format}"
        )
