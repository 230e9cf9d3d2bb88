"""Layers that pad the last axes."""

from typing import ClassVar

from minispore import ops
from minispore.nn.cell import Cell
from minispore.ops.tensors import Tensor
from minispore.utils.checks import check_int, check_number, tuple_or_none, value_error

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ReflectionPad1d", "ReflectionPad2d", "ReplicationPad1d",
    "ReplicationPad2d", "ZeroPad2d",
]  # fmt: skip


class _Pad(Cell):
    """Base class of padding; a subclass says how many axes an int pads, and with what."""

    _ndim: ClassVar[int]
    _mode: ClassVar[str]

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        items = tuple_or_none(padding)
        items = (padding,) * 2 * self._ndim if items is None else items
        self.padding: tuple[int, ...] = tuple(check_int(n, "padding") for n in items)
        if len(items) % 2:
            raise value_error(padding, "padding", "be an int or of pairs")

    def construct(self, x: Tensor) -> Tensor:
        """Return `x` padded.

        Raises:
            TypeError: `x` is not a tensor.
            ValueError: There are more pairs than axes, or more is removed or repeated than there
                is.
        """
        return ops.pad(x, self.padding, self._mode)


class _ConstantPad(_Pad):
    """Base class of constant padding."""

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value: float = check_number(value, "value")

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


class ReflectionPad1d(_Pad):
    """Padding of the last axis with its elements, mirrored at the first and the last one.

    Args:
        padding: The number of elements on both sides, or a tuple (before, after).

    Raises:
        TypeError: `padding` is not an int or a tuple of ints.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ReflectionPad1d((1, 0))(Tensor([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 1.0, 2.0, 3.0]]

    Source: MindSpore's `mindspore.nn.ReflectionPad1d`.
    """

    _ndim: ClassVar[int] = 1
    _mode: ClassVar[str] = "reflect"


class ReflectionPad2d(_Pad):
    """Padding of the last two axes with their elements, mirrored at the first and the last one.

    Args:
        padding: The number of elements on all sides, or a tuple (left, right, top, bottom).

    Raises:
        TypeError: `padding` is not an int or a tuple of ints.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ReflectionPad2d((0, 0, 1, 0))(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]]

    Source: MindSpore's `mindspore.nn.ReflectionPad2d`.
    """

    _ndim: ClassVar[int] = 2
    _mode: ClassVar[str] = "reflect"


class ReplicationPad1d(_Pad):
    """Padding of the last axis with its first and last element.

    Args:
        padding: The number of elements on both sides, or a tuple (before, after).

    Raises:
        TypeError: `padding` is not an int or a tuple of ints.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ReplicationPad1d((1, 0))(Tensor([[1.0, 2.0, 3.0]])).tolist()
        [[1.0, 1.0, 2.0, 3.0]]

    Source: MindSpore's `mindspore.nn.ReplicationPad1d`.
    """

    _ndim: ClassVar[int] = 1
    _mode: ClassVar[str] = "replicate"


class ReplicationPad2d(_Pad):
    """Padding of the last two axes with their first and last element.

    Args:
        padding: The number of elements on all sides, or a tuple (left, right, top, bottom).

    Raises:
        TypeError: `padding` is not an int or a tuple of ints.
        ValueError: `padding` has an odd length.

    Examples:
        >>> from minispore import Tensor, nn
        >>> nn.ReplicationPad2d((0, 0, 1, 0))(Tensor([[[1.0, 2.0], [3.0, 4.0]]])).tolist()
        [[[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]]

    Source: MindSpore's `mindspore.nn.ReplicationPad2d`.
    """

    _ndim: ClassVar[int] = 2
    _mode: ClassVar[str] = "replicate"
