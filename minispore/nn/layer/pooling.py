"""Pooling layers."""

from itertools import starmap
from typing import cast

from minispore import ops
from minispore.engine.dispatch import apply1, as_float, check_numbers, check_tensor, in_float32
from minispore.engine.rules import unfold
from minispore.nn.cell import Cell
from minispore.ops._windows import PAD_MODES, WindowGeometry
from minispore.ops.pooling import (
    avg_pool,
    check_max_padding,
    max_pool,
    max_pool_indices,
    resolve_geometry,
)
from minispore.ops.tensors import Tensor
from minispore.utils.checks import (
    as_pair,
    caller,
    check_int,
    check_one_of,
    check_type,
    tuple_or_none,
    type_error,
)

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AvgPool1d",
    "AvgPool2d", "MaxPool1d", "MaxPool2d",
]  # fmt: skip

_Pair = int | tuple[int] | tuple[int, int]
_Single = int | tuple[int]
_Padding = int | tuple[int, ...] | list[int]


class _Pool2d(Cell):
    """Base class of pooling layers: the geometry of the windows."""

    def __init__(
        self,
        kernel_size: _Pair,
        stride: _Pair,
        pad_mode: str,
        padding: _Padding,
        dilation: _Pair,
        ceil_mode: bool,
        data_format: str,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self._size = _pair(kernel_size, "kernel_size")
        strides = _pair(stride, "stride")
        dilations = _pair(dilation, "dilation")
        if not isinstance(pad_mode, str) or pad_mode.lower() not in PAD_MODES:
            check_one_of(pad_mode, PAD_MODES, "pad_mode")
        self.pad_mode: str = pad_mode.upper()
        self.padding: tuple[int, int] = _pair(
            tuple(padding) if isinstance(padding, list) else padding, "padding", low=0
        )
        if self.pad_mode != "PAD" and any(self.padding):
            raise type_error(padding, "padding", "be 0 unless 'pad_mode' is 'pad'", ValueError)
        self.ceil_mode: bool = check_type(ceil_mode, bool, "ceil_mode")
        check_one_of(data_format, ("NCHW",), "data_format")
        self.format = data_format
        pads = self.padding
        self._rows, self._columns = starmap(
            WindowGeometry, zip(self._size, strides, dilations, pads, pads, strict=True)
        )

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, channels, height, width), or without n.

        Returns:
            The pooled tensor. With `return_indices`, despite the annotation, a tuple of the maxima
            and their indices.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: `x` has another number of axes, or the windows do not fit.
        """
        return _single_or_tuple(self._pool(x))

    def _pool(self, x: Tensor) -> list[Tensor]:
        """Return the results of the layer, one or more."""
        check_tensor(x, "x")
        if x.ndim not in (3, 4):
            raise ValueError(
                f"For '{self.cls_name}', 'x' must have 3 or 4 axes, but its shape is {x.shape}."
            )
        images = x if x.ndim == 4 else ops.expand_dims(x, 0)
        rows, columns = self._rows, self._columns
        if self.pad_mode == "SAME":
            rows = rows.with_same_padding(images.shape[2])
            columns = columns.with_same_padding(images.shape[3])
        pooled = self._pool_images(images, rows, columns)
        return [y[0] for y in pooled] if x.ndim == 3 else pooled

    def _pool_images(
        self, images: Tensor, rows: WindowGeometry, columns: WindowGeometry
    ) -> list[Tensor]:
        """Return the results for a batch of images."""
        raise NotImplementedError

    def extend_repr(self) -> str:
        """Return the arguments for `repr`."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class _MaxPool(_Pool2d):
    """Base class of max pooling."""

    def __init__(
        self,
        kernel_size: _Pair = 1,
        stride: _Pair = 1,
        pad_mode: str = "valid",
        padding: _Padding = 0,
        dilation: _Pair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, ceil_mode, data_format)
        self.return_indices: bool = check_type(return_indices, bool, "return_indices")
        self.dilation = dilation
        dilated = _pair(dilation, "dilation") != (1, 1)
        if self.pad_mode != "PAD" and (return_indices or ceil_mode or dilated):
            raise ValueError(
                f"For '{self.cls_name}', the arguments 'dilation', 'return_indices' and "
                "'ceil_mode' must have their default values unless 'pad_mode' is 'pad', "
                f"but got '{pad_mode}'."
            )
        check_max_padding(self.padding, self._size)

    def _pool_images(
        self, images: Tensor, rows: WindowGeometry, columns: WindowGeometry
    ) -> list[Tensor]:
        check_numbers(images)
        rows, columns = resolve_geometry(images, rows, columns, self.ceil_mode)
        y = max_pool(images, rows, columns)
        return [y, max_pool_indices(images, rows, columns)] if self.return_indices else [y]


