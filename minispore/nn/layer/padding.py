"""Layers that pad the last axes with a constant."""

from typing import ClassVar

from minispore import ops
from minispore._functional.window_geometry import tuple_or_none
from minispore.common.tensor import Tensor
from minispore.nn.cell import Cell
from minispore.utils.checks import check_int, check_number

__all__ = ["ConstantPad1d", "ConstantPad2d", "ZeroPad2d"]


class _ConstantPad(Cell):
    """Base class of constant padding; a subclass says how many axes an int pads."""

    _ndim: ClassVar[int]

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__()
        items = tuple_or_none(padding)
        items = (padding,) * 2 * self._ndim if items is None else items
        self.padding: tuple[int, ...] = tuple(check_int(n, "padding", self.cls_name) for n in items)
        if len(items) % 2:
            raise ValueError(
                f"For '{self.cls_name}', the argument 'padding' must be an int or of pairs, "
                f"but got {padding}."
            )
        self.value: float = check_number(value, "value", self.cls_name)

    def construct(self, x: Tensor) -> Tensor:
        """Return `x` padded.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: There are more pairs than axes, or more is removed than there is.
        """
        return ops.pad(x, self.padding, value=self.value)


class ConstantPad1d(_ConstantPad):
    """Padding of the last axis with a constant.

    Args:
        padding: The number of elements on both sides, or a tuple (before, after); a negative number
            removes elements. Further pairs pad the axes before.
        value: The constant.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ConstantPad1d((1, 0), 0.5)(Tensor([[1.0, 2.0]])).tolist()
        [[0.5, 1.0, 2.0]]

    Source: MindSpore's `mindspore.nn.ConstantPad1d`.
    """

    _ndim: ClassVar[int] = 1


class ConstantPad2d(_ConstantPad):
    """Padding of the last two axes with a constant.

    Args:
        padding: The number of elements on all sides, or a tuple (left, right, top, bottom); a
            negative number removes elements. Further pairs pad the axes before.
        value: The constant.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ConstantPad2d((1, 0, 0, 1), 7.0)(Tensor([[1.0, 2.0]])).tolist()
        [[7.0, 1.0, 2.0], [7.0, 7.0, 7.0]]

    Source: MindSpore's `mindspore.nn.ConstantPad2d`.
    """

    _ndim: ClassVar[int] = 2


class ZeroPad2d(_ConstantPad):
    """Padding of the last two axes with zeros.

    Args:
        padding: The number of elements on all sides, or a tuple (left, right, top, bottom); a
            negative number removes elements. Further pairs pad the axes before.

    Raises:
        TypeError: `padding` is not an int or a tuple of ints.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ZeroPad2d((1, 0, 0, 1))(Tensor([[1.0, 2.0]])).tolist()
        [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]

    Source: MindSpore's `mindspore.nn.ZeroPad2d`.
    """

    _ndim: ClassVar[int] = 2

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__(padding, 0)
