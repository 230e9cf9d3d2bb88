"""What can be read off a tensor, as functions."""

from minispore._functional.variable import check_tensor
from minispore.common.tensor import Tensor


def shape(input_x: Tensor) -> tuple[int, ...]:
    """The lengths of the axes.

    >>> from minispore import ops
    >>> ops.shape(ops.ones((2, 3)))
    (2, 3)

    Source: MindSpore's `mindspore.ops.shape`.

    Raises:
        TypeError: `input_x` is no tensor.
    """
    check_tensor(input_x, "shape", "input_x")
    return input_x.shape


def size(input_x: Tensor) -> int:
    """The number of elements.

    >>> from minispore import ops
    >>> ops.size(ops.ones((2, 3)))
    6

    Source: MindSpore's `mindspore.ops.size`.

    Raises:
        TypeError: `input_x` is no tensor.
    """
    check_tensor(input_x, "size", "input_x")
    return input_x.size


def rank(input_x: Tensor) -> int:
    """The number of axes.

    >>> from minispore import ops
    >>> ops.rank(ops.ones((2, 3)))
    2

    Source: MindSpore's `mindspore.ops.rank`.

    Raises:
        TypeError: `input_x` is no tensor.
    """
    check_tensor(input_x, "rank", "input_x")
    return input_x.ndim