class MaxPool2d(_MaxPool):
    """Max pooling: the maximum of each window of an image.

    If several elements of a window equal its maximum, the first receives the gradient.

    Args:
        kernel_size: The height and width of a window, one int or a tuple.
        stride: The vertical and horizontal stride, one int or a tuple.
        pad_mode: "valid": only windows inside the image; "same": pad so that the output size is the
            input size divided by `stride`, rounded up; "pad": pad by `padding`. The padding never
            is the maximum. Case does not matter.
        padding: How far to pad, one int or (top and bottom, left and right); at most half of
            `kernel_size`.
        dilation: The spacing of window elements, one int or a tuple.
        return_indices: Whether to return the indices of the maxima too (int64).
        ceil_mode: Whether to round the output size up instead of down.
        data_format: "NCHW". MindSpore supports "NHWC" only on a GPU.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range; or `padding`, `dilation`, `return_indices` or
            `ceil_mode` is set although `pad_mode` is not "pad".

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.MaxPool2d(kernel_size=2, stride=2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
        [[[[4.0]]]]

    Source: MindSpore's `mindspore.nn.MaxPool2d`.
    """


class AvgPool2d(_Pool2d):
    """Average pooling: the mean of each window of an image.

    Args:
        kernel_size: The height and width of a window, one int or a tuple.
        stride: The vertical and horizontal stride, one int or a tuple.
        pad_mode: "valid": only windows inside the image; "same": pad so that the output size is the
            input size divided by `stride`, rounded up, where padding does not count; "pad": pad
            with zeros by `padding`. Case does not matter.
        padding: How many zeros to pad with, one int or (top and bottom, left and right); at most
            half of `kernel_size`.
        ceil_mode: Whether to round the output size up instead of down.
        count_include_pad: Whether the zeros of `pad_mode="pad"` count as elements.
        divisor_override: The divisor, instead of the number of elements.
        data_format: "NCHW". MindSpore supports "NHWC" only on a GPU.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `padding` is not 0 although `pad_mode` is not
            "pad".

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.AvgPool2d(kernel_size=2, stride=2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]])).tolist()
        [[[[2.5]]]]

    Source: MindSpore's `mindspore.nn.AvgPool2d`.
    """

    def __init__(
        self,
        kernel_size: _Pair = 1,
        stride: _Pair = 1,
        pad_mode: str = "valid",
        padding: _Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, 1, ceil_mode, data_format)
        self.count_include_pad: bool = check_type(count_include_pad, bool, "count_include_pad")
        if divisor_override is not None:
            check_int(divisor_override, "divisor_override", low=1)
        self.divisor_override = divisor_override
        check_max_padding(self.padding, self._size)

    def _pool_images(
        self, images: Tensor, rows: WindowGeometry, columns: WindowGeometry
    ) -> list[Tensor]:
        images = as_float(images, "x")
        counted = self.count_include_pad and self.pad_mode == "PAD"
        divisor = self.divisor_override or 0
        return [avg_pool(images, rows, columns, self.ceil_mode, counted, divisor)]


