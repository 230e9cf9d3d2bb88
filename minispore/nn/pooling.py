"""The pooling layers."""

from itertools import starmap
from typing import Generic, Literal, TypeVar, cast, overload

from minispore import ops
from minispore._checks import as_items, check_bool, check_int, check_one_of, described
from minispore._functional.operands import as_float
from minispore._functional.pooling import average, check_half, fitted, largest, places_of_largest
from minispore._functional.sliding import PAD_MODES, Sliding, as_pair, of_tuple
from minispore._functional.variable import check_tensor
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell

# What pooling gives: a tensor, or one and its places.
R = TypeVar("R")
_Pair = int | tuple[int] | tuple[int, int]


class _Pool2d(Cell, Generic[R]):
    """What the two layers share: the windows, and that images may come one by one."""

    def __init__(
        self,
        kernel_size: _Pair,
        stride: _Pair,
        pad_mode: str,
        padding: int | tuple[int, ...] | list[int],
        dilation: _Pair,
        ceil_mode: bool,
        data_format: str,
    ) -> None:
        super().__init__()
        owner = self.cls_name
        self.kernel_size = kernel_size
        self.stride = stride
        self._size = _pair(kernel_size, "kernel_size", owner)
        step = _pair(stride, "stride", owner)
        spread = _pair(dilation, "dilation", owner)
        if not isinstance(pad_mode, str) or pad_mode.lower() not in PAD_MODES:
            check_one_of(pad_mode, PAD_MODES, "pad_mode", owner)
        self.pad_mode: str = pad_mode.upper()
        items = as_items(padding)
        self.padding: tuple[int, int] = _pair(
            padding if items is None else items, "padding", owner, low=0
        )
        if self.pad_mode != "PAD" and any(self.padding):
            raise ValueError(
                f"For '{owner}', the argument 'padding' must be 0 unless 'pad_mode' is 'pad', "
                f"but got {described(padding)}."
            )
        check_bool(ceil_mode, "ceil_mode", owner)
        self.ceil_mode = ceil_mode
        check_one_of(data_format, ("NCHW",), "data_format", owner)
        self.format = data_format
        around = self.padding
        self._rows, self._columns = starmap(
            Sliding, zip(self._size, step, spread, around, around, strict=True)
        )

    def construct(self, x: Tensor) -> R:
        """Apply the layer.

        Args:
            x: Of shape (n, channels, height, width), or without n.

        Raises:
            TypeError: `x` is no tensor.
            ValueError: `x` has another number of axes, or no window fits.
        """
        check_tensor(x, self.cls_name, "x")
        if x.ndim not in (3, 4):
            raise ValueError(
                f"For '{self.cls_name}', 'x' must have 3 or 4 axes, but its shape is {x.shape}."
            )
        images = x if x.ndim == 4 else ops.expand_dims(x, 0)
        pooled = self._pooled(images, *self._sliding(images))
        if x.ndim == 3:
            pooled = [y[0] for y in pooled]
        return cast("R", tuple(pooled) if len(pooled) > 1 else pooled[0])

    def _pooled(self, images: Tensor, rows: Sliding, columns: Sliding) -> list[Tensor]:
        """What the layer gives, one or several."""
        raise NotImplementedError

    def _sliding(self, x: Tensor) -> tuple[Sliding, Sliding]:
        """How the windows slide over these images."""
        if self.pad_mode == "SAME":
            return self._rows.same(x.shape[2]), self._columns.same(x.shape[3])
        return self._rows, self._columns

    def extend_repr(self) -> str:
        """The settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}"


class MaxPool2d(_Pool2d[R]):
    """The largest number of each window of an image.

    >>> from minispore import Tensor, nn
    >>> nn.MaxPool2d(kernel_size=2, stride=2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    Tensor(shape=[1, 1, 1, 1], dtype=Float32, value=
    [[[[ 4.00000000e+00]]]])

    Of equal ones the first gets the gradient.

    Source: MindSpore's `mindspore.nn.MaxPool2d`.

    Args:
        kernel_size: A window's rows and columns, one number or a tuple.
        stride: How far it is from one window to the next, likewise.
        pad_mode: "valid" for the windows that lie inside of the image; "same" for as many as its
            size divided by `stride`; "pad" for as many as `padding` and `ceil_mode` say; in any
            case. What is added around is never the largest.
        padding: How much is added around, one number or (above and below, left and right); at most
            half a window.
        dilation: How far it is from one element of a window to the next.
        return_indices: Whether to give the places of the largest as well (int64).
        ceil_mode: Whether to make a window, too, of what is left at the end.
        data_format: "NCHW". MindSpore has "NHWC" on a GPU only.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range; or `padding`, `dilation`, `return_indices` or
            `ceil_mode` is set without `pad_mode="pad"`.
    """

    @overload
    def __init__(
        self: "MaxPool2d[Tensor]",
        kernel_size: _Pair = 1,
        stride: _Pair = 1,
        pad_mode: str = "valid",
        padding: int | tuple[int, ...] | list[int] = 0,
        dilation: _Pair = 1,
        return_indices: Literal[False] = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None: ...
    @overload
    def __init__(
        self: "MaxPool2d[tuple[Tensor, Tensor]]",
        kernel_size: _Pair = 1,
        stride: _Pair = 1,
        pad_mode: str = "valid",
        padding: int | tuple[int, ...] | list[int] = 0,
        dilation: _Pair = 1,
        *,
        return_indices: Literal[True],
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None: ...
    def __init__(
        self,
        kernel_size: _Pair = 1,
        stride: _Pair = 1,
        pad_mode: str = "valid",
        padding: int | tuple[int, ...] | list[int] = 0,
        dilation: _Pair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, ceil_mode, data_format)
        check_bool(return_indices, "return_indices", "MaxPool2d")
        self.return_indices = return_indices
        self.dilation = dilation
        spread = (self._rows.spread, self._columns.spread)
        if self.pad_mode != "PAD" and (return_indices or ceil_mode or spread != (1, 1)):
            raise ValueError(
                "For 'MaxPool2d', the arguments 'dilation', 'return_indices' and 'ceil_mode' must "
                f"be left as they are unless 'pad_mode' is 'pad', but that is '{pad_mode}'."
            )
        check_half(self.padding, self._size, "MaxPool2d")

    def _pooled(self, images: Tensor, rows: Sliding, columns: Sliding) -> list[Tensor]:
        rows, columns = fitted(images, rows, columns, self.ceil_mode, "MaxPool2d")
        y = largest(images, rows, columns)
        return [y, places_of_largest(images, rows, columns)] if self.return_indices else [y]


class AvgPool2d(_Pool2d[Tensor]):
    """The mean of each window of an image.

    >>> from minispore import Tensor, nn
    >>> nn.AvgPool2d(kernel_size=2, stride=2)(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    Tensor(shape=[1, 1, 1, 1], dtype=Float32, value=
    [[[[ 2.50000000e+00]]]])

    Source: MindSpore's `mindspore.nn.AvgPool2d`.

    Args:
        kernel_size: A window's rows and columns, one number or a tuple.
        stride: How far it is from one window to the next, likewise.
        pad_mode: "valid" for the windows that lie inside of the image; "same" for as many as its
            size divided by `stride`, where what is added does not count; "pad" for zeros around
            it as `padding` says; in any case.
        padding: How many zeros, one number or (above and below, left and right); at most half a
            window.
        ceil_mode: Whether to make a window, too, of what is left at the end.
        count_include_pad: Whether the zeros of `pad_mode="pad"` count as elements.
        divisor_override: What to divide by instead of the number of elements.
        data_format: "NCHW". MindSpore has "NHWC" on a GPU only.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: A number is out of range, or there is a padding without `pad_mode="pad"`.
    """

    def __init__(
        self,
        kernel_size: _Pair = 1,
        stride: _Pair = 1,
        pad_mode: str = "valid",
        padding: int | tuple[int, ...] | list[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:
        super().__init__(kernel_size, stride, pad_mode, padding, 1, ceil_mode, data_format)
        check_bool(count_include_pad, "count_include_pad", "AvgPool2d")
        self.count_include_pad = count_include_pad
        if divisor_override is not None:
            check_int(divisor_override, "divisor_override", "AvgPool2d", low=1)
        self.divisor_override = divisor_override
        check_half(self.padding, self._size, "AvgPool2d")

    def _pooled(self, images: Tensor, rows: Sliding, columns: Sliding) -> list[Tensor]:
        images = as_float(images, "AvgPool2d", "x")
        counted = self.count_include_pad and self.pad_mode == "PAD"
        divisor = self.divisor_override or 0
        return [average(images, rows, columns, self.ceil_mode, counted, divisor, "AvgPool2d")]


def _pair(value: object, name: str, owner: str, low: int = 1) -> tuple[int, int]:
    """An int, a tuple of one or of two, as two ints."""
    items = of_tuple(value) or ()
    return as_pair(items[0] if len(items) == 1 else value, name, owner, low=low)
