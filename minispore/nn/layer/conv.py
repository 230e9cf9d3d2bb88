"""The convolution layer."""

import math
from functools import partial

from minispore._functional.convolution import check_padding, conv2d_unchecked
from minispore._functional.window_geometry import as_padding, as_pair
from minispore.common.dtype import DType, float32
from minispore.common.initializer import HeUniform, Initializer, Uniform
from minispore.common.parameter import Parameter
from minispore.common.tensor import Tensor
from minispore.engine.dispatch import check_tensor
from minispore.nn._parameter_init import check_float_type, init_parameter
from minispore.nn.cell import Cell
from minispore.utils.checks import check_int, check_one_of, check_type

__all__ = ["Conv2d"]


class Conv2d(Cell):
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
        caller = "Conv2d"
        self.in_channels: int = check_int(in_channels, "in_channels", caller, low=1)
        self.out_channels: int = check_int(out_channels, "out_channels", caller, low=1)
        pair = partial(as_pair, caller=caller, wrong_length=TypeError)
        self.kernel_size: tuple[int, int] = pair(kernel_size, "kernel_size")
        self.stride: tuple[int, int] = pair(stride, "stride")
        self.dilation: tuple[int, int] = pair(dilation, "dilation")
        self.pad_mode = pad_mode
        self.padding = padding
        self._around = as_padding(padding, caller)
        check_padding(pad_mode, self._around, caller)
        self.group: int = check_int(group, "group", caller, low=1)
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{caller}', the argument 'group' must divide 'in_channels' and "
                f"'out_channels', but got {group}, {in_channels} and {out_channels}."
            )
        check_type(has_bias, bool, "has_bias", caller)
        check_one_of(data_format, ("NCHW",), "data_format", caller)
        check_float_type(dtype, caller)
        self.has_bias = has_bias
        self.data_format = data_format
        shape = (out_channels, in_channels // group, *self.kernel_size)
        if weight_init is None:
            weight_init = HeUniform(math.sqrt(5))
        self.weight_init: Tensor | str | Initializer | float = weight_init
        self.weight: Parameter = init_parameter(weight_init, shape, dtype, "weight_init", caller)
        self.bias: Parameter | None = None
        if has_bias:
            if bias_init is None:
                bias_init = Uniform(1 / math.sqrt(math.prod(shape[1:])))
            self.bias = init_parameter(bias_init, (out_channels,), dtype, "bias_init", caller)
        self.bias_init = bias_init

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, in_channels, height, width).

        Returns:
            A tensor of shape (n, out_channels, height', width').
        """
        check_tensor(x, "Conv2d", "x")
        return conv2d_unchecked(
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
        """Return the arguments for `repr`."""
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
            f"bias_init={self.bias_init}, format={self.data_format}"
        )