class MaxPool1d(_MaxPool):
    """Max pooling: the maximum of each window of a sequence.

    If several elements of a window equal its maximum, the first receives the gradient.

    Args:
        kernel_size: The length of a window.
        stride: The distance between windows.
        pad_mode: "valid", "same" or "pad", as in `MaxPool2d`.
        padding: How far to pad on each side with "pad"; at most half of `kernel_size`.
        dilation: The spacing of window elements.
        return_indices: Whether to return the indices of the maxima too (int64).
        ceil_mode: Whether to round the output length up instead of down.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range; or `padding`, `dilation`, `return_indices` or
            `ceil_mode` is set although `pad_mode` is not "pad".

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.MaxPool1d(kernel_size=2, stride=2)(Tensor([[[1.0, 2.0, 4.0, 3.0]]])).tolist()
        [[[2.0, 4.0]]]

    Source: MindSpore's `mindspore.nn.MaxPool1d`.
    """

    def __init__(
        self,
        kernel_size: _Single = 1,
        stride: _Single = 1,
        pad_mode: str = "valid",
        padding: _Single = 0,
        dilation: _Single = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(
            _beside(1, kernel_size, "kernel_size"),
            _beside(1, stride, "stride"),
            pad_mode,
            _beside(0, padding, "padding"),
            _beside(1, dilation, "dilation"),
            return_indices,
            ceil_mode,
        )

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, channels, length), or without n.

        Returns:
            The pooled tensor. With `return_indices`, despite the annotation, a tuple of the maxima
            and their indices.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: `x` has another number of axes, or the windows do not fit.
        """
        pooled = self._pool(_as_image(x, (2, 3)))
        return _single_or_tuple([ops.squeeze(y, -2) for y in pooled])


class AvgPool1d(AvgPool2d):
    """Average pooling: the mean of each window of a sequence.

    Args:
        kernel_size: The length of a window.
        stride: The distance between windows.
        pad_mode: "valid", "same" or "pad", as in `AvgPool2d`.
        padding: How many zeros to pad with on each side with "pad"; at most half of `kernel_size`.
        ceil_mode: Whether to round the output length up instead of down.
        count_include_pad: Whether the zeros of `pad_mode="pad"` count as elements.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or `padding` is not 0 although `pad_mode` is not
            "pad".

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.AvgPool1d(kernel_size=2, stride=2)(Tensor([[[1.0, 2.0, 4.0, 3.0]]])).tolist()
        [[[1.5, 3.5]]]

    Source: MindSpore's `mindspore.nn.AvgPool1d`.
    """

    def __init__(
        self,
        kernel_size: _Single = 1,
        stride: _Single = 1,
        pad_mode: str = "valid",
        padding: _Single = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(
            _beside(1, kernel_size, "kernel_size"),
            _beside(1, stride, "stride"),
            pad_mode,
            _beside(0, padding, "padding"),
            ceil_mode,
            count_include_pad,
        )

    def construct(self, x: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            x: A tensor of shape (n, channels, length), or without n.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: `x` has another number of axes, or the windows do not fit.
        """
        return ops.squeeze(super().construct(_as_image(x, (2, 3))), -2)


