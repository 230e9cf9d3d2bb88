"""The shape, the size, the number of axes and the data type of a tensor, as functions."""

from typing import Final

from minispore.engine import dtypes
from minispore.engine.dispatch import check_tensor
from minispore.ops._primitive import primitive
from minispore.ops.tensors import Tensor

__all__ = ["DType", "Rank", "Shape", "Size", "dtype", "rank", "shape", "size"]


def shape(input_x: Tensor) -> tuple[int, ...]:
    """Return the shape of a tensor.

    Args:
        input_x: A tensor of any shape.

    Returns:
        The lengths of the axes.

    Examples:
        >>> from minispore import ops
        >>> ops.shape(ops.ones((2, 3)))
        (2, 3)

    Source: MindSpore's `mindspore.ops.shape`.
    """
    check_tensor(input_x, "input_x")
    return input_x.shape


Shape: Final = primitive("Shape", shape)


def size(input_x: Tensor) -> int:
    """Return the number of elements of a tensor.

    Args:
        input_x: A tensor of any shape.

    Returns:
        The number, an int; 1 for a tensor without axes.

    Examples:
        >>> from minispore import ops
        >>> ops.size(ops.ones((2, 3)))
        6

    Source: MindSpore's `mindspore.ops.size`.
    """
    check_tensor(input_x, "input_x")
    return input_x.size


Size: Final = primitive("Size", size)


def rank(input_x: Tensor) -> int:
    """Return the number of axes of a tensor.

    Args:
        input_x: A tensor of any shape.

    Returns:
        The number, an int.

    Examples:
        >>> from minispore import ops
        >>> ops.rank(ops.ones((2, 3)))
        2

    Source: MindSpore's `mindspore.ops.rank`.
    """
    check_tensor(input_x, "input_x")
    return input_x.ndim


Rank: Final = primitive("Rank", rank)


def dtype(x: Tensor) -> dtypes.DType:
    """Return the data type of a tensor.

    Args:
        x: A tensor of any shape.

    Returns:
        The data type.

    Examples:
        >>> from minispore import ops
        >>> ops.dtype(ops.ones(2))
        minispore.float32

    Source: MindSpore's `mindspore.ops.dtype`.
    """
    check_tensor(x, "x")
    return x.dtype


DType: Final = primitive("DType", dtype)