class _AdaptivePool2d(Cell):
    """Base class of adaptive pooling; a subclass defines the reduction of a window of one axis."""

    def __init__(self, output_size: int | tuple[int | None, int | None] | None) -> None:
        super().__init__()
        pair = tuple_or_none(output_size) or (output_size, output_size)
        if len(pair) != 2:
            raise ValueError(
                f"For '{self.cls_name}', the argument 'output_size' must be an int, None or a "
                f"tuple of two, but got {output_size}."
            )
        rows, columns = (
            None if size is None else check_int(size, "output_size", low=1) for size in pair
        )
        self.output_size = output_size
        self._sizes = rows, columns

    def _reduce(self, window: Tensor, axis: int) -> Tensor:
        raise NotImplementedError

    @in_float32
    def construct(self, input: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            input: A tensor of shape (n, channels, height, width) or (channels, height, width).

        Returns:
            A tensor with the height and width `output_size`; None for that of the input.

        Raises:
            TypeError: `input` is not a tensor.
            ValueError: `input` has another number of axes, or no elements in a window.
        """
        x = as_float(input)
        if x.ndim not in (3, 4) or 0 in x.shape[-2:]:
            raise ValueError(
                f"For '{self.cls_name}', 'input' must have 3 or 4 axes and no empty image, but "
                f"its shape is {x.shape}."
            )
        for axis, size in ((x.ndim - 2, self._sizes[0]), (x.ndim - 1, self._sizes[1])):
            length = x.shape[axis]
            count = length if size is None else size
            # The windows overlap where `count` does not divide the length.
            windows = [
                slice(i * length // count, -(-(i + 1) * length // count)) for i in range(count)
            ]
            before = (slice(None),) * axis
            x = ops.stack([self._reduce(x[*before, window], axis) for window in windows], axis)
        return x


class AdaptiveAvgPool2d(_AdaptivePool2d):
    """Average pooling of images to a given size, with windows that cover each image.

    Args:
        output_size: The height and width of the result, one int or a tuple of two; None for the
            size of the input.

    Raises:
        TypeError: A size is not an int.
        ValueError: A size is below 1, or there are not two.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.AdaptiveAvgPool2d(1)(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[2.5]]]

    Source: MindSpore's `mindspore.nn.AdaptiveAvgPool2d`.
    """

    def _reduce(self, window: Tensor, axis: int) -> Tensor:
        return window.mean(axis)


class AdaptiveMaxPool2d(_AdaptivePool2d):
    """Maximum pooling of images to a given size, with windows that cover each image.

    Args:
        output_size: The height and width of the result, one int or a tuple of two; None for the
            size of the input.
        return_indices: False: indices are not supported.

    Raises:
        TypeError: A size is not an int.
        ValueError: A size is below 1, there are not two, or `return_indices` is not False.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.AdaptiveMaxPool2d((1, None))(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[3.0, 4.0]]]

    Source: MindSpore's `mindspore.nn.AdaptiveMaxPool2d`.
    """

    def __init__(
        self,
        output_size: int | tuple[int | None, int | None] | None,
        return_indices: bool = False,
    ) -> None:
        super().__init__(output_size)
        check_type(return_indices, bool, "return_indices")
        if return_indices:
            raise ValueError(
                "For 'AdaptiveMaxPool2d', 'return_indices' is not supported and must be False, but "
                "got True."
            )

    def _reduce(self, window: Tensor, axis: int) -> Tensor:
        # The gradient is that of the first maximum, as in `MaxPool2d`.
        return apply1(unfold.max_over_window, window, axis)


class _AdaptivePool1d(_AdaptivePool2d):
    """Pooling of sequences, as images of height 1; a class after it says how."""

    def __init__(self, output_size: int) -> None:
        super().__init__((1, check_int(output_size, "output_size", low=1)))
        self.output_size = output_size

    def construct(self, input: Tensor) -> Tensor:
        """Apply the layer.

        Args:
            input: A tensor of shape (n, channels, length).

        Returns:
            A tensor of shape (n, channels, output_size).

        Raises:
            TypeError: `input` is not a tensor.
            ValueError: `input` has another number of axes, or is empty.
        """
        return ops.squeeze(super().construct(_as_image(input, (3,), "input")), -2)


class AdaptiveAvgPool1d(_AdaptivePool1d, AdaptiveAvgPool2d):
    """Average pooling of sequences to a given length, with windows that cover each sequence.

    Args:
        output_size: The length of the result.

    Raises:
        TypeError: `output_size` is not an int.
        ValueError: It is below 1.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.AdaptiveAvgPool1d(2)(Tensor([[[1.0, 2.0, 4.0, 3.0]]])).tolist()
        [[[1.5, 3.5]]]

    Source: MindSpore's `mindspore.nn.AdaptiveAvgPool1d`.
    """


class AdaptiveMaxPool1d(_AdaptivePool1d, AdaptiveMaxPool2d):
    """Maximum pooling of sequences to a given length, with windows that cover each sequence.

    Args:
        output_size: The length of the result.

    Raises:
        TypeError: `output_size` is not an int.
        ValueError: It is below 1.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.AdaptiveMaxPool1d(2)(Tensor([[[1.0, 2.0, 4.0, 3.0]]])).tolist()
        [[[2.0, 4.0]]]

    Source: MindSpore's `mindspore.nn.AdaptiveMaxPool1d`.
    """


def _single_or_tuple(tensors: list[Tensor]) -> Tensor:
    return cast("Tensor", tuple(tensors)) if len(tensors) > 1 else tensors[0]


def _beside(first: int, value: object, name: str) -> tuple[int, int]:
    """Return `first` and an int, which may be the only one of a tuple."""
    items = tuple_or_none(value) or ()
    number = items[0] if len(items) == 1 else value
    return first, check_int(number, name, low=first)


def _as_image(x: Tensor, ndims: tuple[int, ...], name: str = "x") -> Tensor:
    """Return sequences as images of height 1."""
    check_tensor(x, name)
    if x.ndim not in ndims:
        raise ValueError(
            f"For '{caller()}', '{name}' must have {' or '.join(map(str, ndims))} axes, but its "
            f"shape is {x.shape}."
        )
    return ops.expand_dims(x, -2)


def _pair(value: object, name: str, low: int = 1) -> tuple[int, int]:
    """Return an int, or a tuple of one or two ints, as two ints."""
    items = tuple_or_none(value) or ()
    return as_pair(items[0] if len(items) == 1 else value, name, low=low)
